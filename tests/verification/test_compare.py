"""When are two results the same?"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.verification.compare import same_result

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (1, 1.0),
        (0.1 + 0.2, 0.3),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
        (None, None),
        (1e300, 1e300),
    ],
)
def test_same_results(expected: Any, got: Any) -> None:
    assert same_result(expected, got)
    assert same_result(got, expected)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (True, 1),
        (False, 0),
        (0, False),
        ("1", 1),
        (None, 0),
        (None, False),
        ([], {}),
        ([1], [1, 1]),
        ("", None),
        ({"a": 1}, {"a": 1, "b": 1}),
        ({"a": None}, {}),
        (1.0, 1.0 + 1e-8),
        (0.0, 1e-12),
        (10**400, 1.5),
        (10**20, 10**20 + 1),
        ([[1]], [["1"]]),
        (float("nan"), float("nan")),
    ],
)
def test_different_results(expected: Any, got: Any) -> None:
    assert not same_result(expected, got)
    assert not same_result(got, expected)


def test_exact_means_exact() -> None:
    assert same_result(0.3, 0.1 + 0.2)
    assert not same_result([0.3], [0.1 + 0.2], exact=True)
    assert not same_result({"a": 0.3}, {"a": 0.1 + 0.2}, exact=True)
    assert same_result(1, 1.0, exact=True)


@given(JSON_VALUES)
def test_every_value_is_the_same_as_its_copy_even_exactly(value: Any) -> None:
    assert same_result(value, copy.deepcopy(value), exact=True)


@given(JSON_VALUES, JSON_VALUES)
def test_the_order_does_not_matter_and_exact_is_stricter(one: Any, other: Any) -> None:
    assert same_result(one, other) == same_result(other, one)
    if same_result(one, other, exact=True):
        assert same_result(one, other)


@given(JSON_VALUES, JSON_VALUES)
def test_a_difference_deep_inside_is_seen(one: Any, other: Any) -> None:
    assert same_result({"k": [one, one]}, {"k": [one, other]}) == same_result(one, other)
