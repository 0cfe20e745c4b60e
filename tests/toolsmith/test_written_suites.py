"""Suites that models write: a test that is none is left out, and does not end the synthesis."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from alita_mcp.toolsmith.specification import Specification, Suite

GOOD = {"arguments": {"number": 1}, "expected": 1}


@pytest.mark.parametrize(
    "check", ["True", "arguments['number'] > 0", "result ==", "(result := 5)", "1 " * 900]
)
def test_a_test_whose_check_is_no_condition_on_the_result_is_left_out(check: str) -> None:
    suite = Suite.model_validate({"tests": [{"arguments": {"number": 2}, "check": check}, GOOD]})
    assert [test.as_json() for test in suite.tests] == [GOOD]


def test_a_suite_of_nothing_else_says_why_it_cannot_be_read() -> None:
    with pytest.raises(ValidationError, match="does not look at the result"):
        Suite.model_validate({"tests": [{"arguments": {}, "check": "True"}]})


def test_a_check_of_the_result_is_kept() -> None:
    assert Suite.model_validate({"tests": [{"arguments": {}, "check": "result > 0"}]}).tests[0].check


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("def put(a: str) -> Literal[-1, 0, 1]", "def put(a: str) -> int"),
        ("def put(a: Literal[1,2 , 3,]) -> list[Literal[0]]", "def put(a: int) -> list[int]"),
        ("def put(a: Literal['-1', '0']) -> str", "def put(a: Literal['-1', '0']) -> str"),
    ],
)
def test_a_literal_of_whole_numbers_is_read_as_an_integer(written: str, read: str) -> None:
    specification = Specification(name="put", description="Does it.", signature=written)
    assert specification.signature == read
