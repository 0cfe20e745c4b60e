"""Resolver of a module's top-level names: imports, classes and aliases, read from the tree."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Names:
    """Top-level names of a module: imports, classes and aliases.

    `imported` maps a local name to the dotted name it stands for; `classes` and `aliases` to what the module
    itself defines.
    """

    imported: dict[str, str] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    aliases: dict[str, ast.expr] = field(default_factory=dict)

    def full_name(self, expression: ast.expr) -> str:
        """The full dotted name of an expression such as `t.Optional`; empty when it is no plain name."""
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.append(expression.attr)
            expression = expression.value
        if not isinstance(expression, ast.Name):
            return ""
        first = self.imported.get(expression.id, expression.id)
        name = ".".join([first, *reversed(attributes)])
        return re.sub(r"^typing_extensions\.", "typing.", name).removeprefix("builtins.")


def last_name(expression: ast.expr) -> str:
    """The last part of a dotted name, as in `path.join`; empty for any other expression."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""


def names_of(tree: ast.Module) -> Names:
    """The names that a module's top level binds, `if TYPE_CHECKING:` and `try:` bodies included."""
    names = Names()
    for statement in _reachable(tree.body):
        match statement:
            case ast.Import():
                for each in statement.names:
                    top = each.name.split(".")[0]
                    names.imported[each.asname or top] = each.name if each.asname else top
            case ast.ImportFrom():
                for each in statement.names:
                    names.imported[each.asname or each.name] = f"{statement.module}.{each.name}"
            case ast.ClassDef(name=name):
                names.classes[name] = statement
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names.aliases[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names.aliases[name] = value
    return names


def _reachable(body: list[ast.stmt]) -> list[ast.stmt]:
    statements: list[ast.stmt] = []
    for statement in body:
        statements.append(statement)
        if isinstance(statement, ast.If | ast.Try):
            statements += _reachable(statement.body) + _reachable(statement.orelse)
    return statements
