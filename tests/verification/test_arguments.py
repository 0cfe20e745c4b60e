"""Arguments and results against schemas: every problem named, with its place, in few words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from alita_mcp.errors import InvalidArguments
from alita_mcp.values import Schema
from alita_mcp.verification.json_schema import validate_arguments, validate_result, wrap_result
from tests.verification.test_comparison import JSON_VALUES

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
        ({"text": None}, "text: null is not a string"),
        ({"text": "a", "count": 1.5}, "count: 1.5 is not an integer"),
        ({"text": "a", "count": "1,5"}, "count: '1,5' is not an integer"),
        ({"text": "a", "count": "true"}, "count: 'true' is not an integer"),
        ({"text": "a", "ratio": "1e999"}, "ratio: inf is not a number"),
        ({"text": "a", "rows": '{"id": 1}'}, "rows: '{\"id\": 1}' is not an array"),
        (
            {"text": "a", "rows": "1, 2"},
            "rows: '1, 2' is not an array, nor the text of one: Extra data: line 1 column 2 (char 1)",
        ),
        ({"text": "a", "rows": [None]}, "rows[0]: null is not an object"),
        ({"text": "a", "count": True}, "count: true is not an integer"),
        ({"text": "a", "ratio": False}, "ratio: false is not a number"),
        ({"text": "a", "ratio": float("nan")}, "ratio: nan is not a number"),
        ({"text": "a", "ratio": float("inf")}, "ratio: inf is not a number"),
        ({"text": "a", "mode": "slow"}, 'mode: \'slow\' is not one of ["fast", "exact"]'),
        ({"text": "a", "rows": {}}, "rows: {} is not an array"),
        ({"text": "a", "rows": [{"id": 1}, {"id": "x"}]}, "rows[1].id: 'x' is not an integer"),
        ({"text": "a", "rows": [{}]}, "rows[0]: 'id' is missing"),
        ({"text": "a", "cuont": 1}, "there is no 'cuont' (did you mean 'count'?)"),
        ({"text": "a", "zzz": 1}, "there is no 'zzz', only text, count, ratio, mode, rows"),
    ],
)
def test_each_problem_is_named_with_its_place(arguments: dict[str, Any], message: str) -> None:
    assert problems(arguments) == f"{message}."


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"rows": ' [{"id": "7"}] '}, {"rows": [{"id": 7}]}),
        ({"rows": ['{"id": 7.0}']}, {"rows": [{"id": 7}]}),
        ({"count": "-2", "ratio": "2.5"}, {"count": -2, "ratio": 2.5}),
        ({"count": None, "ratio": None, "mode": None, "rows": None}, {}),
        ({"rows": " ", "count": "", "ratio": "null"}, {}),
        ({"count": "1", "rows": [{"id": 1, "more": None}]}, {"count": 1, "rows": [{"id": 1, "more": None}]}),
    ],
)
def test_arguments_are_taken_as_they_can_only_be_meant(sent: dict[str, Any], meant: dict[str, Any]) -> None:
    for text in ("[1]", "2", "null", ""):
        assert validate_arguments(SCHEMA, {"text": text, **sent}) == {"text": text, **meant}


def test_five_problems_are_listed_and_the_rest_is_only_mentioned() -> None:
    message = problems({"rows": ["x"] * 1_000, "text": 1, "count": "x"})
    assert message.count(";") == 5
    assert message.endswith("; and more.")


def test_a_tool_without_parameters_takes_none() -> None:
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    validate_arguments(empty, {})
    assert problems({"a": 1}, empty) == "there is no 'a'."


@pytest.mark.slow
def test_messages_stay_short_whatever_is_sent() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    for value in ("x" * 1_000_000, list(range(100_000)), deep, 10**6_000, {"k" * 10_000: 1}):
        assert len(problems({"text": "a", "mode": value, "k" * 10_000: value})) < 1_000


def test_results_are_checked_as_they_are_delivered() -> None:
    wrapped = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    assert validate_result(wrapped, wrap_result(5, wraps_result=True)) is None
    assert validate_result(wrapped, wrap_result(5.0, wraps_result=True)) is None
    assert validate_result(wrapped, wrap_result(5.5, wraps_result=True)) == "result: 5.5 is not an integer"
    assert validate_result(wrapped, wrap_result(None, wraps_result=True)) is not None
    assert validate_result(wrapped, wrap_result({"result": 5}, wraps_result=False)) is None
    assert validate_result(wrapped, wrap_result([1], wraps_result=False)) == "[1] is not an object"


def test_bounds_stand_in_the_message() -> None:
    bounded = {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 20},
            "v": {"type": "integer", "minimum": 1},
            "s": {"type": "string", "minLength": 1, "maxLength": 3},
        },
    }
    validate_arguments(bounded, {"n": 20, "v": 10**50, "s": "abc"})
    assert problems({"n": 21, "v": 0, "s": ""}, bounded) == (
        "n: 21 is not an integer from 1 to 20; s: '' is not a string of 1 to 3 characters; "
        "v: 0 is not an integer from 1."
    )


def test_a_schema_that_no_tool_can_have_is_an_error_of_ours() -> None:
    with pytest.raises(ValueError, match="anyOf"):
        validate_result({"anyOf": [{"type": "string"}]}, "a")


NODES: st.SearchStrategy[Schema] = st.recursive(
    st.sampled_from([
        {}, {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
        {"type": "string", "enum": ["a", "b"]}, {"type": "integer", "minimum": 0, "maximum": 3},
    ]),
    lambda inner: (
        inner.map(lambda node: {"type": "array", "items": node})
        | inner.map(lambda node: {"type": "object", "additionalProperties": node})
        | st.builds(
            lambda nodes, needed: {"type": "object", "properties": nodes, "required": needed},
            st.dictionaries(st.sampled_from("abc"), inner),
            st.lists(st.sampled_from("abc"), unique=True).map(sorted),
        )
    ),
    max_leaves=6,
)  # fmt: skip


def near(node: Schema) -> st.SearchStrategy[Any]:
    """Values that mostly fit."""
    names = st.sampled_from("abcd")
    match node:
        case {"enum": values}:
            return st.sampled_from([*values, "c"])
        case {"type": "array", "items": items}:
            return st.lists(near(items), max_size=3)
        case {"additionalProperties": more}:
            return st.dictionaries(names, near(more), max_size=3)
        case {"properties": nodes}:
            fixed = {name: near(each) for name, each in nodes.items()}
            return st.fixed_dictionaries({}, optional=fixed) | st.fixed_dictionaries(fixed)
        case {"type": "integer"}:
            return st.integers(-1, 4) | st.sampled_from([2.0, 2.5, 10**30, True])
        case {"type": "number"}:
            return st.floats(allow_nan=False, allow_infinity=False) | st.integers()
    return JSON_VALUES


@given(NODES, st.data())
def test_what_fits_is_what_fits_json_schema(node: Schema, data: st.DataObject) -> None:
    value = data.draw(JSON_VALUES | near(node))
    if "Infinity" not in json.dumps(value):  # which JSON Schema knows nothing of
        assert (validate_result(node, value) is None) == Draft202012Validator(node).is_valid(value)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other"]), JSON_VALUES))
def test_any_arguments_pass_or_are_refused_in_words(arguments: dict[str, Any]) -> None:
    before = json.dumps(arguments)
    try:
        validate_arguments(SCHEMA, arguments)
    except InvalidArguments as refused:
        assert 0 < len(refused.message) < 2_000  # noqa: PT017
    assert json.dumps(arguments) == before
