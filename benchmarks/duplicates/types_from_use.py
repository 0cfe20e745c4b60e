"""Inference of parameter types from their use in a function without annotations.

A simple inference over the syntax tree: whatever must be of one type (both sides of a comparison, a loop's variable and
the items of what it loops over, a helper's parameter and what it is called with) is one place, and each operation on
it is a vote. Nothing is executed. Where several kinds remain, running the program decides between them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeGuard

from alita_mcp.values import Schema


def words_in(text: str) -> frozenset[str]:
    """Each word once."""
    return frozenset(text.split())


MAX_KINDS = 3
"""So many kinds of one parameter are worth a try."""
_STRING = words_in(
    "split lower upper replace strip lstrip rstrip isalpha isdigit isupper islower isnumeric isalnum isdecimal isspace"
    " startswith endswith find rfind swapcase title capitalize join encode format splitlines casefold zfill partition"
    " translate ljust rjust center"
)
_ARRAY = words_in("append extend insert sort reverse remove pop")
_OBJECT = words_in("keys values items get setdefault update")
_NUMERIC = words_in("abs round bin hex oct chr divmod pow sqrt floor ceil factorial gcd log isqrt range")
_SEQUENCE = words_in(
    "sorted list set tuple reversed enumerate zip min max sum any all frozenset Counter map filter"
)
_MEASURES = words_in("len ord int float")
_ARITHMETIC = (
    ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift,
)  # fmt: skip
_NAMED = {
    "string": words_in(
        "s text string word txt sentence message name date operator str str1 str2 string1 string2 letters"
    ),
    "integer": words_in("n num number x y z k i m limit count size year"),
    "array": words_in(
        "lst arr array nums numbers words strings lst1 lst2 values elements items l l1 l2 a_list b_list grid matrix"
    ),
}


class Place:
    """One thing in the program, by all names that it has."""

    def __init__(self, *votes: str) -> None:
        self.votes = Counter(votes)
        self.part: Place | None = None
        self.stand_in: Place | None = None

    @property
    def root(self) -> Place:
        """The place that stands for all that are the same."""
        place = self
        while place.stand_in is not None:
            place = place.stand_in
        return place

    @property
    def item(self) -> Place:
        """The place of its items."""
        root = self.root
        if root.part is None:
            root.part = Place()
        return root.part.root

    def vote(self, *kinds: str) -> Place:
        """Records one use of the value as evidence of its type."""
        self.root.votes.update(kinds)
        return self

    def is_same_as(self, other: Place) -> None:
        """Merges two unknown types, and their item types."""
        one, two = self.root, other.root
        for _ in range(20):  # what contains itself has no end
            if one is two:
                return
            one.votes.update(two.votes)
            two.stand_in = one
            theirs, one.part = two.part, one.part or two.part
            if one.part is not None and one.part.root is one:  # only texts consist of texts
                one.part = None
                one.votes["string"] += 1
            if theirs is None or one.part is None or one.part.root is theirs.root:
                return
            one, two = one.part.root, theirs.root


class Uses(ast.NodeVisitor):
    """Reads a module; `places` are then the parameters of its functions."""

    def __init__(self, module: ast.Module) -> None:
        self.functions: dict[str, list[Place]] = {}
        self._names: list[dict[str, Place]] = [{}]
        comprehensions = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
        self._readers: dict[type[ast.expr], Callable[[Any], Place]] = {
            ast.Name: self._name, ast.Constant: _constant, ast.BinOp: self._binary, ast.Compare: self._comparison,
            ast.Call: self._call, ast.Subscript: self._subscript, ast.IfExp: self._choice, ast.Lambda: self._lambda,
            **dict.fromkeys(comprehensions, self._comprehension),
            **dict.fromkeys((ast.List, ast.Tuple, ast.Set), self._literal),
        }  # fmt: skip
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef):
                self.functions[node.name] = [Place() for _ in _parameters(node)]
        for statement in module.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Its body, with its parameters as places of their own."""
        named = dict(zip((each.arg for each in _parameters(node)), self.functions[node.name], strict=True))
        self._names.append({**self._names[-1], **named})
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    def visit_For(self, node: ast.For) -> None:
        """Types the loop variable as an item of the iterable."""
        self._bind(node.target, self._items(self.of(node.iter)))
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Name and value are one place."""
        value = self.of(node.value)
        for target in node.targets:
            self._bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """As without the annotation."""
        if node.value is not None:
            self._bind(node.target, self.of(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """As the operation that it stands for."""
        self._operation(self.of(node.target), node.op, self.of(node.value))

    def generic_visit(self, node: ast.AST) -> None:
        """Visits the expressions of statements that bind nothing."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.of(child)
            else:
                self.visit(child)

    def of(self, node: ast.expr) -> Place:
        """The place that an expression is; votes on all that is in it."""
        read: Callable[[Any], Place] = self._readers.get(type(node), self._other)
        return read(node)

    def _name(self, node: ast.Name) -> Place:
        return self._names[-1].setdefault(node.id, Place())

    def _binary(self, node: ast.BinOp) -> Place:
        return self._operation(self.of(node.left), node.op, self.of(node.right))

    def _literal(self, node: ast.List | ast.Tuple | ast.Set) -> Place:
        return self._listed([self.of(each) for each in node.elts])

    def _choice(self, node: ast.IfExp) -> Place:
        self.of(node.test)
        return self._listed([self.of(node.body), self.of(node.orelse)]).item

    def _lambda(self, node: ast.Lambda) -> Place:
        self._names.append({**self._names[-1], **{each.arg: Place() for each in node.args.args}})
        result = self.of(node.body)
        self._names.pop()
        return result

    def _other(self, node: ast.expr) -> Place:
        parts = [self.of(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return parts[0].vote("number")
        return Place("string") if isinstance(node, ast.JoinedStr) else Place()

    def _operation(self, left: Place, op: ast.operator, right: Place) -> Place:
        if isinstance(op, _ARITHMETIC) and not (isinstance(op, ast.Mod) and left.root.votes["string"]):
            left.vote("number")
            right.vote("number")
            return Place("number")
        if isinstance(op, ast.Add):
            left.is_same_as(right)
            return left
        if isinstance(op, ast.Mult) and right.root.votes["number"] and not left.root.votes:
            left.vote("number")
        return Place(*([left.root.votes.most_common(1)[0][0]] if left.root.votes else []))

    def _comparison(self, node: ast.Compare) -> Place:
        left = self.of(node.left)
        for op, side in zip(node.ops, node.comparators, strict=True):
            right = self.of(side)
            if not isinstance(op, ast.In | ast.NotIn):
                left.is_same_as(right)
            elif right.root.votes["string"]:
                left.vote("letter")
            else:
                left.is_same_as(right.vote("sequence").item)
            left = right
        return Place("boolean")

    def _call(self, node: ast.Call) -> Place:
        given = [self.of(each) for each in (*node.args, *(each.value for each in node.keywords))]
        match node.func:
            case ast.Attribute(value=owner, attr=method):
                return self._method(self.of(owner), method, given)
            case ast.Name(id=name) if name in self.functions:
                for place, parameter in zip(given, self.functions[name], strict=False):
                    parameter.is_same_as(place)
                return Place()
            case ast.Name(id=name) if given:
                return self._builtin(name, given)
        return Place()

    def _method(self, owner: Place, method: str, given: Sequence[Place]) -> Place:
        if method in _NUMERIC:  # of a module, such as math
            return self._number(given)
        for kind, methods in (("string", _STRING), ("array", _ARRAY), ("object", _OBJECT)):
            owner.vote(*([kind] if method in methods else []))
        if given and method in ("append", "remove", "index", "count"):
            owner.item.is_same_as(given[0])
        if given and method == "join":
            given[0].item.vote("string")
        return self._given_by(method, owner)

    def _given_by(self, method: str, owner: Place) -> Place:
        if method in ("split", "splitlines"):
            return self._listed([Place("string")])
        if method in ("copy", "lower", "upper", "strip", "replace"):
            return owner
        return owner.item if method in ("pop", "values") else Place()

    def _number(self, given: Sequence[Place]) -> Place:
        for each in given:
            each.vote("number")
        return Place("number")

    def _builtin(self, name: str, given: Sequence[Place]) -> Place:
        if name in _NUMERIC:
            number = self._number(given)
            return self._listed([number]) if name == "range" else number
        if name in _MEASURES:
            given[0].vote(*{"len": ["sequence"], "ord": ["letter"]}.get(name, []))
            return Place("number")
        if name in ("min", "max") and len(given) > 1:
            return self._listed(given).item
        if name in _SEQUENCE:
            return self._of_sequences(name, given)
        return Place("string") if name == "str" else Place()

    def _of_sequences(self, name: str, given: Sequence[Place]) -> Place:
        looked_at = given[1:] if name in ("map", "filter") else given[:1] if name == "sorted" else given
        for each in looked_at:
            each.vote("sequence")
        first = given[0]
        if name == "sum":
            return first.vote("array").item.vote("number")
        if name in ("min", "max"):
            return self._items(first)
        result = Place("pairs") if name in ("zip", "enumerate") else Place()
        if name == "enumerate":
            result.item.item.is_same_as(self._items(first))
        elif name not in ("zip", "map", "filter"):
            result.item.is_same_as(self._items(first))
        return result

    def _subscript(self, node: ast.Subscript) -> Place:
        owner = self.of(node.value)
        if isinstance(node.slice, ast.Slice):
            return owner.vote("sequence")
        at = self.of(node.slice)
        if at.root.votes["string"]:
            return owner.vote("object").item
        at.vote("number")
        return self._items(owner.vote("sequence"))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Place:
        self._names.append(dict(self._names[-1]))
        for each in node.generators:
            self._bind(each.target, self._items(self.of(each.iter)))
            for test in each.ifs:
                self.of(test)
        if isinstance(node, ast.DictComp):
            self.of(node.key)
            result = self.of(node.value)
        else:
            result = self.of(node.elt)
        self._names.pop()
        return self._listed([result])

    def _items(self, owner: Place) -> Place:
        if not owner.root.votes["pairs"]:
            owner.vote("sequence")
        return Place("letter") if owner.root.votes["string"] else owner.item

    def _bind(self, target: ast.expr, value: Place) -> None:
        if isinstance(target, ast.Name):
            self._names[-1][target.id] = value
        elif isinstance(target, ast.Tuple | ast.List) and target.elts:
            self._bind(target.elts[-1], value.item)
        else:
            self.of(target).is_same_as(value)

    def _listed(self, places: Sequence[Place]) -> Place:
        whole = Place("array")
        for each in places:
            whole.item.is_same_as(each)
        return whole


def _constant(node: ast.Constant) -> Place:
    value = node.value
    if isinstance(value, str):
        return Place("letter" if len(value) == 1 else "string")
    if isinstance(value, bool) or value is None or value is ...:
        return Place()
    return Place("fraction", "number") if isinstance(value, float) else Place("number")


def _parameters(node: ast.FunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args]


def kinds_of(codes: Sequence[str], function: Sequence[str], at: int, name: str) -> list[Schema]:
    """Possible kinds of the parameter at that place, likeliest first, from its use in all these programs."""
    whole = Place()
    for code, called in zip(codes, function, strict=True):
        places = Uses(ast.parse(code)).functions[called]
        if at < len(places):
            whole.is_same_as(places[at])
    said = (
        ast.get_docstring(next(each for each in ast.parse(codes[0]).body if _is_called(each, function[0])))
        or ""
    )
    hints = [kind for kind, names in _NAMED.items() if name.lower() in names] or list(_said(said.lower()))
    whole.vote(*(f"named {kind}" for kind in hints))
    return list(islice(_unique(_kinds(whole, 0)), MAX_KINDS))


def _is_called(node: ast.stmt, name: str) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _said(docstring: str) -> Iterator[str]:
    """The one kind of sequence that a description speaks of."""
    lists, texts = re.search(r"\b(lists?|arrays?)\b", docstring), re.search(r"\bstrings?\b", docstring)
    if lists and not texts:
        yield "array"
    if texts and not lists:
        yield "string"


def _unique(kinds: Iterator[Schema]) -> Iterator[Schema]:
    seen: list[Schema] = []
    for each in kinds:
        if each not in seen:
            seen.append(each)
            yield each


def _kinds(place: Place, depth: int) -> Iterator[Schema]:
    votes = place.root.votes
    text: Schema = {"type": "string"}
    if votes["object"]:
        inner = next(_kinds(place.item, depth + 1), text)
        yield {"type": "object", "additionalProperties": inner}
    if votes["string"]:
        yield text
    numeric = votes["number"] and not votes["sequence"] and not votes["array"]
    if numeric and not votes["letter"]:
        yield {"type": "number" if votes["fraction"] else "integer"}
    if votes["letter"] and not votes["array"]:
        yield text
    if votes["sequence"] or votes["array"]:
        yield from _sequences(place, depth)
    yield from _by_name(votes)
    yield from ({"type": "integer"}, text) if depth else ({"type": "integer"}, text, _listing("integer"))


def _sequences(place: Place, depth: int) -> Iterator[Schema]:
    """Lists, and texts where nothing says that it is a list."""
    votes, inner = place.root.votes, place.item.root.votes
    lists = (
        [{"type": "array", "items": each} for each in islice(_kinds(place.item, depth + 1), 2)]
        if depth < 3
        else []
    )
    may_be_text = not votes["array"] and not inner["number"] and not inner["array"]
    if may_be_text and (inner["letter"] or votes["named string"] or not inner):
        yield from ({"type": "string"}, *lists) if not votes["named array"] else (*lists, {"type": "string"})
    else:
        yield from lists
        if may_be_text:
            yield {"type": "string"}


def _by_name(votes: Counter[str]) -> Iterator[Schema]:
    for kind in ("string", "integer"):
        if votes[f"named {kind}"]:
            yield {"type": kind}
    if votes["named array"]:
        yield _listing("integer")


def _listing(kind: str) -> Schema:
    return {"type": "array", "items": {"type": kind}}
