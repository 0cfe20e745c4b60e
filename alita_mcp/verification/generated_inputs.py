"""Generator of inputs that no example shows: draws from a schema, changed known ones, and the code's own constants.

All are deterministic by seed. Changes keep the type (EvalPlus, Liu et al. 2023). Two programs part ways where one of
them looks for something (`"-"`, `"AEIOU"`, 1000) that texts drawn at random hardly ever hold; a dictionary of literals
is what fuzzers use for this (as in AFL's `-x`).
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Sequence
from typing import Any, TypeGuard

from alita_mcp.syntax import module_tree
from alita_mcp.values import Example, Schema
from alita_mcp.verification.findings import is_unicode, json_key

Arguments = dict[str, Any]
Scalar = str | int | float
MAX_CONSTANTS = 40
"""Of one program; so none crowds out the other's."""
MAX_PIECE = 40
"""Longer texts in the code are messages, not what is looked for."""
MAX_NUMBER = 10_000
"""A loop over more proves nothing but that it is slow."""
MAX_TEXT = 200
MAX_CHARACTERS = 2_000
"""Larger known inputs are not changed."""
MAX_STEPS = 3
"""So many changes lead away from a known input at most."""
_TRIES = 8
_LETTERS = "abcxyzABEXaeiou0123456789 "
_KINDS = ("integer", "string", "number", "boolean")
_LENGTHS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8)
_PIECES = (1, 1, 2, 3, 3, 4, 5, 6, 8, 10)

ALPHABET = "abcxyzABZ0123456789 .,;:-_+*/=()[]{}<>\"'#@%&!?\n\téßñ中\U0001f600"
MAX_DRAWN_TEXT, MAX_ITEMS, MAX_KEYS = 24, 8, 4
MAX_SHOWN_ITEMS = 30
"""Lists that are drawn are no longer than this, however long those in the examples are."""
DEFAULT_SIZE, MAX_SIZE = 100, 2**53
"""Numbers stay below the first, or below twice the largest in the examples: a loop over 2**53 would prove nothing."""
_MAX_EXAMPLE_CHARACTERS = 4_000
"""Larger examples are not looked at for values that the tool understands."""


def draw_inputs(schema: Schema, examples: Sequence[Example], seed: int, count: int) -> list[Arguments]:
    """At most `count` inputs of the schema, each once: new ones, and those of an example with one argument new."""
    draw = random.Random(seed)  # noqa: S311 - nothing here is secret
    shown = [each.arguments for each in examples if len(json_key(each.arguments)) <= _MAX_EXAMPLE_CHARACTERS]
    known, names = [each for each in shown if each], sorted(schema["properties"])
    needed = set(schema.get("required", ()))
    drawer = _Drawer(shown, draw)
    drawn: dict[str, Arguments] = {}
    for _ in range(2 * count):
        if len(drawn) >= count:
            break
        made = drawer.draw_value(schema, "")
        if known and len(names) > 1 and draw.random() < 0.5:
            new, base = draw.choice(names), draw.choice(known)
            kept = {name: value for name, value in base.items() if name != new}
            varied = kept | ({new: made[new]} if new in made else {})
            made = varied if needed <= varied.keys() else made
        drawn.setdefault(json_key(made), made)
    return list(drawn.values())


