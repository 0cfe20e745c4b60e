"""Generator of inputs by mutation of known ones: small changes to their arguments.

After EvalPlus (Liu et al. 2023), whose inputs are made by changes that keep the type.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from alita_mcp.values import Schema
from alita_mcp.verification.findings import sorted_json

Arguments = dict[str, Any]
MAX_CHARACTERS = 2_000
"""Larger inputs are left as they are."""
MAX_STEPS = 3
"""So many changes lead away from a known input at most."""
_TRIES = 8


def mutated_inputs(schema: Schema, known: Sequence[Arguments], seed: int, count: int) -> list[Arguments]:
    """At most `count` inputs that are not among the known ones; deterministic by seed."""
    draw = random.Random(seed)  # noqa: S311 - nothing here is secret
    small = [each for each in known if each and len(json.dumps(each)) <= MAX_CHARACTERS]
    found: dict[str, Arguments] = {}
    seen = {sorted_json(each) for each in known}
    for _ in range(count * _TRIES if small else 0):
        if len(found) >= count:
            break
        changed = draw.choice(small)
        for _step in range(draw.randint(1, MAX_STEPS)):
            changed = _with_one_change(changed, schema, draw)
        text = sorted_json(changed)
        if text not in seen:
            seen.add(text)
            found[text] = changed
    return list(found.values())


def _with_one_change(arguments: Arguments, schema: Schema, draw: random.Random) -> Arguments:
    name = draw.choice(sorted(arguments))
    node = schema.get("properties", {}).get(name, {})
    pool = _scalars(arguments)
    return {**arguments, name: _changed(arguments[name], node, pool, draw)}


def _changed(value: Any, schema: Schema, pool: Sequence[Any], draw: random.Random) -> Any:
    """The value with one thing changed; `pool` are values from elsewhere in the input."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    match value:
        case bool():
            return not value
        case int():
            return draw.choice(_numbers(value, [each for each in pool if type(each) is int]))
        case float():
            return float(draw.choice(_numbers(value, [each for each in pool if type(each) in (int, float)])))
        case str():
            return _text(value, [each for each in pool if isinstance(each, str)], draw)
        case list():
            return _list(value, schema, pool, draw)
        case dict() if value:
            key = draw.choice(sorted(value))
            part = schema.get("properties", {}).get(key) or schema.get("additionalProperties") or {}
            inner = part if isinstance(part, dict) else {}
            return {**value, key: _changed(value[key], inner, pool, draw)}
    return value


def _numbers(value: float, pool: Sequence[float]) -> list[float]:
    near = [value + 1, value - 1, value * 2, value // 2, 0, 1]
    near += [-value] if any(each < 0 for each in pool) else []
    return near + [each for each in pool if each != value]


def _text(value: str, pool: Sequence[str], draw: random.Random) -> str:
    other = draw.choice([*pool, value])
    ways = (
        _without(value, draw), _with_again(value, draw), _swapped(value, draw),
        value[::-1], value.swapcase(), value + other, other,
    )  # fmt: skip
    return str(draw.choice(ways))


def _place(value: Sequence[Any], draw: random.Random) -> int:
    return draw.randrange(len(value) or 1)


def _without(value: Any, draw: random.Random) -> Any:
    place = _place(value, draw)
    return value[:place] + value[place + 1 :]


def _with_again(value: Any, draw: random.Random) -> Any:
    """One piece of it a second time."""
    start, at = _place(value, draw), _place(value, draw)
    return value[:at] + value[start : start + 1] + value[at:]


def _swapped(value: Any, draw: random.Random) -> Any:
    """One piece of it moved to another place."""
    start, at = _place(value, draw), _place(value, draw)
    rest = value[:start] + value[start + 1 :]
    return rest[:at] + value[start : start + 1] + rest[at:]


def _list(value: list[Any], schema: Schema, pool: Sequence[Any], draw: random.Random) -> list[Any]:
    ways = [_without(value, draw), _with_again(value, draw), _swapped(value, draw), _in_order(value)]
    place = _place(value, draw)
    parts = [_changed(each, schema.get("items", {}), pool, draw) for each in value[place : place + 1]]
    inner = [*value[:place], *parts, *value[place + 1 :]]
    return list(draw.choice([*ways, inner, inner, inner]))


def _in_order(value: list[Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return value[::-1]


def _scalars(value: Any) -> list[Any]:
    """All that is neither list nor object in it."""
    if isinstance(value, dict):
        return [each for part in value.values() for each in _scalars(part)]
    if isinstance(value, list):
        return [each for part in value for each in _scalars(part)]
    return [value]
