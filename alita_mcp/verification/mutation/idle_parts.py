"""Removal of code parts that change no result on any known input.

A tool that compares itself with a table of its own results fails on every input once anything in it is changed, so the
weakest examples would notice every mutant. On inputs with the right result such a comparison does nothing, and without
it the mutants show what the examples are worth. (One-minimal reduction, after Zeller's delta debugging.)
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice

import anyio

from alita_mcp.verification.examples.trials import each_of
from alita_mcp.verification.mutation.mutants import SETTLED, Change, Reach

MAX_PARTS = 80
"""So many are tried, outer ones first."""
MAX_SECONDS = 5.0


async def without_idle_parts(
    tree: ast.Module, function: str, is_same: Callable[[str], Awaitable[bool]]
) -> bool:
    """Removes the parts of a tree without which the code `is_same`; returns whether there were any.

    Raises:
        AlitaError: what `is_same` raises.
    """
    own = {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    all_changes = (
        Change(site, instead, getattr(site[3], "lineno", 0))
        for site in Reach(tree, function).sites(tree)
        for instead in _rest_of(site[3], own, site[0])
    )
    changes = sorted(islice(all_changes, MAX_PARTS), key=lambda each: each.line)
    idle: set[int] = set()

    async def look(numbered: tuple[int, str]) -> None:
        place, code = numbered
        if code and await is_same(code):
            idle.add(place)

    await each_of(enumerate([change.render(tree) for change in changes]), look, MAX_SECONDS)
    found = False
    with anyio.move_on_after(MAX_SECONDS):
        for place in sorted(idle):  # each may be idle only as long as another is there
            change = changes[place]
            before, after = ast.unparse(tree), change.render(tree)
            if after == before or (found and not await is_same(after)):
                continue
            change.put(change.instead)
            found = True
    return found


def _rest_of(node: ast.AST, own: set[str], parent: ast.AST) -> Iterator[ast.AST]:
    """What could be left of a node that only looks whether all is well; `own` are the functions of the tool."""
    match node:
        case ast.If():
            for taken in (False, True):
                yield ast.If(ast.Constant(taken, SETTLED), node.body, node.orelse, lineno=node.lineno)
        case ast.Assert() | ast.AugAssign() | ast.Expr(value=ast.Call(func=ast.Name()) | ast.Subscript()):
            yield ast.Pass()
        case ast.For(orelse=[]) | ast.While(orelse=[]):
            yield ast.Pass()
        case ast.Match(cases=cases) if len(cases) > 1:
            for place in range(len(cases)):
                yield ast.Match(node.subject, [*cases[:place], *cases[place + 1 :]], lineno=node.lineno)
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.BoolOp(values=values):
            yield from values
        case ast.Compare() if not isinstance(parent, ast.If | ast.While | ast.Assert):
            yield from (ast.Constant(False, SETTLED), ast.Constant(True, SETTLED))
        case ast.Call(func=ast.Name(id=name), args=args) if name in own:
            yield from args
        case ast.Subscript(value=ast.Dict() | ast.List() | ast.Tuple(), slice=key, ctx=ast.Load()):
            yield key
        case ast.BinOp(left=left, right=right) if any(
            isinstance(part, ast.Compare | ast.BoolOp) or (isinstance(part, ast.Name) and part.id in own)
            for part in ast.walk(node)
        ):  # arithmetic with a comparison, or with what a function of the tool says
            yield from (left, right)
