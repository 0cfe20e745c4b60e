"""What the program that draws inputs draws from: small values near those of the examples, all of which fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase

from alita_mcp.values import Schema
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.properties.input_program import (
    MAX_SHOWN_ITEMS,
    MAX_SIZE,
    MAX_TEXT,
    arguments,
    draw,
)

RECORD: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "number"}},
    "required": ["name"],
}
SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "text": {"type": "string"},
        "kind": {"type": "string", "enum": ["one", "two"]},
        "sure": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "integer"}},
        "free": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        "record": RECORD,
    },
    "required": ["count", "text"],
    "additionalProperties": False,
}


def drawn(schema: Schema, examples: list[dict[str, Any]], seed: int = 7, count: int = 200) -> list[Any]:
    found: list[Any] = []
    draw(arguments(schema, examples), {"seed": seed, "count": count}, found.append, Phase.generate)
    return found


def test_all_that_is_drawn_fits_and_every_part_of_the_schema_is_met() -> None:
    inputs = drawn(SCHEMA, [{"count": 3, "text": "a, b", "record": {"name": "x"}}])
    for each in inputs:
        validate_arguments(SCHEMA, each)
    assert {name for each in inputs for name in each} == set(SCHEMA["properties"])
    assert {each["kind"] for each in inputs if "kind" in each} == {"one", "two"}
    assert any("size" in each.get("record", {}) for each in inputs)
    assert any(each.get("free") for each in inputs)


@pytest.mark.slow
def test_the_seed_decides_what_is_drawn() -> None:
    assert drawn(SCHEMA, []) == drawn(SCHEMA, [])
    assert drawn(SCHEMA, []) != drawn(SCHEMA, [], seed=8)


@pytest.mark.slow
def test_sizes_stay_near_what_was_shown() -> None:
    inputs = drawn(SCHEMA, [{"count": 400, "text": "y" * 5, "items": [1] * 90}])
    assert max(abs(each["count"]) for each in inputs) <= 800
    assert max(abs(each["count"]) for each in inputs) > 100
    assert max(len(each["items"]) for each in inputs if "items" in each and each["items"] != [1] * 90) <= 30
    assert all(len(each["text"]) <= 5 + MAX_TEXT for each in inputs)
    assert MAX_SHOWN_ITEMS == 30
    plain = drawn(SCHEMA, [])
    assert max(abs(each["count"]) for each in plain) <= 100
    huge = drawn(SCHEMA, [{"count": 10**40, "text": "", "share": 1e300}])
    assert all(abs(each["count"]) <= MAX_SIZE or each["count"] == 10**40 for each in huge)


def test_half_of_them_are_examples_with_one_argument_new() -> None:
    example = {"count": 12_345, "text": "a rare text", "kind": "two", "sure": True, "items": [9, 9, 9]}
    inputs = drawn(SCHEMA, [example])
    near = [each for each in inputs if sum(each.get(name) == value for name, value in example.items()) >= 4]
    assert len(near) > len(inputs) / 5


@pytest.mark.parametrize("nothing", [{"type": "object", "properties": {}}])
def test_a_schema_without_parameters_has_one_input(nothing: Schema) -> None:
    assert {str(each) for each in drawn(nothing, [{}])} == {"{}"}
