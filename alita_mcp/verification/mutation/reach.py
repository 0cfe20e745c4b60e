"""Reachability of code parts: which of them a call can notice, and so deserve a mutant."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

SETTLED = "settled"
"""The kind of a constant that stands for what was the same on every input."""
_SPOKEN = frozenset({"print", "debug", "info", "warning", "error", "critical", "exception", "log", "warn"})
"""Calls that only say something."""
Site = tuple[Any, str, int | None, ast.AST]
"""A node behind its parent, the parent's field, and the index in a field that is a list."""


class Reach:
    """Reachability of one tree: nodes that no result depends on, and the return types of functions."""

    def __init__(self, tree: ast.Module, function: str) -> None:
        self._idle = {id(node) for node in _never_used(tree, function)}
        self._returns: dict[int, ast.expr | None] = {}
        self._assigned: Counter[str] = Counter()
        for node in ast.walk(tree):
            self._idle |= {id(part) for part in _words(node)}
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._assigned[node.id] += 1
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # inner ones come later and count
                returns = (part for part in ast.walk(node) if isinstance(part, ast.Return))
                self._returns |= dict.fromkeys(map(id, returns), node.returns)
        self._tables = {id(part): table.lineno for table in _tables(tree) for part in ast.walk(table)}

    def sites(self, node: ast.AST) -> Iterator[Site]:
        """The places below a node where a mistake can be noticed."""
        for field, value in ast.iter_fields(node):
            if field in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
                continue
            children = value if isinstance(value, list) else [value]
            for place, child in enumerate(children):
                if isinstance(child, ast.AST) and id(child) not in self._idle:
                    yield node, field, place if isinstance(value, list) else None, child
                    yield from self.sites(child)

    def returns(self, node: ast.Return) -> ast.expr | None:
        """The return annotation of the function that a return statement ends."""
        return self._returns.get(id(node))

    def is_reassigned(self, node: ast.Assign) -> bool:
        """Whether the name still has a value without this assignment."""
        return all(isinstance(name, ast.Name) and self._assigned[name.id] > 1 for name in node.targets)

    def table_of(self, node: ast.AST) -> int:
        """The line of the table of constants that holds the node; 0: none."""
        return self._tables.get(id(node), 0)


def _tables(tree: ast.Module) -> Iterator[ast.stmt]:
    """Constants at the top level with more than a few entries."""
    for node in tree.body:
        constants = sum(isinstance(part, ast.Constant) for part in ast.walk(node))
        if isinstance(node, ast.Assign | ast.AnnAssign) and constants > 4:
            yield node


def _words(node: ast.AST) -> list[ast.AST]:
    """What is part of no result: docstrings, what is printed, what errors say, what only interpreter or reader need."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal() | ast.Expr(value=ast.Constant()):
            return [node]
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))) if name in _SPOKEN:
            return [node]
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Compare(left=ast.Name(id="__name__"))):
            return [node]
        case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
            return [node]
        case ast.If(test=ast.Constant(value=bool(always)) as test):
            return [test, *(node.orelse if always else node.body)]
        case ast.Constant(kind=kind) if kind == SETTLED:
            return [node]
        case ast.Raise(exc=ast.Call(args=args, keywords=keywords), cause=cause):
            return [*args, *keywords, *([cause] if cause else [])]
        case ast.Assert(msg=ast.expr() as message):
            return [message]
        case ast.FormattedValue(format_spec=ast.expr() as written):
            return [written]
        case ast.JoinedStr(values=parts):
            return [part for part in parts if isinstance(part, ast.Constant)]
    return []


def _never_used(tree: ast.Module, function: str) -> list[ast.stmt]:
    """Functions and classes at the top level that nothing reachable from the tool's function names."""
    definitions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    waiting: list[ast.AST] = [node for node in tree.body if node not in definitions.values()]
    waiting += [definitions[function]] if function in definitions else []
    reached = {function}
    while waiting:
        names = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)}
        names = (names & definitions.keys()) - reached
        reached |= names
        waiting += [definitions[name] for name in names]
    return [node for name, node in definitions.items() if name not in reached]
