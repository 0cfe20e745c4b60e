"""Sets whose order depends on a seed, as with a drawn hash seed, for the rehearsal of a tool.

Hashes of text are baked into the component, so a result that depends on the order of a set would always be the same
here, and another one elsewhere. In a rehearsal the tool's own code makes sets of the classes below; all else about a
set is as it was. Sets that libraries make keep their order.
"""

from __future__ import annotations

import ast
import builtins
import copy
import datetime
import decimal
import fractions
import pprint
import sys
import types
import uuid
from abc import ABCMeta
from collections.abc import Callable, Iterator
from typing import Any

SET, OWN, CLASS_OF = ".set", ".own", ".class_of"
"""Names that no code can have for something of its own."""
_SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)
_MASK = (1 << 64) - 1
_HALF = 1 << (sys.hash_info.width - 1)
_hash, _set, _frozenset, _type = hash, set, frozenset, type
_SAME = (
    int, float, complex, decimal.Decimal, fractions.Fraction, datetime.timedelta, uuid.UUID, range, types.NoneType,
    types.EllipsisType,
)  # fmt: skip
"""Their hashes are the same under every seed."""
_RESULTS = """
    __and__ __or__ __sub__ __xor__ __rand__ __ror__ __rsub__ __rxor__ copy union intersection difference
    symmetric_difference
""".split()
_GROWING = "__init__ add update symmetric_difference_update __ior__ __ixor__".split()


class _Rehearsal:
    """The seed, and whether a hash is computed to see what it depends on."""

    seed = 0
    looking = False


class Kind(ABCMeta):
    """Metaclass of the two set classes, by which an ordinary set counts as their instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _PLAIN[cls]) if cls in _PLAIN else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, _PLAIN[cls]) if cls in _PLAIN else super().__subclasscheck__(subclass)


class Set(set[Any], metaclass=Kind):
    """Set with a seeded order."""

    __slots__ = ("_order",)

    def pop(self) -> Any:
        """As `set.pop`, by the order of the seed."""
        if not len(self):
            return super().pop()
        item = _order_of(self).pop()
        super().remove(item)
        return item


class Frozen(frozenset[Any], metaclass=Kind):
    """Frozen set with a seeded order."""

    __slots__ = ("_order",)


_PLAIN: dict[type, type] = {Set: set, Frozen: frozenset}


def seed_sets(seed: int) -> dict[str, Any]:
    """Seeds sets and hashes from now on; returns the builtins of a module that `rewrite_sets` rewrote."""
    _Rehearsal.seed = seed
    plain = pprint.PrettyPrinter._pprint_set
    for kind in _PLAIN:
        pprint.PrettyPrinter._dispatch[kind.__repr__] = (  # type: ignore[attr-defined]
            lambda printer, items, *words: plain(printer, _plain(items)(items), *words)
        )
    ours = {"set": Set, "frozenset": Frozen, "hash": hash_in_tool, SET: Set, OWN: own, CLASS_OF: class_of}
    return vars(builtins) | ours


def own(result: Any) -> Any:
    """Turns a new set into a seeded one; anything else stays."""
    if _type(result) is _set:
        return Set(result)
    return Frozen(result) if _type(result) is _frozenset else result


def class_of(function: Any, item: Any) -> Any:
    """Class of an item, as `type(item)` tells a tool, for which the classes here are `set` and `frozenset`."""
    kind = function(item)
    if kind is _set:
        return Set
    return Frozen if kind is _frozenset else kind


def hash_in_tool(item: Any, /) -> int:
    """Stand-in for `hash`; inside a tool's `__hash__` the plain one, while dictionaries and sets ask for it."""
    if not _Rehearsal.looking:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_name == "__hash__":
                return _hash(item)
            frame = frame.f_back
    _hash(item)  # what has none is an error as ever
    return hash_under_seed(item)


def hash_under_seed(item: Any) -> int:
    """The hash of something under the seed; the plain one of what never depends on it."""
    kind: Any = _type(item)
    if isinstance(item, (str, bytes)) and kind.__hash__ in (str.__hash__, bytes.__hash__):
        return _number(_mix(_hash(item))) if item else 0
    if isinstance(item, _SAME):
        return _hash(item)
    if kind.__hash__ is tuple.__hash__:
        return _hash(tuple(map(hash_under_seed, item)))
    if kind.__hash__ is _frozenset.__hash__:
        return _hash(_frozenset(map(hash_under_seed, _frozenset.__iter__(item))))
    if getattr(kind.__hash__, "__globals__", {}).get("__name__") == "tool":
        before, _Rehearsal.looking = _Rehearsal.looking, True
        try:
            return _hash(item)
        finally:
            _Rehearsal.looking = before
    return _number(_mix(_hash(item)))


def _mix(number: int) -> int:
    number = (number + (_Rehearsal.seed + 1) * 0x9E3779B97F4A7C15) & _MASK
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & _MASK
    return number ^ (number >> 31)


