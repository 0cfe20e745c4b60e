"""Scopes of a syntax tree: the names that each binds, and the scope that a name belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Opening = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | Comprehension
"""Nodes that open a scope of their own."""
Kind = Literal["module", "function", "class", "comprehension"]


@dataclass
class Scope:
    """One scope: the names that it binds, and those that it declares `global`."""

    kind: Kind
    bound: set[str]
    declared_global: set[str] = field(default_factory=set)


@dataclass
class Parts:
    """The children of a node that opens a scope, by where they are evaluated; `shape` tells how many of each kind."""

    outer: list[ast.AST]
    inner: list[ast.AST]
    annotations: list[ast.AST]
    shape: tuple[object, ...]


def parts_of(node: Opening) -> Parts:
    """Parts of a function, lambda, class or comprehension that are evaluated outside its scope and inside."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            found = _arguments(node.args)
            found.outer = [*node.decorator_list, *found.outer]
            found.inner += node.body
            found.annotations += [node.returns] if node.returns else []
            found.shape = (*found.shape, len(node.decorator_list))
            return found
        case ast.Lambda():
            found = _arguments(node.args)
            found.inner.append(node.body)
            return found
        case ast.ClassDef():
            outer: list[ast.AST] = [*node.decorator_list, *node.bases, *node.keywords]
            return Parts(outer, list(node.body), [], (len(node.decorator_list), len(node.bases)))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return _comprehension(node)


def _arguments(arguments: ast.arguments) -> Parts:
    positional = [*arguments.posonlyargs, *arguments.args]
    stars = [each for each in (arguments.vararg, arguments.kwarg) if each]
    names = [*positional, *arguments.kwonlyargs, *stars]
    defaults = [*arguments.defaults, *(each for each in arguments.kw_defaults if each)]
    annotations = [each.annotation for each in names if each.annotation]
    shape = (
        len(arguments.posonlyargs),
        len(arguments.args),
        len(arguments.defaults),
        tuple(each is not None for each in arguments.kw_defaults),
        arguments.vararg is not None,
        arguments.kwarg is not None,
    )
    return Parts([*defaults], [*names], [*annotations], shape)


def _comprehension(node: Comprehension) -> Parts:
    first, *rest = node.generators
    inner: list[ast.AST] = [first.target, *first.ifs]
    for each in rest:
        inner += [each.target, each.iter, *each.ifs]
    inner += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    shape = tuple((len(each.ifs), each.is_async) for each in node.generators)
    return Parts([first.iter], inner, [], shape)


def scope_of(node: Opening) -> Scope:
    """The scope that a node opens."""
    parts = parts_of(node)
    if isinstance(node, Comprehension):
        targets = [name for each in node.generators for name, _ in bindings([each.target])]
        return Scope("comprehension", set(targets))
    arguments = {each.arg for each in parts.inner if isinstance(each, ast.arg)}
    body = [each for each in parts.inner if not isinstance(each, ast.arg)]
    elsewhere = _declared(body, ast.Global), _declared(body, ast.Nonlocal)
    bound = arguments | {name for name, _ in bindings(body)} - elsewhere[0] - elsewhere[1]
    return Scope("class" if isinstance(node, ast.ClassDef) else "function", bound, elsewhere[0])


def module_scope(tree: ast.Module, given: Sequence[str] = ()) -> Scope:
    """The scope of a program whose caller gave it some names."""
    return Scope("module", {name for name, _ in bindings(tree.body)} | globals_declared(tree) | set(given))


def globals_declared(tree: ast.AST) -> set[str]:
    """Names that any function of a program declares `global`."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}


def bindings(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Each binding of a name in the scope that the nodes stand in, with the node that binds it."""
    for node in nodes:
        yield from ((name, node) for name in _bound_by(node))
        if isinstance(node, Comprehension):
            yield from ((each.target.id, each) for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        inside = parts_of(node).outer if isinstance(node, Opening) else list(ast.iter_child_nodes(node))
        yield from bindings(inside)


def _bound_by(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return [bound_by_import(alias) for alias in node.names]
        case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
            return [name]
        case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
            return [name]
    return []


def bound_by_import(alias: ast.alias) -> str:
    """The name that one part of an import binds."""
    return alias.asname or alias.name.split(".")[0]


def _declared(nodes: Sequence[ast.AST], kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, kind):
            found |= set(node.names)
        if not isinstance(node, Opening):
            found |= _declared(list(ast.iter_child_nodes(node)), kind)
    return found


def resolve(stack: Sequence[Scope], name: str) -> int | None:
    """Scope of a stack, outermost first, that a name belongs to; None for builtins and unbound names."""
    for index in range(len(stack) - 1, -1, -1):
        scope = stack[index]
        if name in scope.declared_global:
            return 0
        if scope.kind == "class" and index != len(stack) - 1:
            continue
        if name in scope.bound:
            return index
    return None


def walk(nodes: Sequence[ast.AST], stack: tuple[Scope, ...]) -> Iterator[tuple[ast.AST, tuple[Scope, ...]]]:
    """All nodes in order, each with the scopes that it stands in."""
    for node in nodes:
        yield node, stack
        if isinstance(node, Opening):
            parts = parts_of(node)
            yield from walk([*parts.outer, *parts.annotations], stack)
            yield from walk(parts.inner, (*stack, scope_of(node)))
        elif isinstance(node, ast.arg):
            continue  # its annotation was walked outside
        else:
            yield from walk(list(ast.iter_child_nodes(node)), stack)


def global_names(nodes: Sequence[ast.AST], module: Scope) -> set[str]:
    """Names in some nodes of a program's top level that belong to the program's top level, or to nothing."""
    return {
        node.id
        for node, stack in walk(nodes, (module,))
        if isinstance(node, ast.Name) and resolve(stack, node.id) in (0, None)
    }
