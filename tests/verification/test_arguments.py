"""Arguments and results against schemas: every problem named, with its place, in few words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import InvalidArguments
from alita_mcp.values import Schema
from alita_mcp.verification.arguments import delivered, validate_arguments, validate_result
from tests.verification.test_compare import JSON_VALUES

SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "mode": {"type": "string", "enum": ["fast", "exact"]},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
        },
    },
    "required": ["text"],
    "additionalProperties": False,
}


def problems(arguments: dict[str, Any], schema: Schema = SCHEMA) -> str:
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, arguments)
    return caught.value.message


def test_fitting_arguments_pass() -> None:
    validate_arguments(SCHEMA, {"text": "a"})
    validate_arguments(
        SCHEMA, {"text": "", "count": 10**400, "ratio": 1, "mode": "fast", "rows": [{"id": 1, "more": 2}]}
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "'text' is missing"),
        ({"text": 5}, "text: 5 is not a string"),
        ({"text": None}, "text: null is not a string; leave it out instead"),
        ({"text": "a", "count": 1.0}, "count: 1.0 is not an integer"),
        ({"text": "a", "count": True}, "count: true is not an integer"),
        ({"text": "a", "ratio": False}, "ratio: false is not a number"),
        ({"text": "a", "ratio": float("nan")}, "ratio: nan is not a number"),
        ({"text": "a", "ratio": float("inf")}, "ratio: inf is not a number"),
        ({"text": "a", "mode": "slow"}, 'mode: \'slow\' is not one of ["fast", "exact"]'),
        ({"text": "a", "rows": {}}, "rows: {} is not an array"),
        ({"text": "a", "rows": [{"id": 1}, {"id": "x"}]}, "rows[1].id: 'x' is not an integer"),
        ({"text": "a", "rows": [{}]}, "rows[0]: 'id' is missing"),
        ({"text": "a", "cuont": 1}, "there is no 'cuont', did you mean 'count'?"),
        ({"text": "a", "zzz": 1}, "there is no 'zzz', only text, count, ratio, mode, rows"),
    ],
)
def test_each_problem_is_named_with_its_place(arguments: dict[str, Any], message: str) -> None:
    assert problems(arguments) == f"{message}."


def test_five_problems_are_listed_and_the_rest_is_only_mentioned() -> None:
    message = problems({"rows": ["x"] * 1_000_000, "text": 1, "count": "1"})
    assert message.count(";") == 5
    assert message.endswith("; and more.")


def test_a_tool_without_parameters_takes_none() -> None:
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    validate_arguments(empty, {})
    assert problems({"a": 1}, empty) == "there is no 'a'."


def test_messages_stay_short_whatever_is_sent() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    for value in ("x" * 1_000_000, list(range(100_000)), deep, 10**6_000, {"k" * 10_000: 1}):
        assert len(problems({"text": "a", "mode": value, "k" * 10_000: value})) < 1_000


def test_results_are_checked_as_they_are_delivered() -> None:
    wrapped = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    assert validate_result(wrapped, delivered(5, wraps_result=True)) is None
    assert validate_result(wrapped, delivered(5.0, wraps_result=True)) is None
    assert validate_result(wrapped, delivered(5.5, wraps_result=True)) == "result: 5.5 is not an integer"
    assert validate_result(wrapped, delivered(None, wraps_result=True)) is not None
    assert validate_result(wrapped, delivered({"result": 5}, wraps_result=False)) is None
    assert validate_result(wrapped, delivered([1], wraps_result=False)) == "[1] is not an object"


def test_schemas_from_elsewhere_are_honoured_too() -> None:
    other = {"type": "object", "properties": {"n": {"minimum": 3}, "s": {"anyOf": [{"type": "string"}]}}}
    assert problems({"n": 2}, other) == "n: 2 does not fit minimum."
    assert "s: 1 does not fit anyOf" in problems({"s": 1}, other)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), JSON_VALUES))
def test_any_arguments_pass_or_are_refused_in_words(arguments: dict[str, Any]) -> None:
    before = json.dumps(arguments)
    try:
        validate_arguments(SCHEMA, arguments)
    except InvalidArguments as refused:
        assert 0 < len(refused.message) < 2_000  # noqa: PT017
    assert json.dumps(arguments) == before
