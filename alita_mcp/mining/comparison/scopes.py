"""Scopes for comparison: the names that statements bind, as variables, imports and fields."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field

_BUILTINS = frozenset(dir(builtins))
_CLOSED = (
    ast.Name, ast.Constant, ast.expr_context, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp
)  # fmt: skip
"""What binds no name around it; assignment expressions in comprehensions are not looked for."""


@dataclass(slots=True, eq=False)
class Variable:
    """A name of the author's own."""

    parameters: tuple[str, ...] = ()
    """Of the function that it names."""
    top: bool = False
    """Whether it belongs to the whole program."""


@dataclass(slots=True)
class Scope:
    """Names and what they stand for: a variable, or the public name of an import or field."""

    outer: Scope | None = None
    is_class: bool = False
    names: dict[str, Variable | str] = field(default_factory=dict)

    @property
    def top(self) -> Scope:
        """The scope of the whole program."""
        scope = self
        while scope.outer:
            scope = scope.outer
        return scope

    def find(self, name: str) -> Variable | str:
        """Meaning of a name here; a free one that is no builtin is a variable set elsewhere."""
        scope: Scope | None = self
        while scope:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.outer
        return name if name in _BUILTINS else self.top.bind(name)

    def bind(self, name: str) -> Variable | str:
        """The variable of that name, a field in the body of a class."""
        new = f"field {name}" if self.is_class else Variable(top=self.outer is None)
        return self.names.setdefault(name, new)


def scope_of(nodes: Iterable[ast.AST], outer: Scope | None, *, is_class: bool = False) -> Scope:
    """The scope of statements, without those of functions, classes and comprehensions in them."""
    scope, rest = Scope(outer, is_class), list(nodes)
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            scope.bind(node.id)
        elif not isinstance(node, _CLOSED) and not _defines(scope, node):
            for word in ("name", "rest"):  # of exception handlers and patterns
                if isinstance(name := getattr(node, word, None), str):
                    scope.bind(name)
            rest.extend(ast.iter_child_nodes(node))
    return scope


def _defines(scope: Scope, node: ast.AST) -> bool:
    """Whether a node is a definition, an import or a declaration, whose names are bound now."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        bound = scope.bind(node.name)
        if isinstance(bound, Variable):
            bound.parameters = tuple(each.arg for each in (*node.args.posonlyargs, *node.args.args))
    elif isinstance(node, ast.ClassDef):
        scope.bind(node.name)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        scope.names.update(_imported(node))
    elif isinstance(node, ast.Global):
        scope.names.update({name: scope.top.bind(name) for name in node.names})
    else:
        return isinstance(node, ast.Nonlocal)
    return True


def _imported(node: ast.Import | ast.ImportFrom) -> dict[str, Variable | str]:
    if isinstance(node, ast.ImportFrom):
        home = "." * node.level + (node.module or "")
        return {each.asname or each.name: f"{home}.{each.name}" for each in node.names}
    return {
        each.asname or each.name.partition(".")[0]: each.name if each.asname else each.name.partition(".")[0]
        for each in node.names
    }
