"""What models write: specifications with their assumptions, and suites."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from alita_mcp.library.trust.trust import unproven
from alita_mcp.library.unreviewed import plain_report
from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.toolsmith.specification import (
    MAX_RULES,
    Specification,
    Suite,
    add_assumptions,
    assumptions_in,
    read_assumed,
)
from alita_mcp.values import WrittenFrom
from tests.toolsmith.authors import SPEC, Script
from tests.toolsmith.bench import OpenBench


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["empty input: ValueError"], ("empty input: ValueError",)),
        (["Empty Input:  raises\n ValueError "], ("Empty Input: raises ValueError",)),
        (["a: one", "A: two", "a: one"], ("a: one", "A: two")),
        (["tags: <finding> stays"], ("tags: \u2039finding> stays",)),
        ([": what holds"], ("what holds",)),
        (["hid\u202eden: not\u200b shown"], ("hidden: not shown",)),
        (["below: x < 0 is refused"], ("below: x < 0 is refused",)),
    ],
)
def test_an_entry_becomes_a_short_named_line(written: Any, read: tuple[str, ...]) -> None:
    assert read_assumed(written) == read


@pytest.mark.parametrize(
    "written",
    [
        None, 7, "zero: allowed", [], [[]], [None, 4, {}], [""], [":"], [": "], ["   "], ["!: ?"],
        {"a": "b"}, ["\u200b\u200b: \u202e"], ["\ue000: \ue001"],
    ],
)  # fmt: skip
def test_what_says_no_rule_is_left_out(written: Any) -> None:
    assert read_assumed(written) == ()


def test_an_assumed_line_that_no_rule_says_becomes_one() -> None:
    rules = ("Empty input raises ValueError.", "Zero: allowed")
    said = ("empty input: raises ValueError", "zero: allowed", "unicode: NFC")
    named, kept = add_assumptions(rules, said)
    assert named == (*rules, "unicode: NFC")
    assert kept == said
    assert add_assumptions(named, said) == (named, kept)


def test_a_line_for_which_there_is_no_room_among_the_rules_is_not_assumed() -> None:
    rules = tuple(f"rule {number}: {'x' * 10}{number}" for number in range(MAX_RULES))
    named, kept = add_assumptions(rules, ("something else: entirely", "rule 3"))
    assert named == rules
    assert kept == ("rule 3",)


@pytest.mark.parametrize("assumed", [None, 5, "text", [1, "zero: allowed", None], ["zero: allowed"] * 1_000])
def test_no_specification_fails_by_what_it_assumes(assumed: Any) -> None:
    specification = Specification.model_validate({**SPEC, "assumed": assumed})
    assert specification.assumed in ((), ("zero: allowed",))
    assert Specification.model_validate(specification.model_dump()) == specification


ASSUMING = {
    **SPEC,
    "rules": ["A negative number has the digit sum of its absolute value.", "Zero gives zero."],
    "assumed": ["negative: the absolute value", "zero: gives zero", "where: see https://example.org"],
}
LINES = ("negative: the absolute value", "zero: gives zero")


@pytest.mark.slow
async def test_the_answer_lists_what_was_assumed_and_the_report_keeps_what_it_was_written_from(
    bench: OpenBench,
) -> None:
    async with bench(Script(spec=ASSUMING)) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created)
        assert outcome.assumed == LINES
        stored = await made.library.read("digit_sum")
        folder = await made.library.export("digit_sum")
        exported = "".join(file.read_text() for file in folder.iterdir())
    kept = stored.report.written_from
    assert kept is not None
    assert unproven(stored).report.written_from == kept, "from another library it is what it says"
    assert not any(words in exported for words in ("written_from", kept.request, *LINES))
    hidden = plain_report(stored.report).written_from
    assert hidden == WrittenFrom(request="…", signature="…", rules=("…",) * 2, assumed=("…",) * 2)
    assert kept.request == "Adds up the digits of a whole number."
    assert kept.signature == SPEC["signature"]
    assert kept.assumed == LINES
    assert kept.rules == tuple(ASSUMING["rules"])


@pytest.mark.slow
async def test_where_nothing_was_assumed_nothing_is_listed(bench: OpenBench) -> None:
    async with bench(Script()) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created)
        assert outcome.assumed == ()
        (asked,) = made.script.texts("spec")
        assert "assumed holds" in asked
        report = (await made.library.read("digit_sum")).report
    hostile = WrittenFrom(request="", signature="", assumed=("x: see https://example.org", "y: is kept"))
    assert assumptions_in(report.model_copy(update={"written_from": hostile})) == ("y: is kept",)
    assert assumptions_in(report.model_copy(update={"written_from": None})) == ()


SUITE_TEST = {"arguments": {"number": 1}, "expected": 1}


@pytest.mark.parametrize(
    "check", ["True", "arguments['number'] > 0", "result ==", "(result := 5)", "1 " * 900]
)
def test_a_test_whose_check_is_no_condition_on_the_result_is_left_out(check: str) -> None:
    suite = Suite.model_validate({"tests": [{"arguments": {"number": 2}, "check": check}, SUITE_TEST]})
    assert [test.as_json() for test in suite.tests] == [SUITE_TEST]


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


@pytest.mark.parametrize(
    ("rule", "line", "said"),
    [
        (
            "'(0)' after a country code is dropped with its zero.",
            "trunk zero: '(0)' after a country code is dropped",
            1,
        ),
        ("Returns 1 where left is greater.", "order: returns -1 where left is greater", 2),
        (
            "The text 0 is kept after the country code.",
            "kept: the text (0) is kept after the country code",
            2,
        ),
        ("An empty text raises ValueError.", "width 0: ValueError", 2),
    ],
)
def test_an_assumed_rule_is_told_once_and_with_its_signs(rule: str, line: str, said: int) -> None:
    written = Specification.model_validate(SPEC | {"rules": [rule], "assumed": [line]})
    assert written.assumed == (line,)
    assert written.rules == (rule, line)[:said]
