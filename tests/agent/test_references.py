"""Values passed on by name: what a reference names, and what is said where it names nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alita_mcp.agent.actions.observations import MAX_DEPTH, part_of, resolve_references
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
     ("o2/x", "of type str"), ("o1/rows/-1", "a list of 2 items")],
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
