"""Program that draws arguments from an input schema with Hypothesis.

A program of its own, run as a plain file: hypothesis keeps global state, seeds the process's random numbers, reads
the source of what is imported and writes to the working directory. One JSON line comes in, what to draw from; each
input goes out as one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

ALPHABET = "abcxyzABZ0123456789 .,;:-_+*/=()[]{}<>\"'#@%&!?\n\téßñ中\U0001f600"
MAX_TEXT = 24
MAX_ITEMS = 8
"""In a list; fewer where there are many parameters, because drawing takes its time for each item."""
MAX_KEYS = 4
MAX_SHOWN_ITEMS = 30
"""Lists are no longer than this, however long those in the examples are."""
DEFAULT_SIZE = 100
"""Numbers stay below this, or below twice the largest in the examples: a loop over 2**53 would prove nothing."""
MAX_SIZE = 2**53


class Shown:
    """Values that the examples have at each path of the schema."""

    def __init__(self, examples: list[dict[str, Any]], parameters: int) -> None:
        self.most_items = max(MAX_ITEMS // max(parameters // 3, 1), 2)
        self._scalars: dict[str, list[Any]] = {}
        self._lengths: dict[str, int] = {}
        for example in examples:
            self._collect("", example)

    def scalars(self, path: str, kind: type | tuple[type, ...]) -> list[Any]:
        """Each scalar of that kind once."""
        found = [value for value in self._scalars.get(path, []) if isinstance(value, kind)]
        return list({json.dumps(value): value for value in found}.values())

    def length(self, path: str) -> int:
        """Length of the longest list at a path."""
        return self._lengths.get(path, 0)

    def _collect(self, path: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, part in value.items():
                self._collect(f"{path}.{name}", part)
                self._collect(f"{path}.*", part)
        elif isinstance(value, list):
            self._lengths[path] = max(self.length(path), len(value))
            for part in value:
                self._collect(f"{path}[]", part)
        else:
            self._scalars.setdefault(path, []).append(value)


def arguments(schema: dict[str, Any], examples: list[dict[str, Any]]) -> SearchStrategy[dict[str, Any]]:
    """Strategy for arguments of a schema: new ones, and those of an example with one changed."""
    fresh = _values(schema, "", Shown(examples, len(schema["properties"])))
    known = [example for example in examples if example]
    if not known or len(schema["properties"]) < 2:
        return fresh

    def with_one_new(base: dict[str, Any], other: dict[str, Any], place: int) -> dict[str, Any]:
        name = sorted(schema["properties"])[place % len(schema["properties"])]
        kept = {key: value for key, value in base.items() if key != name}
        return kept | ({name: other[name]} if name in other else {})

    needed = set(schema.get("required", ()))
    varied = st.builds(with_one_new, st.sampled_from(known), fresh, st.integers(0, 19))
    return st.one_of(fresh, varied.filter(lambda drawn: needed <= drawn.keys()))


def _values(schema: dict[str, Any], path: str, shown: Shown) -> SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "boolean":
            return st.booleans()
        case "integer":
            known = shown.scalars(path, int)
            size = _size(known)
            drawn = st.one_of(st.integers(-10, 10), st.integers(-size, size))
            return st.one_of(drawn, st.sampled_from(known)) if known else drawn
        case "number":
            return _numbers(shown.scalars(path, (int, float)))
        case "string":
            return _texts(shown.scalars(path, str))
        case "array":
            longest = min(max(shown.most_items, shown.length(path)), MAX_SHOWN_ITEMS)
            return st.lists(_values(schema["items"], f"{path}[]", shown), max_size=longest)
        case "object":
            free = schema.get("additionalProperties")
            if isinstance(free, dict):
                keys = st.text(ALPHABET, min_size=1, max_size=MAX_TEXT // 2)
                most = min(MAX_KEYS, shown.most_items)
                return st.dictionaries(keys, _values(free, f"{path}.*", shown), max_size=most)
            nodes, needed = schema.get("properties", {}), set(schema.get("required", ()))
            parts = {name: _values(node, f"{path}.{name}", shown) for name, node in nodes.items()}
            return st.fixed_dictionaries(
                {name: part for name, part in parts.items() if name in needed},
                optional={name: part for name, part in parts.items() if name not in needed},
            )
    return st.none()


def _numbers(known: list[float]) -> SearchStrategy[float]:
    size = float(_size(known))
    drawn = st.one_of(
        st.integers(-10, 10).map(float), st.floats(-size, size, allow_nan=False, allow_subnormal=False)
    )
    return st.one_of(drawn, st.sampled_from(known)) if known else drawn


def _size(known: list[Any]) -> int:
    return int(min(max([DEFAULT_SIZE, *(2 * abs(value) for value in known)]), MAX_SIZE))


def _texts(known: list[str]) -> SearchStrategy[str]:
    drawn = st.text(ALPHABET, max_size=MAX_TEXT)
    if not known:
        return drawn
    cut = st.builds(lambda text, end: text[:end], st.sampled_from(known), st.integers(0, 200))
    joined = st.builds(lambda one, other: one + other, st.sampled_from(known), drawn)
    return st.one_of(drawn, st.sampled_from(known), cut, joined)


def draw(drawn_from: SearchStrategy[Any], order: dict[str, Any], each: Callable[[Any], None]) -> None:
    """Passes the inputs of a seed to `each`, the same ones each time."""

    @seed(order["seed"])
    @settings(
        max_examples=order["count"], phases=[Phase.generate], database=None, deadline=None, derandomize=False,
        verbosity=Verbosity.quiet, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(drawn_from)
    def test(value: Any) -> None:
        each(value)

    test()


def main() -> None:
    """Reads the order and writes the inputs."""
    order = json.loads(sys.stdin.readline())
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # whatever else writes to stdout does not end up between the lines
        draw(
            arguments(order["schema"], order["examples"]),
            order,
            lambda value: print(json.dumps(value), file=out, flush=True),
        )


if __name__ == "__main__":
    main()
