"""Generator of code variants with one small mistake each, in a seeded order.

A mistake replaces one expression or statement in the text; the rest of the text, comments and layout included,
stays as it is. Annotations, docstrings, decorators, imports and f-strings are left alone.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from alita_mcp.values import Value

MutationKind = Literal[
    "operator",
    "comparison",
    "boundary",
    "constant",
    "boolean operator",
    "negated condition",
    "return",
    "removed statement",
    "swapped arguments",
]
Edit = tuple[MutationKind, ast.AST, str]
"""What kind of mistake, the node whose text is replaced, and the new text."""

SHOWN_CHARACTERS = 100

_OPERATOR: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_OPPOSITE: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_NEIGHBOUR: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_EMPTY = {"int": "0", "float": "0.0", "str": '""', "list": "[]", "List": "[]", "dict": "{}", "Dict": "{}"}
_REMOVABLE = (
    ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Assert, ast.Delete,
)  # fmt: skip
_LEFT_ALONE = (ast.Import, ast.ImportFrom, ast.JoinedStr)


class Mutation(Value):
    """One variant of some code."""

    kind: MutationKind
    line: int
    before: str
    """The text that was replaced, cut to 100 characters."""
    after: str
    code: str
    """The whole code with the mistake in it; it parses, and to another tree than the original."""


def mutations(code: str) -> tuple[Mutation, ...]:
    """Every single-mistake variant of `code`, in the order of the text; no two are the same text.

    Raises:
        SyntaxError: the code itself does not parse.
    """
    tree = ast.parse(code)
    text, untouched = _Text(code), ast.dump(tree)
    found: dict[str, Mutation] = {}
    for kind, node, after in _edits(tree):
        broken = text.replaced(node, after)
        if broken not in found and _parses_to_another_tree(broken, untouched):
            found[broken] = Mutation(
                kind=kind,
                line=getattr(node, "lineno", 0),
                before=text.segment(node)[:SHOWN_CHARACTERS],
                after=after[:SHOWN_CHARACTERS],
                code=broken,
            )
    return tuple(found.values())


def drawn(code: str, seed: str) -> list[Mutation]:
    """The mutations of `code` in a random order that depends on `seed` and on nothing else."""
    every = mutations(code)
    return random.Random(seed).sample(every, len(every))


class _Text:
    """Source whose nodes are found by line and by byte, as `ast` counts."""

    def __init__(self, code: str) -> None:
        self._bytes = code.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def replaced(self, node: Any, after: str) -> str:
        start, end = self._span(node)
        return (self._bytes[:start] + after.encode() + self._bytes[end:]).decode()

    def segment(self, node: Any) -> str:
        start, end = self._span(node)
        return self._bytes[start:end].decode()

    def _span(self, node: Any) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset


def _parses_to_another_tree(code: str, untouched: str) -> bool:
    try:
        return ast.dump(ast.parse(code)) != untouched
    except SyntaxError:
        return False


def _edits(node: ast.AST) -> Iterator[Edit]:
    """The edits of a node and of all that runs inside it."""
    if isinstance(node, _LEFT_ALONE) or _is_bare_constant(node):
        return
    for rule in _RULES.get(type(node), ()):
        yield from rule(node)
    if isinstance(node, _REMOVABLE):
        yield "removed statement", node, "pass"
    for child in _running_parts(node):
        yield from _edits(child)


def _is_bare_constant(node: ast.AST) -> bool:
    """A docstring, or another expression statement that does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _running_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The children that are executed: no annotations and no decorators."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _grouped(node: ast.expr) -> str:
    """An expression's text that keeps its meaning wherever it is put."""
    return f"({ast.unparse(node)})"


def _binary_operator(node: ast.BinOp) -> Iterator[Edit]:
    other = _OPERATOR.get(type(node.op))
    if other is not None:
        yield "operator", node, _grouped(ast.BinOp(node.left, other(), node.right))


def _augmented_operator(node: ast.AugAssign) -> Iterator[Edit]:
    other = _OPERATOR.get(type(node.op))
    if other is not None:
        yield "operator", node, ast.unparse(ast.AugAssign(node.target, other(), node.value))


