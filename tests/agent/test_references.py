"""Observations: what the model sees of a value, what a reference names, and what is said where it names nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alita_mcp.agent.actions.observations import (
    MAX_DEPTH,
    SHOWN_CHARACTERS,
    Observation,
    as_text,
    excerpt,
    part_of,
    resolve_references,
)
from alita_mcp.errors import InvalidArguments

VALUES: dict[str, Any] = {"o1": {"rows": [{"a/b": 1}, {"c~d": 2}]}, "o2": "text"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


def value_of(name: str) -> Any:
    if name not in VALUES:
        raise InvalidArguments(f"There is no observation {name!r}.")
    return VALUES[name]


def file_of(name: str) -> str:
    return f"content of {name}"


def shown(value: Any, room: int = SHOWN_CHARACTERS) -> str:
    view = excerpt(Observation("o3", value, as_text(value)), room)
    assert len(view) <= room
    return view


ROWS = [{"city": f"city {number}", "people": number * 1_000} for number in range(4_000)]
NUMBERED = "\n".join(f"line {number}" for number in range(5_000))


LONG = {
    "text": NUMBERED,
    "list": ROWS,
    "list in a dictionary": {"result": ROWS},
    "text in a dictionary": {"text": NUMBERED, "links": []},
    "both": {"a": NUMBERED, "rows": ROWS},
    "list in lists": [[ROWS]],
}


@pytest.mark.parametrize("kind", LONG)
def test_a_long_value_fills_the_room_with_its_head_and_tail(kind: str) -> None:
    view = shown(LONG[kind])
    assert len(view) > SHOWN_CHARACTERS * 0.8
    assert '{"$ref": "o3"}' in view
    for first, last in (("line 0", "line 4999"), ("city 0", "city 3999")):
        assert (first in view and last in view) or first not in as_text(LONG[kind])


def test_many_keys_are_cut_in_their_middle_too() -> None:
    view = shown({f"key {number}": ["x" * 300] * 50 for number in range(300)})
    assert '"key 0"' in view
    assert '"key 299"' in view


def test_a_key_that_is_too_long_to_be_named_takes_no_more_room() -> None:
    assert len(shown({"k" * 9_000: "x"})) <= SHOWN_CHARACTERS


def test_a_value_that_fits_is_whole() -> None:
    value = {"rows": list(range(600)), "text": "y" * 200}
    assert shown(value) == json.dumps(value)


def test_short_lists_stay_whole_beside_a_long_text_and_parts_are_named() -> None:
    value = {"names": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida"], "text": "y" * 9_000}
    view = shown(value)
    assert '"Ann", "Bob", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida"' in view
    assert '{"$ref": "o3/text"}' in view


def test_a_reference_anywhere_in_arguments_becomes_the_value() -> None:
    given_arguments = {
        "rows": {"$ref": "o1/rows"},
        "deep": [{"x": {"$ref": "o2"}}],
        "file": {"$file": "a.csv"},
    }
    assert resolve_references(given_arguments, value_of, file_of) == {
        "rows": VALUES["o1"]["rows"], "deep": [{"x": "text"}], "file": "content of a.csv",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "value"), [("o1/rows/0/a~1b", 1), ("o1/rows/1/c~0d", 2), ("#o2", "text"), (" o2 ", "text")]
)
def test_a_pointer_names_a_part(reference: str, value: Any) -> None:
    assert part_of(reference, value_of) == value


@pytest.mark.parametrize(
    ("reference", "words"),
    [("o9", "no observation"), ("o1/lines", "keys 'rows'"), ("o1/rows/7", "a list of 2 items"),
     ("o2/x", "of type str"), ("o1/rows/-1", "a list of 2 items"), (f"o1/rows/{'9' * 5_000}", "a list of 2 items")],
)  # fmt: skip
def test_a_reference_to_nothing_says_what_there_is(reference: str, words: str) -> None:
    with pytest.raises(InvalidArguments, match=words):
        part_of(reference, value_of)


def test_an_object_that_has_more_than_a_reference_is_data() -> None:
    data = {"$ref": "o1", "other": 1}
    assert resolve_references(data, value_of, file_of) == data


def test_arguments_nested_too_deeply_are_refused() -> None:
    deep: Any = 1
    for _ in range(MAX_DEPTH + 2):
        deep = [deep]
    with pytest.raises(InvalidArguments, match="too deeply"):
        resolve_references(deep, value_of, file_of)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(JSON)
def test_what_holds_no_reference_stays_as_it_is(value: Any) -> None:
    if "$ref" not in str(value) and "$file" not in str(value):
        assert resolve_references(value, value_of, file_of) == value
