"""Two values around their first difference: unlike values never look alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.verification.comparison import cut_pair, difference
from tests.verification.test_compare import JSON_VALUES

LONG = "the same words " * 1_000
WIDTHS = st.integers(min_value=24, max_value=200)


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(JSON_VALUES, JSON_VALUES, st.sampled_from(["", LONG, "\u200b" * 300]), WIDTHS)
def test_unlike_values_are_shown_unlike(one: Any, other: Any, around: str, width: int) -> None:
    pair = ({"a": around, "b": [one], "c": around}, {"a": around, "b": [other], "c": around})
    found = difference(*pair, width)
    assert (found.expected == found.got) == (text(one) == text(other))
    assert max(len(found.expected), len(found.got)) <= width + 2
    cut = cut_pair(*pair)
    assert (text(cut[0]) == text(cut[1])) == (text(one) == text(other))
    assert len(text(cut)) < 30_000


@pytest.mark.parametrize(
    ("expected", "got", "where"),
    [
        (1, 2, ""),
        ("abc", "abd", ""),
        ("a" * 99 + "b", "a" * 99 + "c", "character 100"),
        ([{"name": "a"}, {"name": "ab"}], [{"name": "a"}, {"name": "ac"}], "result[1].name"),
        ([["a" * 99 + "b"]], [["a" * 99 + "c"]], "result[0][0], character 100"),
        ([1, 2], [1, 2, 3], "result[2]"),
        ({"a": 1}, {"a": 1, "b": 2}, "result.b"),
        ({"a b": [0]}, {"a b": [1]}, 'result["a b"][0]'),
        ([0.1, 5], [0.1 + 1e-14, 6], "result[1]"),
        ([0.1, 5], [0.1 + 1e-14, 5], "result[0]"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
        ([True], [1], "result[0]"),
        ({"k" * 99: 1}, {"k" * 99: 2}, "…" + "k" * 59),
    ],
    ids=str,
)
def test_the_place_is_named(expected: Any, got: Any, where: str) -> None:
    assert difference(expected, got, 80).where == where


def test_numbers_within_the_tolerance_do_not_hide_what_differs() -> None:
    one, other = [0.1] * 500, [0.1 + 1e-14] * 500
    found = difference([*one, "expected"], [*other, "got"], 60)
    assert found.where == "result[500]"
    assert '"expected"]' in found.expected
    assert '"got"]' in found.got


def test_large_values_are_cut_around_their_difference_and_small_ones_stay() -> None:
    assert cut_pair([1], {"a": 2}) == ([1], {"a": 2})
    rows = [{"name": f"row {number}"} for number in range(1_000)]
    other = [*rows[:700], {"name": "another"}, *rows[701:]]
    expected, got = cut_pair(rows, other)
    assert expected.startswith("at result[700].name: …")
    assert '{"name": "row 700"}' in expected
    assert '{"name": "another"}' in got
    assert got.endswith(f" ({len(json.dumps(other))} characters)")
    assert cut_pair(rows, None)[1] is None