def _unary_operator(node: ast.UnaryOp) -> Iterator[Edit]:
    if isinstance(node.op, ast.Not):
        yield "boolean operator", node, _grouped(node.operand)
    elif isinstance(node.op, ast.USub):
        yield "operator", node, _grouped(node.operand)


def _comparison(node: ast.Compare) -> Iterator[Edit]:
    for place, operator in enumerate(node.ops):
        opposite, neighbour = _OPPOSITE[type(operator)], _NEIGHBOUR.get(type(operator))
        yield "comparison", node, _with_operator(node, place, opposite())
        if neighbour is not None:
            yield "boundary", node, _with_operator(node, place, neighbour())


def _with_operator(node: ast.Compare, place: int, operator: ast.cmpop) -> str:
    operators = [*node.ops[:place], operator, *node.ops[place + 1 :]]
    return _grouped(ast.Compare(node.left, operators, node.comparators))


def _boolean_operator(node: ast.BoolOp) -> Iterator[Edit]:
    other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
    yield "boolean operator", node, _grouped(ast.BoolOp(other, node.values))
    for place in range(len(node.values)):
        kept = [*node.values[:place], *node.values[place + 1 :]]
        yield "boolean operator", node, _grouped(kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept))


def _constant(node: ast.Constant) -> Iterator[Edit]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", node, repr(not value)
    elif isinstance(value, int | float):
        yield "constant", node, repr(value + 1)
        yield "constant", node, f"({value - 1!r})"
    elif isinstance(value, str):
        yield "constant", node, '""' if value else '"x"'


def _condition(node: ast.If | ast.While | ast.IfExp) -> Iterator[Edit]:
    yield "negated condition", node.test, _negated(node.test)


def _filters(node: ast.comprehension) -> Iterator[Edit]:
    for test in node.ifs:
        yield "negated condition", test, _negated(test)


def _negated(test: ast.expr) -> str:
    return f"(not {_grouped(test)})"


def _slice_bounds(node: ast.Slice) -> Iterator[Edit]:
    for bound in (node.lower, node.upper):
        if bound is not None:
            yield from _shifted(bound)


def _call(node: ast.Call) -> Iterator[Edit]:
    if isinstance(node.func, ast.Name) and node.func.id == "range":
        for bound in node.args[:2]:
            yield from _shifted(bound)
    for place in range(len(node.args) - 1):
        first, second = node.args[place : place + 2]
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            swapped = [*node.args[:place], second, first, *node.args[place + 2 :]]
            yield "swapped arguments", node, ast.unparse(ast.Call(node.func, swapped, node.keywords))


def _shifted(bound: ast.expr) -> Iterator[Edit]:
    """One more and one less; a constant bound has that already, as a constant."""
    if not isinstance(bound, ast.Constant | ast.Starred):
        yield "boundary", bound, f"({ast.unparse(bound)} + 1)"
        yield "boundary", bound, f"({ast.unparse(bound)} - 1)"


def _returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Edit]:
    annotation = function.returns
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    word = annotation.id if isinstance(annotation, ast.Name) else ""
    for node in _own_returns(function):
        if word == "bool":
            yield "return", node.value, _negated(node.value)
        else:
            yield "return", node.value, _EMPTY.get(word, "None")


def _own_returns(function: ast.AST) -> Iterator[Any]:
    """Returns with a value that belong to the function itself, not to one inside it."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, ast.Return) and child.value is not None:
            yield child
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _own_returns(child)


Rule = Callable[[Any], Iterator[Edit]]
_RULES: Mapping[type[ast.AST], tuple[Rule, ...]] = {
    ast.BinOp: (_binary_operator,),
    ast.AugAssign: (_augmented_operator,),
    ast.UnaryOp: (_unary_operator,),
    ast.Compare: (_comparison,),
    ast.BoolOp: (_boolean_operator,),
    ast.Constant: (_constant,),
    ast.If: (_condition,),
    ast.While: (_condition,),
    ast.IfExp: (_condition,),
    ast.comprehension: (_filters,),
    ast.Slice: (_slice_bounds,),
    ast.Call: (_call,),
    ast.FunctionDef: (_returns,),
    ast.AsyncFunctionDef: (_returns,),
}
