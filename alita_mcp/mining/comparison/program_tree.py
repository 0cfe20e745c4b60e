"""Syntax tree of a program without layout, IPython lines and a wrapping `main`."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from alita_mcp.errors import UsageError
from alita_mcp.mining.comparison.scopes import Variable, scope_of
from alita_mcp.mining.comparison.tree_reader import Node, TreeReader
from alita_mcp.syntax import module_of

MAX_DEPTH = 150
"""Deeper than any person nests, `elif` chains and long sums included; what reads the tree is recursive."""
_MAGIC = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)
_OF_FUNCTIONS = ast.Return | ast.Yield | ast.YieldFrom


@dataclass(frozen=True)
class Program:
    """A program's statements; functions and classes at its top stand beside them, in any order."""

    body: list[Node]
    definitions: list[Node]
    sources: dict[Variable, list[Node]]
    """Where the values of variables come from."""


def program_tree(code: str) -> Program:
    """A program as a tree.

    Raises:
        UsageError: it does not parse, or is nested too deeply.
    """
    statements = _without_main(list(_unwrapped(_parsed(code).body)))
    reader = TreeReader(scope_of(statements, None))
    try:
        read = reader.all_of(statements)
    except RecursionError as deep:  # the caller stands deep already
        raise _too_deep() from deep
    body: list[Node] = []
    definitions: list[Node] = []
    for node in read:
        (definitions if node.label in ("def", "class") else body).append(node)
    return Program(body, definitions, reader.sources)


def _parsed(code: str) -> ast.Module:
    try:
        try:
            tree = module_of(code)
        except SyntaxError:
            tree = module_of(_MAGIC.sub("", code))
    except (RecursionError, MemoryError) as deep:
        raise _too_deep() from deep
    except (SyntaxError, ValueError, OverflowError) as broken:
        raise UsageError(f"The code does not parse: {broken}", hint="Send plain Python source.") from broken
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise _too_deep()


def _too_deep() -> UsageError:
    return UsageError("The code is nested too deeply.", hint=f"Stay below {MAX_DEPTH} levels.")


def _unwrapped(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements without `if __name__ == "__main__":`."""
    for node in body:
        match node:
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__")), body=inner, orelse=[]):
                yield from inner
            case _:
                yield node


def _without_main(body: list[ast.stmt]) -> list[ast.stmt]:
    """A function without parameters that is only called once, as a statement, gives way to its body."""
    functions = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
    uses: Counter[str] = Counter()
    for at, node in enumerate(body):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[])) if name in functions:
                uses = uses or _uses(body)
                inner = _as_statements(functions[name]) if uses[name] == 1 else []
                if inner:
                    whole = (*body[:at], *inner, *body[at + 1 :])
                    return [each for each in whole if each is not functions[name]]
    return body


def _uses(body: Iterable[ast.stmt]) -> Counter[str]:
    return Counter(each.id for top in body for each in ast.walk(top) if isinstance(each, ast.Name))


def _as_statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Its body as statements of a script; nothing where it cannot be one."""
    *first, last = function.body
    if isinstance(last, ast.Return):
        last = ast.Expr(last.value) if last.value else ast.Pass()
    inner = [each for each in (*first, last) if not isinstance(each, ast.Global)]
    ends = any(isinstance(each, _OF_FUNCTIONS) for top in inner for each in ast.walk(top))
    return [] if ends or function.decorator_list or any(ast.iter_child_nodes(function.args)) else inner
