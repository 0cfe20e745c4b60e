"""Mutation operators: the replacements of a syntax node that a small mistake would produce."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeVar

from alita_mcp.syntax import expression_tree
from alita_mcp.verification.code.names import last_name

_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr,
}  # fmt: skip
_ORDER: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_TWINS = (
    ("min", "max"), ("any", "all"), ("lower", "upper"), ("startswith", "endswith"), ("lstrip", "rstrip"),
    ("find", "rfind"), ("ljust", "rjust"), ("split", "rsplit"), ("partition", "rpartition"), ("ceil", "floor"),
    ("isalpha", "isalnum"), ("isupper", "islower"), ("union", "intersection"),
)  # fmt: skip
_OTHER_NAME = {name: other for pair in _TWINS for name, other in (pair, pair[::-1])}
_LEFT_OUT = frozenset(
    {"abs", "sorted", "reversed", "set", "round", "strip", "lstrip", "rstrip", "lower", "upper"}
)
"""Calls whose (first) argument or object is of the same kind as their result, so that they may be forgotten."""
_EMPTY = {"str": "''", "int": "0", "float": "0.0", "list": "[]", "List": "[]", "dict": "{}", "Dict": "{}"}
_LARGE = 1_000
"""Nobody is off by one in a bound of 8,000,000, and no example will ever show it; that it matters, one should."""

Mistakes = Iterator[ast.AST]
N = TypeVar("N", bound=ast.AST)


def mistakes_at(node: ast.AST) -> Mistakes:
    """Replacements for a node; the node itself is not changed."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right) if _is_text_or_list(left, right):
            yield from (left, right)
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
            yield _replace_fields(node, op=_ARITHMETIC[type(operator)]())
        case ast.AugAssign(target=target, op=operator, value=value):
            if type(operator) in _ARITHMETIC and not _is_text_or_list(value):
                yield _replace_fields(node, op=_ARITHMETIC[type(operator)]())
            yield ast.Assign([target], value, lineno=node.lineno)
            yield ast.Pass()
        case ast.Compare(ops=comparisons):
            for place, comparison in enumerate(comparisons):
                for other in _ORDER[type(comparison)]:
                    yield _replace_fields(
                        node, ops=[*comparisons[:place], other(), *comparisons[place + 1 :]]
                    )
        case ast.BoolOp(op=joined, values=values):
            yield _replace_fields(node, op=ast.Or() if isinstance(joined, ast.And) else ast.And())
            for place in range(len(values)):
                kept = [*values[:place], *values[place + 1 :]]
                yield kept[0] if len(kept) == 1 else _replace_fields(node, values=kept)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)) if abs(value) >= _LARGE:
            yield ast.Constant(0)
        case ast.Constant(value=int(value) | float(value)) if value not in (value + 1, value - 1):
            yield ast.Constant(value + 1)
            # as the parser would give it: a minus is an operator
            yield ast.Constant(value - 1) if value >= 1 else ast.UnaryOp(ast.USub(), ast.Constant(1 - value))
        case ast.Constant(value=str(value)):
            yield ast.Constant("" if value else "x")
        case ast.If(test=test) if not isinstance(test, ast.Constant):
            yield from (_replace_fields(node, test=ast.Constant(taken)) for taken in (True, False))
        case ast.IfExp(test=test, body=body, orelse=otherwise) if not isinstance(test, ast.Constant):
            yield from (body, otherwise)
        case ast.For(orelse=[]) | ast.While(orelse=[]):  # never entered; always entered it would only not end
            yield ast.Pass()
        case ast.comprehension(ifs=conditions):
            for place in range(len(conditions)):
                yield _replace_fields(node, ifs=[*conditions[:place], *conditions[place + 1 :]])
        case ast.Slice():
            for part in ("lower", "upper", "step"):
                if (bound := getattr(node, part)) is not None:
                    yield _replace_fields(node, **{part: None})
                    yield from (
                        _replace_fields(node, **{part: near}) for near in _neighbours(bound) if part != "step"
                    )
        case ast.Call(func=function, args=arguments):
            name = last_name(function)
            if name in _OTHER_NAME:
                field = "attr" if isinstance(function, ast.Attribute) else "id"
                yield _replace_fields(node, func=_replace_fields(function, **{field: _OTHER_NAME[name]}))
            if name in _LEFT_OUT and isinstance(function, ast.Attribute):
                yield function.value
            elif name in _LEFT_OUT and arguments and not isinstance(arguments[0], ast.Starred):
                yield arguments[0]
            if name == "range":
                for place, bound in enumerate(arguments[:2]):
                    for near in _neighbours(bound):
                        yield _replace_fields(node, args=[*arguments[:place], near, *arguments[place + 1 :]])
            for place, pair in enumerate(pairwise(arguments)):
                if not any(isinstance(each, ast.Starred) for each in pair):
                    args = [*arguments[:place], *reversed(pair), *arguments[place + 2 :]]
                    yield _replace_fields(node, args=args)
        case ast.Continue():
            yield from (ast.Break(), ast.Pass())
        case ast.Expr() | ast.Raise() | ast.Delete() | ast.Assert() | ast.Break():
            yield ast.Pass()


def empty_result(annotation: ast.expr | None) -> ast.expr:
    """The expression of an empty result for a return annotation."""
    generic = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    word = generic.id if isinstance(generic, ast.Name) else ""
    return expression_tree(_EMPTY.get(word, "None")).body


def _replace_fields(node: N, **fields: Any) -> N:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _is_text_or_list(*nodes: ast.expr) -> bool:
    return any(
        isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        for node in nodes
    )


def _neighbours(bound: ast.expr) -> Iterator[ast.expr]:
    """One more and one less; a constant has that as a constant."""
    if not isinstance(bound, ast.Constant | ast.Starred):
        yield ast.BinOp(bound, ast.Add(), ast.Constant(1))
        yield ast.BinOp(bound, ast.Sub(), ast.Constant(1))
