"""Generator of inputs from a dictionary of the texts and numbers in the compared programs.

Two programs part ways where one of them looks for something (`"-"`, `"AEIOU"`, 1000), and texts drawn at random hardly
ever hold that. A dictionary of literals is what fuzzers use for this (as in AFL's `-x`).
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeGuard

from alita_mcp.syntax import module_of
from alita_mcp.values import Schema

Arguments = dict[str, Any]
Scalar = str | int | float
MAX_CONSTANTS = 40
"""Of one program; so none crowds out the other's."""
MAX_PIECE = 40
"""Longer texts in the code are messages, not what is looked for."""
MAX_NUMBER = 10_000
"""A loop over more proves nothing but that it is slow."""
MAX_TEXT = 200
_LETTERS = "abcxyzABEXaeiou0123456789 "
_KINDS = ("integer", "string", "number", "boolean")
_BRACKETS = ("()", "[]", "{}", "<>")
_LENGTHS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8)
FLAT = 2
"""Lists inside lists inside lists are short."""
_PIECES = (1, 1, 2, 3, 3, 4, 5, 6, 8, 10)


def constants_in(*codes: str) -> list[Scalar]:
    """The texts and numbers in the programs, without docstrings; each once."""
    found: dict[tuple[type, Scalar], None] = {}
    for code in codes:
        try:
            tree = module_of(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        found |= dict.fromkeys(islice(((type(value), value) for value in _constants(tree)), MAX_CONSTANTS))
    return [value for _, value in found]


def constants_apart(one: str, other: str) -> list[Scalar]:
    """Constants that only one of two programs has; all constants where both have the same."""
    here, there = constants_in(one), constants_in(other)
    only = [value for value in (*here, *there) if (value in here) != (value in there)]
    return only or constants_in(one, other)


def _constants(tree: ast.AST) -> Iterator[Scalar]:
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in said and _is_looked_for(node.value):
            yield node.value


def _is_looked_for(value: Any) -> TypeGuard[Scalar]:
    if isinstance(value, str):
        is_text = not any("\ud800" <= letter <= "\udfff" for letter in value)
        return 0 < len(value) <= MAX_PIECE and is_text
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def dictionary_inputs(schema: Schema, constants: Sequence[Scalar], seed: int, count: int) -> list[Arguments]:
    """At most `count` inputs of the schema, made from the constants; deterministic by seed."""
    draw = random.Random(seed)  # noqa: S311 - nothing here is secret
    parts = schema.get("properties", {})
    needed = set(schema.get("required", ()))
    made = []
    for _ in range(count):
        maker = _Maker(constants, draw)
        given = [name for name in parts if name in needed or _happens(draw, 0.7)]
        made.append({name: maker.argument(parts[name]) for name in given})
    return made


def _happens(draw: random.Random, share: float) -> bool:
    return draw.random() < share


class _Maker:
    """Makes one input; what was made for it so far is what the rest may be like."""

    def __init__(self, constants: Sequence[Scalar], draw: random.Random) -> None:
        self._draw = draw
        self._texts = [value for value in constants if isinstance(value, str)]
        self._numbers = [value for value in constants if not isinstance(value, str)]
        self._made: list[Any] = []

    def argument(self, node: Schema) -> Any:
        """A value for one parameter."""
        value = self._value(node, 0)
        self._made.append(value)
        return value

    def _value(self, node: Schema, depth: int) -> Any:
        draw = self._draw
        if "enum" in node:
            return draw.choice(node["enum"])
        match node.get("type"):
            case "string":
                return shaped(self._text(), draw)
            case "integer":
                return int(self._number())
            case "number":
                return float(self._number()) + draw.choice((0.0, 0.0, 0.5, 0.25))
            case "boolean":
                return _happens(draw, 0.5)
            case "array":
                return shaped(self._items(node.get("items", {}), depth), draw)
            case "object":
                return self._members(node, depth)
        return self._value({"type": draw.choice(_KINDS)}, depth) if _happens(draw, 0.9) else None

    def _number(self) -> float:
        draw = self._draw
        related = list(_numbers_of(self._made))
        if related and _happens(draw, 0.3):
            return max(-MAX_NUMBER, min(draw.choice(related), MAX_NUMBER))
        if self._numbers and _happens(draw, 0.3):
            return draw.choice(self._numbers) + draw.choice((-1, 0, 0, 1))
        return draw.choice(
            (draw.randint(-9, 99), draw.randint(0, 100), draw.randint(0, 12), draw.randint(0, 12))
        )

    def _text(self) -> str:
        """A part of an earlier text, or pieces of the code's own among letters, often few that repeat."""
        draw = self._draw
        earlier = [each for each in self._made if isinstance(each, str) and each]
        if earlier and _happens(draw, 0.4):
            text = draw.choice(earlier)
            start = draw.randrange(len(text))
            return text[start : start + draw.choice((1, 2, 3, len(text)))] + text[:start] * _happens(
                draw, 0.3
            )
        marks = [each for each in self._texts if len(each) == 1 and not each.isalnum()]
        if marks and _happens(draw, 0.35):
            return _nested(draw, marks) or _fields(draw, draw.choice(marks))
        pieces = [*self._texts, *(letter for text in self._texts for letter in text[:12])]
        if not pieces or _happens(draw, 0.4):
            pieces = [*pieces, *draw.sample(_LETTERS, 8)]
        few = [draw.choice(pieces) for _ in range(draw.choice((1, 2, 3, 8)))]
        few += draw.sample(_LETTERS, 1) if _happens(draw, 0.5) else []
        return "".join(draw.choice(few) for _ in range(draw.choice(_PIECES)))[:MAX_TEXT]

    def _items(self, node: Schema, depth: int) -> list[Any]:
        draw = self._draw
        earlier = [each for each in self._made if isinstance(each, list)]
        same = len(earlier[-1]) if earlier and _happens(draw, 0.6) else draw.choice(_LENGTHS)
        longest = min(same, _LENGTHS[-1] if depth < FLAT else 2)
        return [self._value(node, depth + 1) for _ in range(longest)]

    def _members(self, node: Schema, depth: int) -> dict[str, Any]:
        parts, free = node.get("properties", {}), node.get("additionalProperties")
        if isinstance(free, dict):
            keys = [self._text() or "a" for _ in range(self._draw.randint(0, 3))]
            return {key: self._value(free, depth + 1) for key in keys}
        return {name: self._value(part, depth + 1) for name, part in parts.items()}


def _fields(draw: random.Random, mark: str) -> str:
    """Numbers, or short words, with a mark between them."""
    numbers = [f"{draw.randint(0, 10**width):0{draw.choice((1, width))}}" for width in (1, 2, 2, 4)]
    words = ["".join(draw.choice(_LETTERS) for _ in range(draw.randint(1, 4))) for _ in range(2)]
    fields = numbers if _happens(draw, 0.7) else words
    count = draw.choice((2, 2, 3, 3, 4))
    return mark.join(fields[at % len(fields)] for at in range(count))


def _nested(draw: random.Random, marks: Sequence[str]) -> str:
    """Brackets that fit together, where the code speaks of some; empty where it does not, or now and then."""
    pairs = [pair for pair in _BRACKETS if pair[0] in marks and pair[1] in marks]
    if not pairs or _happens(draw, 0.3):
        return ""
    text, open_ = "", list[str]()
    for _ in range(draw.choice((2, 4, 6, 8, 10))):
        if open_ and _happens(draw, 0.5):
            text += open_.pop()
        else:
            pair = draw.choice(pairs)
            text += pair[0]
            open_.append(pair[1])
    return text + "".join(reversed(open_))


def shaped(value: Any, draw: random.Random) -> Any:
    """A text or list as it is, or in a shape that programs look for: mirrored, repeated, sorted, uniform."""
    if not value or _happens(draw, 0.6):
        return value
    ordered = sorted(
        value, key=lambda each: (str(type(each)), each) if isinstance(each, int | float | str) else ("", 0)
    )
    whole = "".join(ordered) if isinstance(value, str) else ordered
    return draw.choice(
        (
            value + value[::-1],
            value + value[-2::-1],
            value + value,
            whole,
            whole[::-1],
            value[:1] * len(value),
        )
    )


def _numbers_of(made: Sequence[Any]) -> Iterator[float]:
    """Numbers that stand in a relation to what was made: equal, next, sum, length."""
    plain = [each for each in made if isinstance(each, int | float) and not isinstance(each, bool)]
    yield from plain
    if len(plain) > 1:
        yield from (plain[-1] + plain[-2], plain[-1] - plain[-2], plain[-1] * plain[-2])
    for each in made:
        if isinstance(each, list | str):
            yield from (len(each), len(each) - 1)
        if isinstance(each, list) and all(isinstance(part, int | float) for part in each):
            yield from (sum(each), sum(each) + 1, *each[:2])