def _number(mixed: int) -> int:
    """A number as wide as a hash."""
    number = mixed % (2 * _HALF) - _HALF
    return -2 if number == -1 else number


def _plain(items: Any) -> Any:
    return _set if isinstance(items, _set) else _frozenset


def _order_of(items: Any) -> list[Any]:
    """What is in a set, the first one last; kept until something is added."""
    plain = _plain(items)
    order: list[Any] | None = getattr(items, "_order", None)
    while order and not plain.__contains__(items, order[-1]):
        order.pop()
    if not order:
        order = list(plain.__iter__(items))
        numbers = [hash_under_seed(item) for item in order]
        # another order for another seed, and none that is the plain one; what no seed changes keeps its order
        if any(number != _hash(item) for number, item in zip(numbers, order, strict=True)):
            plain_places = list(range(len(order)))
            places = sorted(plain_places, key=lambda place: _mix(numbers[place]))
            order = [order[place] for place in (reversed(places) if places == plain_places else places)]
        order.reverse()
        items._order = order
    return order


def _iterate(self: Any) -> Iterator[Any]:
    plain, count = _plain(self), len(self)
    for item in reversed(_order_of(self)):
        if plain.__contains__(self, item):
            yield item
            if len(self) != count:
                raise RuntimeError("Set changed size during iteration")


def _repr(self: Any) -> str:
    name = _type(self).__name__
    if not len(self):
        return f"{name}()"
    items = f"{{{', '.join(map(repr, self))}}}"
    return items if _type(self) is Set else f"{name}({items})"


def _reduce(self: Any, protocol: Any) -> Any:
    kind = _type(self)
    return (_PLAIN[kind], (list(self),)) if kind in _PLAIN else _plain(self).__reduce_ex__(self, protocol)


def _wrap_result(method: Callable[..., Any]) -> Callable[..., Any]:
    def result(self: Any, *others: Any) -> Any:
        return own(method(self, *others))

    return result


def _wrap_change(method: Callable[..., Any]) -> Callable[..., Any]:
    def change(self: Any, *others: Any) -> Any:
        if hasattr(self, "_order"):
            self._order = None
        return method(self, *others)

    return change


def _complete(kind: Any, plain: Any) -> None:
    """Gives a class what both have, under the name that the tool knows it by."""
    kind.__name__ = kind.__qualname__ = plain.__name__
    kind.__module__, kind.__doc__ = "builtins", plain.__doc__
    kind.__iter__, kind.__repr__, kind.__reduce_ex__ = _iterate, _repr, _reduce
    for name in _RESULTS:
        setattr(kind, name, _wrap_result(getattr(plain, name)))
    for name in _GROWING if plain is _set else ():
        setattr(kind, name, _wrap_change(getattr(plain, name)))
    copy._copy_builtin_containers.add(kind)  # type: ignore[attr-defined]
    copy._deepcopy_dispatch[kind] = lambda items, memo: kind([copy.deepcopy(item, memo) for item in items])  # type: ignore[attr-defined]


def rewrite_sets(code: str, file: str) -> ast.Module:
    """Rewrites code for seeded sets into a tree with the same line numbers: each set goes through functions of here.

    Raises:
        SyntaxError, ValueError: it cannot be parsed.
    """
    tree: ast.Module = _Rewrite().visit(ast.parse(code, file))
    return ast.fix_missing_locations(tree)


class _Rewrite(ast.NodeTransformer):
    def visit_Set(self, node: ast.Set) -> ast.AST:
        """`{a, b}`."""
        self.generic_visit(node)
        return _call(SET, node, ast.List(node.elts, ast.Load()))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        """`{a for a in b}`."""
        self.generic_visit(node)
        return _call(SET, node, ast.ListComp(node.elt, node.generators))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`a.keys() & b.keys()`; operators of sets of ours would do without."""
        self.generic_visit(node)
        if not isinstance(node.op, _SET_OPERATORS) or _is_number(node.left) or _is_number(node.right):
            return node
        return _call(OWN, node, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a in {b, c}`, where the order says nothing."""
        displays = [each for each in node.comparators if isinstance(each, ast.Set)]
        if len(node.ops) == len(displays) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            node.left = self.visit(node.left)
            displays[0].elts = [self.visit(each) for each in displays[0].elts]
            return node
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`type(a)`."""
        self.generic_visit(node)
        plain = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
        if plain and isinstance(node.func, ast.Name) and node.func.id == "type":
            return _call(CLASS_OF, node, node.func, node.args[0])
        return node


def _call(name: str, place: ast.AST, *arguments: ast.expr) -> ast.AST:
    call = ast.Call(ast.Name(name, ast.Load()), [*arguments], [])
    return ast.copy_location(call, place)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))


_complete(Set, set)
_complete(Frozen, frozenset)
