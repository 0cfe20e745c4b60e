"""Inputs that are made of known ones and of what stands in the code of the compared tools."""

from __future__ import annotations

import json
from typing import Any

from alita_mcp.verification.generated_inputs import (
    MAX_NUMBER,
    MAX_TEXT,
    constants_apart,
    constants_in,
    dictionary_inputs,
    mutate_inputs,
)
from alita_mcp.verification.json_schema import validate_arguments

ALL_KINDS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["up", "down"]},
        "text": {"type": "string"},
        "part": {"type": "string"},
        "count": {"type": "integer"},
        "other": {"type": "integer"},
        "share": {"type": "number"},
        "loud": {"type": "boolean"},
        "rows": {"type": "array", "items": {"type": "integer"}},
        "more": {"type": "array", "items": {"type": "string"}},
        "deep": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        },
        "by": {"type": "object", "additionalProperties": {"type": "integer"}},
        "point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    },
    "required": ["text", "rows"],
}


def test_constants_are_the_texts_and_numbers_of_the_code_and_no_messages_or_docstrings() -> None:
    code = (
        '"""Module."""\ndef f(x):\n    """Does it."""\n    if x in ("-", "AEIOU") and x != 1000 and x is not True:\n'
        f'        raise ValueError({"long " * 20!r})\n    return 2.5, 10**9, {10**12}, b"x", "", 1e999\n'
        "    return '\\ud800', 1000\n"
    )
    assert sorted(constants_in(code), key=str) == ["-", 10, 1000, 2.5, 9, "AEIOU"]
    assert constants_in("def (", "x\x00", "(" * 100_000, code) == constants_in(code)


def test_inputs_fit_the_schema_are_bounded_and_the_same_each_time() -> None:
    constants = ["-", "x" * 40, "[", "]", "AEIOU", 1000, 2.5]
    made = dictionary_inputs(ALL_KINDS, constants, 4, 200)
    assert made == dictionary_inputs(ALL_KINDS, constants, 4, 200)
    assert made != dictionary_inputs(ALL_KINDS, constants, 5, 200)
    for each in made:
        validate_arguments(ALL_KINDS, each)
        assert len(json.dumps(each)) < 40_000
        assert len(each["text"]) <= 2 * MAX_TEXT
        assert all(abs(number) <= MAX_NUMBER + 1 for number in each["rows"])
    assert {"loud", "deep", "by"} <= {name for each in made for name in each}
    assert any("deep" not in each for each in made), "what may be left out is left out now and then"


def test_constants_of_one_program_alone_tell_the_two_apart() -> None:
    assert constants_apart("x = 1, 'a', 7", "x = 1, 'a', 8") == [7, 8]
    assert constants_apart("x = 1", "y = 1") == [1]


def test_mutated_inputs_keep_the_types_and_the_choices() -> None:
    known = {"mode": "up", "text": "abc", "share": 0.5, "loud": True, "rows": [3, 1, 2], "by": {"a": 1}}
    found = mutate_inputs(ALL_KINDS, [known, {}], 1, 60)
    assert len(found) == 60
    assert known not in found
    for each in found:
        assert each["mode"] in ("up", "down")
        assert {name: type(part) for name, part in each.items()} == {
            name: type(part) for name, part in known.items()
        }
        assert all(type(part) is int for part in (*each["rows"], *each["by"].values()))
    assert found == mutate_inputs(ALL_KINDS, [known, {}], 1, 60)
