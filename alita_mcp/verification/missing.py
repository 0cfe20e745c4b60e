"""What a draft needs and the sandbox lacks, all of it at once: a draft and a sandbox's abilities in, a check out."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from alita_mcp.sandbox.abilities import Abilities, Missing
from alita_mcp.values import Check, Draft
from alita_mcp.verification.findings import failed
from alita_mcp.verification.names import Names, names_of

Uses = dict[str, int]
"""What the code uses, and the line where it first does."""
_CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
_MOST_NAMED = 8
_DEEPEST = 4
"""No module has a name that is lacked further down than this: `os.path.x.y`."""


def missing_checks(draft: Draft, tree: ast.Module, abilities: Abilities) -> list[Check]:
    """At most one check: each feature that the draft needs and the sandbox lacks, and what to write instead."""
    names = names_of(tree)
    modules, syntax = _modules_used(tree, names), _syntax_used(tree, names)
    needed = {}
    for lack in abilities.lacks:
        uses = _matching(lack.names, modules) | {kind: syntax[kind] for kind in lack.syntax if kind in syntax}
        if uses or _is_asked(lack, draft):
            needed[_in_words(lack, uses)] = f"{_subject(lack, uses)}: {lack.instead}"
    if not needed:
        return []
    fix = " ".join((f"Instead of {'; '.join(needed.values())}.", abilities.elsewhere, *abilities.offers))
    return [failed("environment", f"this sandbox lacks what the code needs: {'; '.join(needed)}", fix)]


def _is_asked(lack: Missing, draft: Draft) -> bool:
    asked = {"packages": bool(draft.packages), "grants": not draft.grants.is_pure}
    return asked.get(lack.asks, False)


def _in_words(lack: Missing, uses: Uses) -> str:
    line = min(uses.values(), default=0)
    return _subject(lack, uses) + (f" (line {line})" if line else "")


def _subject(lack: Missing, uses: Uses) -> str:
    named = sorted(uses.keys() - set(lack.syntax))
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more if named else lack.feature


def _matching(lacked: Iterable[str], used: Uses) -> Uses:
    """Those of the used names that are lacked, or stand below one that is; of nested ones the outermost."""
    known = frozenset(lacked)
    hits = {name for name in used if any(part in known for part in _outwards(name))}
    return {name: used[name] for name in hits if not hits.intersection(_outwards(name)[1:])}


def _outwards(name: str) -> list[str]:
    """A dotted name and all that it stands in: `a.b.c`, `a.b`, `a`."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _modules_used(tree: ast.Module, names: Names) -> Uses:
    """Modules, and names in them; not of modules that the code can do without."""
    optional: set[str] = set()
    found: list[tuple[str, int]] = []
    inner: set[int] = set()
    for node, is_optional in _walk(tree, names):
        if isinstance(node, ast.Import | ast.ImportFrom):
            if is_optional:
                optional.update(name.partition(".")[0] for name in _imported(node))
            found += [(name, node.lineno) for name in _imported(node)]
        elif isinstance(node, ast.Attribute):
            inner.add(id(node.value))
            if id(node) not in inner and (name := _looked_up(node, names)):
                found.append((name, node.lineno))
    used: Uses = {}
    for name, line in found:
        if name.partition(".")[0] not in optional:
            used[name] = min(used.get(name, line), line)
    return used


def _walk(tree: ast.Module, names: Names) -> Iterator[tuple[ast.AST, bool]]:
    """Each node after the one it stands in, and whether it is for type checkers alone or its failure is caught."""
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, is_optional = pending.pop()
        yield node, is_optional
        caught = (isinstance(node, ast.Try) and any(_catches(each, names) for each in node.handlers)) or (
            isinstance(node, ast.If) and names.dotted(node.test) == "typing.TYPE_CHECKING"
        )
        body = {id(statement) for statement in node.body} if caught else set()  # type: ignore[attr-defined]
        pending += [(child, is_optional or id(child) in body) for child in ast.iter_child_nodes(node)]


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [_shortened(alias.name) for alias in node.names]
    module = node.module or ""
    if module in ("", "__future__"):  # what the compiler reads is no module that has to be there
        return []
    return [_shortened(module), *(_shortened(f"{module}.{alias.name}") for alias in node.names)]


def _looked_up(node: ast.Attribute, names: Names) -> str:
    """What is looked up in an imported module, as in `os.fork`; empty for any other attribute."""
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    is_module = isinstance(root, ast.Name) and root.id in names.imported
    return _shortened(names.dotted(node)) if is_module else ""


def _shortened(name: str) -> str:
    return ".".join(name.split(".", _DEEPEST)[:_DEEPEST])


def _catches(handler: ast.ExceptHandler, names: Names) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or names.dotted(kind) in _CAUGHT for kind in kinds)


def _syntax_used(tree: ast.Module, names: Names) -> Uses:
    """Kinds of node, and fields of them that are not empty; what only declares a type is no class with bases."""
    used: Uses = {}
    line, types = 1, {"typing.TypedDict"}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", line)
        kind = type(node).__name__
        fields = [name for name, value in ast.iter_fields(node) if value]
        if (
            isinstance(node, ast.ClassDef)
            and node.bases
            and {names.dotted(base) for base in node.bases} <= types
        ):
            types.add(node.name)
            fields = []
        for what in (kind, *(f"{kind}.{name}" for name in fields)):
            used[what] = min(used.get(what, line), line)
    return used
