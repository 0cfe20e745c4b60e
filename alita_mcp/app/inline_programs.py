"""Programs that a client runs in its own shell: the tool that does what one does, and how often like ones came.

A hook in the client sends them before and after they run; nothing of them runs here. A hint that is wrong costs more
than one that is missing, so a tool is named only where its code fits, too.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import anyio
import anyio.to_thread

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import band
from alita_mcp.library.words.text import split_words
from alita_mcp.owners import USER
from alita_mcp.research.index.well_known_names import WELL_KNOWN
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.history.program import MAX_CODE
from alita_mcp.syntax import module_tree
from alita_mcp.values import Manifest
from alita_mcp.verification.static.imports import DISTRIBUTIONS

LEAST_NODES = 15
"""Smaller programs, in nodes of their syntax, are typed sooner than a tool is called."""
SAME_FROM = 0.4
"""A program and a tool are the same code where so much of each, literals and names aside, is in the other."""
MAX_OUTLINES = 500
"""So many tools are compared by their code, those that are used most."""
LOOKED_AT = 3
"""So many of the tools that a search finds are compared."""
NEEDED_WORDS = {"match": 1, "possible": 3}
"""Names that the code of a program and of a tool must share, by how well the tool's description fits."""
SHARED_FROM = 0.6
"""So much of a program's names must be in the tool."""
_BUILTINS = frozenset(dir(builtins))
_COMMON_NAMES = """
add append args argv count data decode dump dumps encode endswith exit extend fields file find format get group index
input item items join json key keys kwargs line lines list load loads lower main match math name names number numbers
out output parse pathlib path pop read read_text replace result results row rows search self sort split splitlines
start startswith strip sub sys text title update upper value values word words write
"""
_COMMON = _BUILTINS.union(_COMMON_NAMES.split())
"""Names that say little about what code does."""
_ACTING_MODULES = "ctypes ftplib http multiprocessing os shutil signal smtplib socket sqlite3 subprocess"
_ACTING = frozenset(_ACTING_MODULES.split())
_CHANGING_CALLS = "mkdir rename rmdir save savefig to_csv to_json touch unlink write_bytes write_text"
_CHANGING = frozenset(_CHANGING_CALLS.split())
_KNOWN = WELL_KNOWN | DISTRIBUTIONS.keys()
"""Modules and packages that a sandbox can have; others are of the client's own project."""
_UNSHAPED = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Constant


@dataclass(frozen=True)
class Outline:
    """What the code of a program or a tool shows of its purpose."""

    shapes: dict[int, int]
    """Statements and expressions without names and literals, by their hash, each with its number of nodes."""
    words: frozenset[str]
    """Names in it that are not common ones."""
    modules: frozenset[str]
    """Imported modules that are not of the standard library."""
    intent: str
    """Its docstring or first comment, or else the names of its functions."""
    acts: bool
    """Whether it changes files, starts processes or opens connections, as no tool without grants can."""
    nodes: int