class _Drawer:
    """Draws values of a schema, of a size that the examples show, and now and then their very values."""

    def __init__(self, examples: Sequence[Arguments], draw: random.Random) -> None:
        self._draw = draw
        self._scalars: dict[str, list[Any]] = {}
        self._lengths: dict[str, int] = {}
        for example in examples:
            self._collect("", example)

    def _collect(self, path: str, value: Any) -> None:
        """Keeps the scalars, and the length of the longest list, at each path of the schema."""
        if isinstance(value, dict):
            for name, part in value.items():
                self._collect(f"{path}.{name}", part)
                self._collect(f"{path}.*", part)
        elif isinstance(value, list):
            self._lengths[path] = max(self._lengths.get(path, 0), len(value))
            for part in value:
                self._collect(f"{path}[]", part)
        else:
            self._scalars.setdefault(path, []).append(value)

    def draw_value(self, node: Schema, path: str, depth: int = 0) -> Any:
        """A value of one node of the schema."""
        draw = self._draw
        if "enum" in node:
            return draw.choice(node["enum"])
        match node.get("type"):
            case "boolean":
                return draw.random() < 0.5
            case "integer":
                return self._draw_number([each for each in self._known(path) if type(each) is int])
            case "number":
                number = self._draw_number([each for each in self._known(path) if type(each) in (int, float)])
                return number + draw.choice((0.0, draw.random()))
            case "string":
                return self._draw_text([each for each in self._known(path) if isinstance(each, str)])
            case "array":
                longest = min(max(MAX_ITEMS, self._lengths.get(path, 0)), MAX_SHOWN_ITEMS)
                length = (
                    draw.choice((0, 1, 2, 3, draw.randint(0, longest))) if depth < 2 else draw.randint(0, 2)
                )
                return [self.draw_value(node["items"], f"{path}[]", depth + 1) for _ in range(length)]
            case "object":
                free = node.get("additionalProperties")
                if isinstance(free, dict):
                    lengths = [draw.randint(1, MAX_DRAWN_TEXT // 2) for _ in range(draw.randint(0, MAX_KEYS))]
                    keys = ["".join(draw.choices(ALPHABET, k=length)) for length in lengths]
                    return {key: self.draw_value(free, f"{path}.*", depth + 1) for key in keys}
                needed = node.get("required", ())
                given = [name for name in node.get("properties", {}) if name in needed or draw.random() < 0.5]
                return {
                    name: self.draw_value(node["properties"][name], f"{path}.{name}", depth) for name in given
                }
        return None

    def _known(self, path: str) -> list[Any]:
        return self._scalars.get(path, [])

    def _draw_number(self, known: Sequence[float]) -> Any:
        size = int(min(max([DEFAULT_SIZE, *(2 * abs(value) for value in known)]), MAX_SIZE))
        drawn = [self._draw.randint(-10, 10), self._draw.randint(-size, size)]
        return self._draw.choice([*drawn, self._draw.choice(known)] if known else drawn)

    def _draw_text(self, known: Sequence[str]) -> str:
        draw = self._draw
        length = draw.choice((0, 1, 2, 3, draw.randint(0, MAX_DRAWN_TEXT)))
        drawn = "".join(draw.choices(ALPHABET, k=length))
        if not known:
            return drawn
        one = draw.choice(known)
        return draw.choice((drawn, one, one[: draw.randint(0, len(one))], one + drawn))


def constants_in(*codes: str) -> list[Scalar]:
    """The texts and numbers in the programs, without docstrings; each once."""

    def is_searched(value: Any) -> TypeGuard[Scalar]:
        if isinstance(value, str):
            return 0 < len(value) <= MAX_PIECE and is_unicode(value)
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER

    found: dict[tuple[type, Scalar], None] = {}
    for code in codes:
        try:
            tree = module_tree(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        values = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and id(node) not in docstrings
        ]
        texts_and_numbers = [value for value in values if is_searched(value)]
        found |= dict.fromkeys((type(value), value) for value in texts_and_numbers[:MAX_CONSTANTS])
    return [value for _, value in found]


def constants_apart(one: str, other: str) -> list[Scalar]:
    """Constants that only one of two programs has; all constants where both have the same."""
    here, there = constants_in(one), constants_in(other)
    only = [value for value in (*here, *there) if (value in here) != (value in there)]
    return only or constants_in(one, other)


def dictionary_inputs(schema: Schema, constants: Sequence[Scalar], seed: int, count: int) -> list[Arguments]:
    """At most `count` inputs of the schema, made from the constants; deterministic by seed."""
    draw = random.Random(seed)  # noqa: S311 - nothing here is secret
    parts, needed = schema.get("properties", {}), set(schema.get("required", ()))
    made = []
    for _ in range(count):
        maker = _Maker(constants, draw)
        given = [name for name in parts if name in needed or draw.random() < 0.7]
        made.append({name: maker.argument(parts[name]) for name in given})
    return made


class _Maker:
    """Makes one input; what was made for it so far is what the rest may be like."""

    def __init__(self, constants: Sequence[Scalar], draw: random.Random) -> None:
        self._draw = draw
        self._texts = [value for value in constants if isinstance(value, str)]
        self._numbers = [value for value in constants if not isinstance(value, str)]
        self._made: list[Any] = []

    def argument(self, node: Schema) -> Any:
        """A value for one parameter."""
        value = self._make_value(node, 0)
        self._made.append(value)
        return value

    def _make_value(self, node: Schema, depth: int) -> Any:
        draw = self._draw
        if "enum" in node:
            return draw.choice(node["enum"])
        match node.get("type"):
            case "string":
                return _reshape(self._make_text(), draw)
            case "integer":
                return int(self._make_number())
            case "number":
                return float(self._make_number()) + draw.choice((0.0, 0.0, 0.5, 0.25))
            case "boolean":
                return draw.random() < 0.5
            case "array":
                earlier = [len(each) for each in self._made if isinstance(each, list)]
                length = earlier[-1] if earlier and draw.random() < 0.6 else draw.choice(_LENGTHS)
                # lists inside lists inside lists are short
                count = min(length, _LENGTHS[-1] if depth < 2 else 2)
                return _reshape(
                    [self._make_value(node.get("items", {}), depth + 1) for _ in range(count)], draw
                )
            case "object":
                free = node.get("additionalProperties")
                parts = node.get("properties", {})
                if isinstance(free, dict):
                    parts = {self._make_text() or "a": free for _ in range(draw.randint(0, 3))}
                return {name: self._make_value(part, depth + 1) for name, part in parts.items()}
        return self._make_value({"type": draw.choice(_KINDS)}, depth) if draw.random() < 0.9 else None

    def _make_number(self) -> float:
        """A number related to what was made before, one near the code's own, or a small one."""
        draw = self._draw
        related = [each for each in self._made if isinstance(each, int | float) and type(each) is not bool]
        related += [
            len(each) - less for each in self._made if isinstance(each, list | str) for less in (0, 1)
        ]
        if related and draw.random() < 0.3:
            return max(-MAX_NUMBER, min(draw.choice(related), MAX_NUMBER))
        if self._numbers and draw.random() < 0.3:
            return draw.choice(self._numbers) + draw.choice((-1, 0, 0, 1))
        return draw.choice((draw.randint(-9, 99), draw.randint(0, 100), draw.randint(0, 12)))

    def _make_text(self) -> str:
        """A part of an earlier text, fields around a mark of the code's, or few pieces that repeat."""
        draw = self._draw
        earlier = [each for each in self._made if isinstance(each, str) and each]
        if earlier and draw.random() < 0.4:
            text = draw.choice(earlier)
            start = draw.randrange(len(text))
            return text[start : start + draw.choice((1, 2, 3, len(text)))]
        marks = [each for each in self._texts if len(each) == 1 and not each.isalnum()]
        if marks and draw.random() < 0.35:
            width = draw.choice((1, 2, 2, 4))
            fields = [f"{draw.randint(0, 10**width):0{width}}" for _ in range(draw.choice((2, 2, 3, 3, 4)))]
            return draw.choice(marks).join(fields)
        pieces = [*self._texts, *(letter for text in self._texts for letter in text[:12])]
        if not pieces or draw.random() < 0.4:
            pieces = [*pieces, *draw.sample(_LETTERS, 8)]
        few = [draw.choice(pieces) for _ in range(draw.choice((1, 2, 3, 8)))]
        few += draw.sample(_LETTERS, 1) if draw.random() < 0.5 else []
        return "".join(draw.choice(few) for _ in range(draw.choice(_PIECES)))[:MAX_TEXT]


def _reshape(value: Any, draw: random.Random) -> Any:
    """A text or list as it is, or in a shape that programs look for: mirrored, repeated, sorted, uniform."""
    if not value or draw.random() < 0.6:
        return value
    ordered = sorted(value, key=lambda each: (type(each).__name__, each if isinstance(each, Scalar) else 0))
    whole = "".join(ordered) if isinstance(value, str) else ordered
    mirrored = (value + value[::-1], value + value[-2::-1])
    return draw.choice((*mirrored, value + value, whole, whole[::-1], value[:1] * len(value)))


def mutate_inputs(schema: Schema, known: Sequence[Arguments], seed: int, count: int) -> list[Arguments]:
    """At most `count` inputs that are not among the known ones but near them; deterministic by seed."""
    draw = random.Random(seed)  # noqa: S311 - nothing here is secret
    small = [each for each in known if each and len(json.dumps(each)) <= MAX_CHARACTERS]
    seen = {json_key(each) for each in known}
    found: list[Arguments] = []
    for _ in range(count * _TRIES if small else 0):
        if len(found) >= count:
            break
        changed = draw.choice(small)
        for _step in range(draw.randint(1, MAX_STEPS)):
            name = draw.choice(sorted(changed))
            node = schema.get("properties", {}).get(name, {})
            changed = {**changed, name: _change(changed[name], node, _scalars(changed), draw)}
        text = json_key(changed)
        if text not in seen:
            seen.add(text)
            found.append(changed)
    return found


def _change(value: Any, schema: Schema, pool: Sequence[Any], draw: random.Random) -> Any:
    """The value with one thing changed; `pool` are values from elsewhere in the input."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match value:
        case bool():
            return not value
        case int() | float():
            numbers = [each for each in pool if type(each) in (int, type(value))]
            near = [value + 1, value - 1, value * 2, value // 2, 0, 1, *numbers]
            near += [-value] if any(each < 0 for each in numbers) else []
            return type(value)(draw.choice(near))
        case str():
            other = draw.choice([*(each for each in pool if isinstance(each, str)), value])
            ways = (*_rearrange(value, draw), value[::-1], value.swapcase(), value + other, other)
            return str(draw.choice(ways))
        case list():
            place = draw.randrange(len(value) or 1)
            parts = [_change(each, schema.get("items", {}), pool, draw) for each in value[place : place + 1]]
            inner = [*value[:place], *parts, *value[place + 1 :]]
            return draw.choice((*_rearrange(value, draw), value[::-1], inner, inner, inner))
        case dict() if value:
            key = draw.choice(sorted(value))
            part = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            return {**value, key: _change(value[key], part if isinstance(part, dict) else {}, pool, draw)}
    return value


def _rearrange(value: Any, draw: random.Random) -> tuple[Any, Any, Any]:
    """A text or list without one piece, with one piece twice, and with one piece moved."""
    start, at = draw.randrange(len(value) or 1), draw.randrange(len(value) or 1)
    piece, rest = value[start : start + 1], value[:start] + value[start + 1 :]
    return rest, value[:at] + piece + value[at:], rest[:at] + piece + rest[at:]


def _scalars(value: Any) -> list[Any]:
    """All that is neither list nor object in it."""
    if isinstance(value, dict):
        value = list(value.values())
    return [each for part in value for each in _scalars(part)] if isinstance(value, list) else [value]
