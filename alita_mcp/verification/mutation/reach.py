"""Reachability of code parts: which of them a call can notice, and so deserve a mutant."""

from __future__ import annotations

import ast
import hashlib
import marshal
import warnings
from collections import Counter
from types import CodeType

_MAX_NESTED_FINALLY = 2
"""The compiler writes what stands in `finally` twice for each level."""
SETTLED = "settled"
"""The kind of a constant that stands for what was the same on every input."""
_SPOKEN = frozenset({"print", "debug", "info", "warning", "error", "critical", "exception", "log", "warn"})
"""Calls that only say something."""


class Reach:
    """Reachability of one tree: nodes that no result depends on, and the return types of functions."""

    def __init__(self, tree: ast.Module, function: str) -> None:
        self._compiles = _nested_finally(tree) <= _MAX_NESTED_FINALLY
        self._returns = dict(_returns_by_function(tree))
        self._assigned = Counter(
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        self._idle = {id(node) for node in _idle(tree, function)}
        self._tables = {id(part): table.lineno for table in _tables(tree) for part in ast.walk(table)}

    def is_idle(self, node: ast.AST) -> bool:
        """Whether no result and no error class depends on the node."""
        return id(node) in self._idle

    def returns(self, node: ast.Return) -> ast.expr | None:
        """The return annotation of the function that a return statement ends."""
        return self._returns.get(id(node))

    def is_reassigned(self, node: ast.Assign) -> bool:
        """Whether the name still has a value without this assignment."""
        return all(isinstance(name, ast.Name) and self._assigned[name.id] > 1 for name in node.targets)

    def table_of(self, node: ast.AST) -> int:
        """The line of the table of constants that holds the node; 0: none."""
        return self._tables.get(id(node), 0)

    def meaning(self, code: str) -> str:
        """A key that is equal for texts that compile to the same program."""
        if not self._compiles:
            return code
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = compile(code, "tool.py", "exec", dont_inherit=True, optimize=0)
            return hashlib.sha256(marshal.dumps(_without_lines(compiled))).hexdigest()
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            return code


def _without_lines(code: CodeType) -> CodeType:
    constants = tuple(_without_lines(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_consts=constants, co_firstlineno=1, co_linetable=b"")


def _nested_finally(node: ast.AST) -> int:
    deepest = max((_nested_finally(child) for child in ast.iter_child_nodes(node)), default=0)
    return deepest + (isinstance(node, ast.Try) and bool(node.finalbody))


def _returns_by_function(tree: ast.Module) -> list[tuple[int, ast.expr | None]]:
    """Inner functions come after outer ones, so that the innermost one counts."""
    return [
        (id(part), function.returns)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for part in ast.walk(function)
        if isinstance(part, ast.Return)
    ]


def _tables(tree: ast.Module) -> list[ast.stmt]:
    """Constants at the top level with more than a few entries."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and sum(isinstance(part, ast.Constant) for part in ast.walk(node)) > 4
    ]


def _idle(tree: ast.Module, function: str) -> list[ast.AST]:
    idle: list[ast.AST] = list(_never_used(tree, function))
    for node in ast.walk(tree):
        idle += _words(node)
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                idle += _after_the_end(statements)
    return idle


def _words(node: ast.AST) -> list[ast.AST]:
    """What is part of no result: pragmas, docstrings, what is printed, what errors say."""
    if isinstance(node, ast.stmt) and _is_pragma(node):
        return [node]
    match node:
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


def _is_pragma(node: ast.stmt) -> bool:
    """A statement that only tells a reader, the interpreter or the log something."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            return name in _SPOKEN
        case ast.If(test=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == "TYPE_CHECKING"
        case ast.If(test=ast.Compare(left=ast.Name(id=name))):
            return name == "__name__"
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.startswith("__")
    return False


def _after_the_end(statements: list[ast.stmt]) -> list[ast.stmt]:
    """What stands behind a statement that leaves the block."""
    for place, statement in enumerate(statements):
        if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return statements[place + 1 :]
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