def outline_of(code: str) -> Outline | None:
    """The outline of a program or a tool; None for one that does not parse."""
    try:
        tree = module_tree(code)
        nodes = list(ast.walk(tree))
        imported = {name for node in nodes for name in _imports(node)}
        shapes: dict[int, int] = {}
        _shape(tree, _BUILTINS.union(*(_bound(node) for node in nodes)), shapes)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = " ".join(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    comments = (line.lstrip("# ") for line in code.splitlines() if line.startswith("# "))
    words = {word for node in nodes for word in _names(node) if len(word) > 2}
    tops = {name.partition(".")[0] for name in imported}
    return Outline(
        shapes=shapes,
        words=frozenset(words - _COMMON),
        modules=frozenset(tops - sys.stdlib_module_names),
        intent=ast.get_docstring(tree) or next(comments, "") or split_words(functions),
        acts=bool(tops & _ACTING) or "urllib.request" in imported or any(map(_changes_files, nodes)),
        nodes=len(nodes),
    )


def _shape(node: ast.AST, kept: frozenset[str], shapes: dict[int, int]) -> tuple[int, int]:
    """The hash of a node without names, but for the kept ones, and without literals; and its number of nodes."""
    if isinstance(node, ast.Name | ast.Constant):
        return hash(node.id if isinstance(node, ast.Name) and node.id in kept else "_"), 1
    parts: list[int] = [hash(type(node).__name__)]
    size = 1
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "ctx", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                part, nodes = _shape(child, kept, shapes)
                parts.append(part)
                size += nodes
            elif field == "attr":
                parts.append(hash(child))
    if size >= 5 and isinstance(node, ast.stmt | ast.expr) and not isinstance(node, _UNSHAPED):
        shapes[hash(tuple(parts))] = size
    return hash(tuple(parts)), size


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or "."


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that an import binds."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Import() | ast.ImportFrom():
            for name in (*_imports(node), *(alias.name for alias in node.names)):
                yield from name.split(".")


def _changes_files(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in _CHANGING:
            return True
        case ast.Call(
            func=ast.Name(id="open") | ast.Attribute(attr="open"), args=[*_, ast.Constant(str(mode))]
        ):
            return not {*"wax+"}.isdisjoint(mode) and len(mode) <= 3
    return False


def _is_same(one: Outline, other: Outline) -> bool:
    common = sum(size for shape, size in one.shapes.items() if shape in other.shapes)
    least = SAME_FROM * max(sum(one.shapes.values()), sum(other.shapes.values()))
    return common >= max(LEAST_NODES, least)


class InlinePrograms:
    """What the library has to say about programs that run elsewhere."""

    def __init__(self, library: Library, hints: RunHints, why_not: Callable[[Manifest], str]) -> None:
        """`why_not` says why a tool cannot run here; it is empty where the tool can."""
        self._library = library
        self._hints = hints
        self._why_not = why_not
        self._outlines: dict[str, tuple[int, Outline | None]] = {}
        """Of each tool's version of this number."""
        self._reading = anyio.Lock()

    async def find_tool(self, code: str, description: str) -> CatalogueEntry | None:
        """The verified tool that does what a program does; None where it is not sure that one does.

        `description` is what the client says of the program; empty where it says nothing.
        """
        program = await self._outline(code)
        if program is None:
            return None
        # 1. It is the code of a tool, once more.
        outlines = await self._read_outlines()
        for entry, outline in outlines:
            if _is_same(program, outline):
                return entry
        # 2. A tool is described as it is, and shares names with it that few programs have.
        need = description.strip() or program.intent
        if program.acts or not need:
            return None
        by_name = {entry.name: tool for entry, tool in outlines}
        for hit in (await self._library.search(need, LOOKED_AT)).results:
            tool, needed = by_name.get(hit.name), NEEDED_WORDS.get(band(hit.score))
            if tool is None or needed is None or not program.modules <= tool.modules:
                continue
            shared = len(program.words & tool.words)
            if shared >= max(needed, SHARED_FROM * len(program.words)):
                return hit.entry
        return None

    async def record_program(self, code: str) -> str:
        """Counts a program that could run in the sandbox; returns how to keep it as a tool, once it came back."""
        program = await self._outline(code)
        if program is None or program.acts or not program.modules <= _KNOWN:
            return ""
        return await anyio.to_thread.run_sync(self._hints.add_seen, code, USER)

    async def _outline(self, code: str) -> Outline | None:
        """The outline of a program that is neither too long nor too small to be a tool."""
        program = await anyio.to_thread.run_sync(outline_of, code) if len(code) <= MAX_CODE else None
        return program if program and program.nodes >= LEAST_NODES else None

    async def _read_outlines(self) -> list[tuple[CatalogueEntry, Outline]]:
        """The verified tools without grants that can run here, with what their code shows."""
        tools = self._library.tools
        entries = [
            entry
            for entry in tools.some(tools.most_used(MAX_OUTLINES)).values()
            if entry.callable_now and entry.manifest.trust == "verified" and entry.manifest.grants.is_pure
            if not self._why_not(entry.manifest)
        ]
        found = []
        async with self._reading:
            for entry in entries:
                version, outline = self._outlines.get(entry.name, (0, None))
                if version != entry.manifest.version:
                    try:
                        stored = await self._library.read(entry.name, entry=entry)
                    except AlitaError:  # deleted or changed meanwhile
                        continue
                    outline = await anyio.to_thread.run_sync(outline_of, stored.code)
                    self._outlines[entry.name] = entry.manifest.version, outline
                if outline is not None:
                    found.append((entry, outline))
            self._outlines = {entry.name: self._outlines[entry.name] for entry, _ in found}
        return found
