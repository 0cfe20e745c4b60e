"""Programs that a client runs in its own shell: the tool that does what one does, and how often like ones came.

A hook in the client sends them before and after they run; nothing of them runs here. A hint that is wrong costs more
than one that is missing, so a tool is named only where its code fits, too.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio.to_thread

from alita_mcp.errors import AlitaError
from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import band
from alita_mcp.owners import USER
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.history.program import MAX_CODE
from alita_mcp.syntax import module_tree
from alita_mcp.values import Manifest

LEAST_NODES = 12
"""Smaller programs, in nodes of their syntax, are typed sooner than a tool is called."""
SAME_FROM = 0.65
"""A program and a tool are the same code where so much of each is in the other."""
SHARED_NAMES = {"match": (1, 0.5), "possible": (3, 0.9)}
"""How many of a program's names, and which share of them, are in a tool, by how well that fits the description."""
MAX_TOOLS = 500
"""So many tools are compared by their code, those that are used most."""
_BUILTINS = frozenset(dir(builtins))
_ACTING = frozenset("""
ctypes ftplib http mkdir multiprocessing os psutil rename request requests rmdir save savefig shutil signal smtplib
socket sqlite3 subprocess to_csv to_json touch unlink write write_bytes write_text writelines
""".split())  # fmt: skip  # noqa: SIM905
"""Modules and methods of code that changes or reaches something outside, as no tool without grants can."""


@dataclass(frozen=True)
class Outline:
    """What the code of a program or a tool shows of its purpose."""

    pairs: Counter[tuple[str, str]]
    """Each node of its syntax with the one that it stands in, without literals, and without names of its own."""
    words: frozenset[str]
    """Names in it, but for those of Python itself."""
    modules: frozenset[str]
    """Imported modules that are not of the standard library."""


def outline_of(code: str) -> Outline | None:
    """The outline of a program or a tool; None for one that does not parse."""
    words, modules, bound = set[str](), set[str](), set[str]()
    try:
        nodes = list(ast.walk(module_tree(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                words.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                module = getattr(node, "module", None)
                paths = [*(each.name for each in names), module or ""]
                words.update(part for path in paths for part in path.split("."))
                modules.update(path.partition(".")[0] for path in ([module] if module else paths) if path)
                bound.update((each.asname or each.name).partition(".")[0] for each in names)

    def label(node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return node.id if node.id in _BUILTINS or node.id in bound else "_"
        return node.attr if isinstance(node, ast.Attribute) else type(node).__name__

    skipped = ast.Import | ast.ImportFrom | ast.expr_context
    parts = ((node, part) for node in nodes for part in ast.iter_child_nodes(node))
    pairs = Counter((label(node), label(part)) for node, part in parts if not isinstance(part, skipped))
    words = {word for word in words if len(word) > 2} - _BUILTINS
    return Outline(pairs, frozenset(words), frozenset(modules - sys.stdlib_module_names))


class InlinePrograms:
    """What the library has to say about programs that run elsewhere."""

    def __init__(self, library: Library, hints: RunHints, why_not: Callable[[Manifest], str]) -> None:
        """`why_not` says why a tool cannot run here; it is empty where the tool can."""
        self._library = library
        self._hints = hints
        self._why_not = why_not
        self._outlines: dict[str, tuple[int, Outline | None]] = {}
        """Of each tool's version of this number."""

    async def answer_hook(self, event: str, code: str, description: str) -> str:
        """What a client's model should know of a program before or after it runs; empty where that is nothing.

        No words of a tool's author are in it but the names of the tool and its parameters.
        """
        if event == "PostToolUse":
            # A program that could be a tool counts; once it came back, the answer is how to keep it as one.
            program = await self._outline(code)
            if program is None or program.modules or program.words & _ACTING:
                return ""
            hint = await anyio.to_thread.run_sync(self._hints.add_seen, code, USER)
            return f"alita: {hint}." if hint else ""
        entry = await self.find_tool(code, description)
        if entry is None:
            return ""
        names = ", ".join(entry.manifest.input_schema.get("properties", {}))
        return (
            f"alita: verified `{entry.name}` does this. Call it with {names} instead of running code for it, through "
            "run_tool if it is not in your list."
        )

    async def find_tool(self, code: str, description: str) -> CatalogueEntry | None:
        """The verified tool that does what a program does; None where it is not sure that one does.

        `description` is what the client says of the program; empty where it says nothing.
        """
        program = await self._outline(code)
        if program is None:
            return None
        # 1. It is the code of a tool, once more.
        tools = await self._read_outlines()
        for entry, tool in tools.values():
            most = max(program.pairs.total(), tool.pairs.total())
            if (program.pairs & tool.pairs).total() >= SAME_FROM * most:
                return entry
        # 2. A tool is described as it is, and shares its names.
        if not description.strip() or program.words & _ACTING:
            return None
        for hit in (await self._library.search(description, 3)).results:
            if band(hit.score) not in SHARED_NAMES or hit.name not in tools:
                continue
            entry, tool = tools[hit.name]
            least, share = SHARED_NAMES[band(hit.score)]
            shared = len(program.words & tool.words)
            if program.modules <= tool.modules and shared >= max(least, share * len(program.words)):
                return entry
        return None

    async def _outline(self, code: str) -> Outline | None:
        """The outline of a program that is neither too long nor too small to be a tool."""
        program = await anyio.to_thread.run_sync(outline_of, code) if len(code) <= MAX_CODE else None
        return program if program and program.pairs.total() >= LEAST_NODES else None

    async def _read_outlines(self) -> dict[str, tuple[CatalogueEntry, Outline]]:
        """The verified tools without grants that can run here, with what their code shows."""
        found = {}
        for name, entry in self._library.tools.some(self._library.tools.most_used(MAX_TOOLS)).items():
            manifest = entry.manifest
            if manifest.trust != "verified" or not manifest.grants.is_pure or self._why_not(manifest):
                continue
            version, outline = self._outlines.get(name, (0, None))
            if version != manifest.version:
                outline = None
                with suppress(AlitaError):  # deleted or changed meanwhile
                    stored = await self._library.read(name, entry=entry)
                    outline = await anyio.to_thread.run_sync(outline_of, stored.code)
                    self._outlines[name] = manifest.version, outline
            if outline is not None:
                found[name] = entry, outline
        return found
