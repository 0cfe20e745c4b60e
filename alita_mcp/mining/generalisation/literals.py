"""Conversion between literals in syntax trees and the JSON values they stand for."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

_CONTAINERS = ast.List | ast.Tuple | ast.Set | ast.Dict
_SAFE_INTEGER = 1 << 53
"""Clients in JavaScript keep integers exact up to here."""


def value_of(node: ast.AST) -> tuple[Any] | None:
    """The JSON value of a literal, in a tuple of one; None for what is no literal that JSON carries."""
    match node:
        case ast.Constant(value=None | bool() | str() as value):
            return (value,)
        case ast.Constant(value=int() as value):
            return (value,) if abs(value) < _SAFE_INTEGER else None
        case ast.Constant(value=float() as value):
            return (value,) if math.isfinite(value) else None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            inner = value_of(node.operand)
            return None if inner is None or isinstance(number, bool) else (-number,)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            found = [value_of(each) for each in items]
            return None if None in found else ([each[0] for each in found if each],)
        case ast.Dict():
            return _object(node)
    return None


def _object(node: ast.Dict) -> tuple[Any] | None:
    found: dict[str, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        value = value_of(item)
        if value is None or not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        if key.value in found:
            return None
        found[key.value] = value[0]
    return (found,)


def is_container(node: ast.AST) -> bool:
    """Whether a literal is a list, tuple, set or dict."""
    return isinstance(node, _CONTAINERS)


def rebuilt(nodes: Sequence[ast.AST], text: str) -> str | None:
    """An expression that makes of the JSON value `text` what some literals are in Python, with its tuples and sets.

    It is `text` itself where there are none, and None where the literals disagree on where these stand.
    """
    inside = [each for node in nodes for each in ast.walk(node)]
    if not any(isinstance(each, ast.Tuple | ast.Set) for each in inside):
        return text
    kinds = {type(node) for node in nodes}
    if len(kinds) > 1 or not is_container(nodes[0]):
        return None
    item = rebuilt([each for node in nodes for each in _items(node)], "each")
    if item is None:
        return None
    if isinstance(nodes[0], ast.Dict):
        return f"{{key: {item} for key, each in {text}.items()}}"
    if isinstance(nodes[0], ast.List):
        return f"[{item} for each in {text}]"
    kind = type(nodes[0]).__name__.lower()
    return f"{kind}({text})" if item == "each" else f"{kind}({item} for each in {text})"


def _items(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return items
        case ast.Dict(values=values):
            return values
    return []
