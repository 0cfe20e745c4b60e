"""What blind tests ask, in one line each: short, visible, and no orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.toolsmith.cross_check import MAX_LINE, BlindResult, BlindResults, results_of_suite, usable
from alita_mcp.values import Check, Draft, Example
from alita_mcp.verification.agreement import Row
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.comparison import cut_pair

CODE = 'def pick(text: str, at: int = 0) -> list[str]:\n    """Picks a word."""\n    return []\n'
DRAFT = Draft(name="pick", description="Picks a word.", code=CODE, examples=())
CONTRACT = read_contract(CODE, "pick", DRAFT.description)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def heard(writer: int, arguments: dict[str, Any], word: str, got: Any, **wanted: Any) -> BlindResult:
    """A test that failed; with `word` as "holds", one that holds."""
    test = Example(arguments=arguments, **wanted)
    expected = wanted.get("raises")
    if "expected" in wanted:
        expected, got = cut_pair(wanted["expected"], got) if word.startswith("value") else (None, got)
    held = word == "holds"
    check = Check(stage="examples", passed=held, message="example 1", expected=expected, got=got)
    return BlindResult(writer, test, check, "value 1" if held else word)


EMPTY = {"text": "", "at": 0}
CASES: list[tuple[Sequence[BlindResult], str]] = [
    (
        [heard(writer, {"text": ""}, "value []", [], raises="ValueError") for writer in range(3)],
        'for `""`: tests of 3 writers expect ValueError; yours returns `[]`',
    ),
    (
        [heard(0, EMPTY, "error ZeroDivisionError", "raised ZeroDivisionError: do x", expected=None)],
        'for `text="", at=0`: tests of 1 writer expect `null`; yours raises ZeroDivisionError',
    ),
    (
        [heard(0, EMPTY, "raises LookupError KeyError", "", expected=None)],
        'for `text="", at=0`: tests of 1 writer expect `null`; yours raises LookupError',
    ),
    (
        [heard(0, {}, "value 3", 3, check="len(result) == 4 and result[0] == 'x'")],
        "for a call without arguments: tests of 1 writer expect `len(result) == 4 and resu…`; yours returns `3`",
    ),
    (
        [
            heard(0, {"at": 1}, "value 5", 5, expected=3),
            heard(1, {"at": 1}, "value 5", 5, expected=4),
            heard(2, {"at": 1}, "value 5", 5, expected=4),
            heard(3, {"at": 1}, "holds", 5, expected=5),
        ],
        "for `1`: tests of 2 writers expect `4`; yours returns `5`",
    ),
    (
        [heard(0, {"at": 1}, "crashed", "the process died", expected=3)],
        "for `1`: tests of 1 writer expect `3`; yours ends as 'crashed'",
    ),
    (
        [heard(0, {"at": 1}, "wrong", [7], check="result")],
        "for `1`: tests of 1 writer expect `result`; yours returns `[7]`",
    ),
    (
        [heard(0, {"text": "a\u202e\n`b"}, "value 1", 1, expected="x" * 40 + "y")],
        "for `\"a\ufffd\\n'b\"`: tests of 1 writer expect `\"xxxxxxxxxxxxxxxxxxxxxxxxx…`; yours returns `1`",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "line"), CASES, ids=[line for _, line in CASES])
def test_a_contradiction_is_told_in_one_line(call: Sequence[BlindResult], line: str) -> None:
    assert BlindResults(tuple(call), 1).questions() == (line,)


def test_at_most_five_calls_are_asked_about_and_those_of_most_writers_first() -> None:
    many = [
        heard(writer, {"at": at}, "value 5", 5, expected=6) for at in range(8) for writer in range(1 + at % 3)
    ]
    lines = BlindResults((*many, heard(0, {"at": 9}, "holds", 5, expected=5)), 3).questions()
    assert [line.partition(":")[0] for line in lines] == [
        "for `2`",
        "for `5`",
        "for `1`",
        "for `4`",
        "for `7`",
    ]


@pytest.mark.slow
@given(st.lists(st.tuples(st.dictionaries(st.text(), JSON, max_size=3), JSON, JSON), max_size=6))
def test_whatever_the_values_a_question_is_one_short_visible_line(cases: list[tuple[Any, Any, Any]]) -> None:
    found = [heard(0, arguments, "value x", got, expected=expected) for arguments, expected, got in cases]
    for line in BlindResults(tuple(found), 1).questions():
        assert len(line) <= MAX_LINE
        assert line.isprintable()


UNUSABLE: dict[str, dict[str, Any]] = {
    "a megabyte": {"arguments": {"text": "a" * (1 << 20)}, "expected": []},
    "another result": {"arguments": {"text": "a"}, "expected": 7},
    "no argument of it": {"arguments": {"words": "a"}, "expected": []},
    "no expression": {"arguments": {"text": "a"}, "check": "result =="},
    "not about the result": {"arguments": {"text": "a"}, "check": "open('/etc/passwd')"},
}


def test_a_writer_that_contradicts_itself_says_nothing_of_that_call() -> None:
    def test(at: int, **wanted: Any) -> Example:
        return Example(arguments={"text": "a", "at": at}, **wanted)

    whole = [
        test(1, expected=[]),
        test(1, check="not result"),
        test(3, check="result"),
        test(3, check="not result"),
    ]
    torn = [test(2, expected=["a"]), test(2, raises="ValueError")]
    assert usable([*whole, *torn], DRAFT, CONTRACT) == tuple(whole)


def test_what_was_not_run_or_cannot_be_judged_is_not_heard() -> None:
    test = Example(arguments={"text": "a"}, check="result[9]")
    held = Check(stage="examples", passed=True)
    broken = Check(stage="examples", passed=False, message="example 3: the check raised IndexError: list")
    slow = Check(stage="examples", passed=False, message="example 4: out of time")
    row = Row((held, None, broken, slow), ("value 1", "not run", "value 1", "timeout"))
    assert list(results_of_suite(0, [test] * 4, row)) == [BlindResult(0, test, held, "value 1")]


def test_most_tests_of_two_writers_refute_and_those_of_one_do_not() -> None:
    fails = [heard(0, {"at": at}, "value 5", 5, expected=6) for at in range(3)]
    holds = [heard(1, {"at": at}, "holds", 5, expected=5) for at in (7, 8)]
    alone = BlindResults((*fails, *holds), 2)
    assert not alone.is_refuted
    assert alone.trustworthy_tests == tuple(each.test for each in holds), (
        "one writer's suite holds as a whole"
    )
    both = BlindResults((*fails, *holds, heard(1, {"at": 9}, "value 5", 5, expected=6)), 2)
    assert both.is_refuted
    assert both.trustworthy_tests == ()
    assert both.agreement().dropped == (0, 1, 2, 5)


def test_a_call_that_is_in_question_is_no_example_unless_two_uphold_it() -> None:
    doubted = heard(0, {"at": 1}, "value 5", 5, expected=6)
    one = heard(1, {"at": 1}, "holds", 5, expected=5)
    assert BlindResults((doubted, one), 2).trustworthy_tests == ()
    two = heard(2, {"at": 1}, "holds", 5, check="result == 5")
    assert BlindResults((doubted, one, two), 3).trustworthy_tests == (one.test, two.test)
