"""Hoists definitions of a program that need none of its variables to the top of the module."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from alita_mcp.mining.generalisation.literals import is_container, value_of
from alita_mcp.mining.generalisation.scopes import (
    Function,
    Opening,
    bindings,
    global_names,
    globals_declared,
    parts_of,
)
from alita_mcp.mining.generalisation.script import BUILTINS, Import, Script


def hoisted(script: Script, tool: str, parameters: frozenset[str]) -> dict[str, list[ast.stmt]]:
    """The definitions that may stand at the top of the module, as they need nothing of the program's variables."""
    bound = bound_everywhere(script.tree)
    held = {
        node.value.id
        for node in ast.walk(script.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    found = dict(_constants(script, bound))
    named = _mentions_itself(script.tree)
    for name, statements in script.definitions.items():
        if isinstance(statements[0], Import):
            if name != tool and name not in parameters:
                found[name] = statements
        elif isinstance(statements[0], Function) and not named and _may_move(name, bound, held):
            found[name] = statements
    while needy := [
        name for name, statements in found.items() if _needs(statements, script, parameters) - set(found)
    ]:
        for name in needy:
            del found[name]
    return {
        name: statements
        for name, statements in found.items()
        if not isinstance(statements[0], ast.Assign) or _serves_a_helper(name, found, script)
    }


def _may_move(name: str, bound: Counter[str], held: set[str]) -> bool:
    """Whether a function can be renamed by its name alone, and keeps nothing from one call to the next."""
    return bound[name] == 1 and f"_{name}" not in bound and name not in held and not name.startswith("__")


def _constants(script: Script, bound: Counter[str]) -> list[tuple[str, list[ast.stmt]]]:
    found: list[tuple[str, list[ast.stmt]]] = []
    for statement in script.rest:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper() and bound[name] == 1:
                plain = value_of(value) is not None and not is_container(value)
                if plain and name not in globals_declared(script.tree):
                    found.append((name, [statement]))
    return found


def _serves_a_helper(name: str, found: Mapping[str, list[ast.stmt]], script: Script) -> bool:
    return any(
        name in global_names(statements, script.scope)
        for statements in found.values()
        if isinstance(statements[0], Function)
    )


def _needs(statements: Sequence[ast.stmt], script: Script, parameters: frozenset[str]) -> set[str]:
    """Names that definitions read and that are no builtins."""
    if isinstance(statements[0], Import):
        return set()
    names = global_names(statements, script.scope) | globals_declared(statements[0])
    return {
        name for name in names if name in parameters or name in script.scope.bound or name not in BUILTINS
    }


def _mentions_itself(tree: ast.AST) -> bool:
    """Whether a program may read the names of functions, or hang values on them."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr == "__name__")
        or (isinstance(node, ast.Name) and node.id in ("setattr", "TypeError"))
        for node in ast.walk(tree)
    )


def bound_everywhere(tree: ast.Module) -> Counter[str]:
    """Number of bindings of each name in all scopes."""
    bound = Counter(name for name, _ in bindings(tree.body))
    for node in ast.walk(tree):
        if isinstance(node, Opening):
            parts = parts_of(node)
            inner = [each for each in parts.inner if not isinstance(each, ast.arg)]
            bound.update(name for name, _ in bindings(inner))
            bound.update(each.arg for each in parts.inner if isinstance(each, ast.arg))
    return bound
