"""Mutation operators: the replacements of a syntax node that a small mistake would produce."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from alita_mcp.verification.code.names import last_name

_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.BitXor: ast.BitOr, ast.MatMult: ast.Mult,
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
_EMPTY: Mapping[str, ast.expr] = {
    "str": ast.Constant(""), "int": ast.Constant(0), "float": ast.Constant(0.0), "list": ast.List([], ast.Load()),
    "List": ast.List([], ast.Load()), "dict": ast.Dict([], []), "Dict": ast.Dict([], []),
}  # fmt: skip

_LARGE = 1_000
"""Nobody is off by one in a bound of 8,000,000, and no example will ever show it; that it matters, one should."""

Mistakes = Iterator[ast.AST]


def mistakes_at(node: ast.AST) -> Mistakes:
    """Replacements for a node; the node itself is not changed."""
    for rule in _RULES.get(type(node), ()):
        yield from rule(node)


def empty_result(annotation: ast.expr | None) -> ast.expr:
    """The expression of an empty result for a return annotation."""
    generic = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    word = generic.id if isinstance(generic, ast.Name) else ""
    return _EMPTY.get(word, ast.Constant(None))


def _operator(node: ast.BinOp) -> Mistakes:
    if isinstance(node.op, ast.Add) and (_is_text_or_list(node.left) or _is_text_or_list(node.right)):
        yield node.left
        yield node.right
    elif type(node.op) in _ARITHMETIC:
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)


def _augmented(node: ast.AugAssign) -> Mistakes:
    if type(node.op) in _ARITHMETIC and not _is_text_or_list(node.value):
        yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
    yield ast.Assign([node.target], node.value, lineno=node.lineno)


def _is_text_or_list(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)


def _comparison(node: ast.Compare) -> Mistakes:
    for place, operator in enumerate(node.ops):
        for other in _ORDER[type(operator)]:
            operators = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            yield ast.Compare(node.left, operators, node.comparators)


def _both_or_either(node: ast.BoolOp) -> Mistakes:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for place in range(len(node.values)):
        kept = [*node.values[:place], *node.values[place + 1 :]]
        yield kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)


def _sign(node: ast.UnaryOp) -> Mistakes:
    if not isinstance(node.op, ast.UAdd):
        yield node.operand


def _constant(node: ast.Constant) -> Mistakes:
    match node.value:
        case bool(value):
            yield ast.Constant(not value)
        case int(value) if abs(value) >= _LARGE:
            yield ast.Constant(0)
        case int(value):
            yield ast.Constant(value + 1)
            yield _number(value - 1)
        case float(value) if value not in (value + 1, value - 1):
            yield ast.Constant(value + 1)
            yield _number(value - 1)
        case str(value):
            yield ast.Constant("" if value else "x")


def _number(value: float) -> ast.expr:
    """A number as the parser would give it: a minus is an operator."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


def _branch(node: ast.If | ast.IfExp) -> Mistakes:
    if isinstance(node.test, ast.Constant):
        return
    for taken in (True, False):
        if isinstance(node, ast.If):
            yield ast.If(ast.Constant(taken), node.body, node.orelse, lineno=node.lineno)
        else:
            yield node.body if taken else node.orelse


def _loop(node: ast.While | ast.For) -> Mistakes:
    """Never entered; a condition that always holds would only loop for ever."""
    if node.orelse:
        return
    yield ast.Pass()


def _filter(node: ast.comprehension) -> Mistakes:
    for place in range(len(node.ifs)):
        kept = [*node.ifs[:place], *node.ifs[place + 1 :]]
        yield ast.comprehension(node.target, node.iter, kept, node.is_async)


def _slice(node: ast.Slice) -> Mistakes:
    if node.lower is not None:
        yield ast.Slice(None, node.upper, node.step)
        yield from (ast.Slice(each, node.upper, node.step) for each in _neighbours(node.lower))
    if node.upper is not None:
        yield ast.Slice(node.lower, None, node.step)
        yield from (ast.Slice(node.lower, each, node.step) for each in _neighbours(node.upper))
    if node.step is not None:
        yield ast.Slice(node.lower, node.upper, None)


def _call(node: ast.Call) -> Mistakes:
    name = last_name(node.func)
    if name in _OTHER_NAME:
        yield ast.Call(_renamed(node.func, _OTHER_NAME[name]), node.args, node.keywords)
    if name in _LEFT_OUT:
        yield from _without_call(node)
    if name == "range":
        for place, bound in enumerate(node.args[:2]):
            for near in _neighbours(bound):
                yield ast.Call(node.func, [*node.args[:place], near, *node.args[place + 1 :]], node.keywords)
    for place, (first, second) in enumerate(zip(node.args, node.args[1:], strict=False)):
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            swapped = [*node.args[:place], second, first, *node.args[place + 2 :]]
            yield ast.Call(node.func, swapped, node.keywords)


def _renamed(function: ast.expr, name: str) -> ast.expr:
    if isinstance(function, ast.Attribute):
        return ast.Attribute(function.value, name, function.ctx)
    return ast.Name(name, ast.Load())


def _without_call(node: ast.Call) -> Mistakes:
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def _neighbours(bound: ast.expr) -> Iterator[ast.expr]:
    """One more and one less; a constant has that as a constant."""
    if not isinstance(bound, ast.Constant | ast.Starred):
        yield ast.BinOp(bound, ast.Add(), ast.Constant(1))
        yield ast.BinOp(bound, ast.Sub(), ast.Constant(1))


def _removed(_node: ast.stmt) -> Mistakes:
    yield ast.Pass()


def _ended(_node: ast.Continue) -> Mistakes:
    yield ast.Break()
    yield ast.Pass()


Rule = Callable[[Any], Mistakes]
_RULES: Mapping[type[ast.AST], tuple[Rule, ...]] = {
    ast.BinOp: (_operator,),
    ast.AugAssign: (_augmented, _removed),
    ast.Compare: (_comparison,),
    ast.BoolOp: (_both_or_either,),
    ast.UnaryOp: (_sign,),
    ast.Constant: (_constant,),
    ast.If: (_branch,),
    ast.IfExp: (_branch,),
    ast.For: (_loop,),
    ast.While: (_loop,),
    ast.comprehension: (_filter,),
    ast.Slice: (_slice,),
    ast.Call: (_call,),
    ast.Expr: (_removed,),
    ast.Raise: (_removed,),
    ast.Delete: (_removed,),
    ast.Assert: (_removed,),
    ast.Break: (_removed,),
    ast.Continue: (_ended,),
}
