"""Equality of results and errors, and the first difference between two values."""

from __future__ import annotations

import asyncio
import base64
import binascii
import builtins
import csv
import decimal
import json
import multiprocessing
import pickle
import queue
import re
import sqlite3
import urllib.error
import zoneinfo
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.runner.tool.failures import kinds_of
from alita_mcp.verification.comparison import cut_pair, difference, matches_error, same_result

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


@given(JSON_VALUES, JSON_VALUES)
def test_a_difference_deep_inside_is_seen(one: Any, other: Any) -> None:
    assert same_result({"k": [one, one]}, {"k": [one, other]}) == same_result(one, other)


BUILTINS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
FROM_MODULES: dict[str, type[BaseException]] = {
    "json.JSONDecodeError": json.JSONDecodeError, "json.decoder.JSONDecodeError": json.JSONDecodeError,
    "csv.Error": csv.Error, "binascii.Error": binascii.Error, "base64.binascii.Error": base64.binascii.Error,
    "decimal.InvalidOperation": decimal.InvalidOperation, "re.error": re.error, "queue.Empty": queue.Empty,
    "sqlite3.OperationalError": sqlite3.OperationalError, "urllib.error.URLError": urllib.error.URLError,
    "urllib.error.HTTPError": urllib.error.HTTPError, "pickle.UnpicklingError": pickle.UnpicklingError,
    "zoneinfo.ZoneInfoNotFoundError": zoneinfo.ZoneInfoNotFoundError, "asyncio.TimeoutError": asyncio.TimeoutError,
    "asyncio.IncompleteReadError": asyncio.IncompleteReadError, "decimal.DivisionByZero": decimal.DivisionByZero,
    "multiprocessing.AuthenticationError": multiprocessing.AuthenticationError, "sqlite3.Error": sqlite3.Error,
}  # fmt: skip


def call_that_raised(kind: type[BaseException]) -> RunResult:
    return RunResult(status="error", error_type=kind.__name__, error_kinds=tuple(kinds_of(kind)))


def pytest_accepts(wanted: type[BaseException], kind: type[BaseException]) -> bool:
    one = OSError() if issubclass(kind, Exception) else KeyboardInterrupt()
    words = ("several", [one]) if issubclass(kind, BaseExceptionGroup) else ()
    return pytest.RaisesExc(wanted).matches(kind.__new__(kind, *words))


@pytest.mark.parametrize("wanted", BUILTINS | FROM_MODULES)
def test_the_judge_agrees_with_pytest_about_every_error_asked_for_and_every_error_raised(wanted: str) -> None:
    asked = (BUILTINS | FROM_MODULES)[wanted]
    for kind in {*BUILTINS.values(), *FROM_MODULES.values()}:
        assert matches_error(wanted, call_that_raised(kind)) == pytest_accepts(asked, kind), kind


def test_where_no_class_was_seen_the_name_of_a_builtin_stands_for_its_class() -> None:
    for wanted, name in product(BUILTINS, {kind.__name__ for kind in BUILTINS.values()}):
        told = RunResult(status="error", error_type=name)
        assert matches_error(wanted, told) == issubclass(BUILTINS[name], BUILTINS[wanted])


@pytest.mark.parametrize(
    ("wanted", "kinds", "is_met"),
    [
        ("Late", ("tool.Late", "builtins.Exception"), True),
        ("tool.Late", ("tool.Late",), True),
        ("my_tool.Late", ("tool.Late",), True),
        ("json.Late", ("tool.Late",), False),
        ("Outer.Late", ("tool.Outer.Late",), True),
        ("tool.Late", ("Late", "builtins.Exception"), False),
        ("ValueError", ("tool.ValueError", "builtins.Exception"), False),
        ("tool.ValueError", ("tool.ValueError", "builtins.Exception"), True),
        ("ConnectionError", ("requests.exceptions.ConnectionError", "builtins.OSError"), False),
        ("requests.ConnectionError", ("requests.exceptions.ConnectionError", "builtins.OSError"), True),
        ("requests.ConnectionError", ("builtins.ConnectionError", "builtins.OSError"), False),
        ("pydantic.ValidationError", ("pydantic_core._pydantic_core.ValidationError",), True),
        ("tool.JSONDecodeError", ("json.decoder.JSONDecodeError",), False),
        ("tool.JSONDecodeError", ("json.decoder.JSONDecodeError", "tool.JSONDecodeError"), True),
        ("tool.Late", ("tool.Outer.Late",), False),
        ("json.JSONDecodeError", ("simplejson.errors.JSONDecodeError",), False),
        ("simplejson.JSONDecodeError", ("json.decoder.JSONDecodeError",), False),
        ("re.error", ("re.PatternError", "re.error", "builtins.Exception"), True),
        ("Exception", ("builtins.SystemExit", "builtins.BaseException"), False),
        ("Late", (), False),
    ],
)
def test_errors_that_are_no_builtins_are_known_by_their_names(
    wanted: str, kinds: tuple[str, ...], is_met: bool
) -> None:
    assert matches_error(wanted, RunResult(status="error", error_kinds=kinds)) == is_met


def test_only_a_call_that_raised_has_raised() -> None:
    assert not matches_error("ValueError", RunResult(status="load_failed", error_type="ValueError"))
    assert not matches_error("MemoryError", RunResult(status="memory", error_type="MemoryError"))


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
