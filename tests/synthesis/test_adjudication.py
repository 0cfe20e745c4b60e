"""What a judge is asked, in which words, and how far it is believed: fields made by hand, nothing runs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.synthesis.requests.modes import PLANS, Width
from alita_mcp.synthesis.specification.values import WrittenCode
from alita_mcp.synthesis.writing.adjudication import Question, Ruling, Shown, Verdicts, questions, ruling
from alita_mcp.synthesis.writing.candidate_sampler import CandidateCode
from alita_mcp.synthesis.writing.evidence import in_words
from alita_mcp.synthesis.writing.judging import NoSelection, Round, Selection, judge
from alita_mcp.values import Agreement, Check, Draft, Example
from alita_mcp.verification.agreement.matrix import PassMatrix, Prepared, Row
from alita_mcp.verification.comparison.result_words import result_word

RIGHT = RunResult(status="ok", value=1)
LATE = RunResult(status="timeout")


def case(number: int, **outcome: Any) -> Example:
    return Example.model_validate({"arguments": {"number": number}, **outcome})


def row_of(tests: Sequence[Example], results: Sequence[RunResult | None]) -> Row:
    checks = []
    for test, result in zip(tests, results, strict=True):
        ok = result is not None and result.status == "ok"
        passed = test.check != "result == 2" and ok and (test.check is not None or test.expected == 1)
        if result is not None and result.status == "error":
            passed = test.raises == "ValueError"
        checks.append(Check(stage="examples", passed=passed) if result is not None else None)
    return Row(tuple(checks), tuple(result_word(result) for result in results), tuple(results))


def round_of(
    suites: Sequence[Sequence[Example]], *rows: dict[int, RunResult], varies: tuple[str, ...] = ()
) -> Round:
    """A round whose candidates give 1 for every test but for those of their row."""
    tests: list[Example] = []
    numbers = []
    for suite in suites:
        for test in suite:
            if test not in tests:
                tests.append(test)
        numbers.append(frozenset(tests.index(test) for test in suite))
    draft = Draft(name="one", description="One.", code="x", examples=(), varies=varies)  # type: ignore[arg-type]
    made = [row_of(tests, [row.get(number, RIGHT) for number in range(len(tests))]) for row in rows]
    codes = [CandidateCode(index, WrittenCode(code=f"x = {index}"), (), "") for index, _ in enumerate(rows)]
    matrix = PassMatrix(tuple(Prepared(draft) for _ in rows), tuple(tests), tuple(numbers), tuple(made))
    width = Width(candidates=len(rows), suites=len(suites))
    return Round(tuple(codes), matrix, tuple(row_of((), ()) for _ in rows), 1, width)


FINE = [case(number, expected=1) for number in range(7)]
MORE = [case(number, expected=1) for number in range(10, 17)]


def against(*wrong: Example) -> Round:
    return round_of([FINE, [*MORE, *wrong]], {})


def test_a_case_holds_arguments_and_outcomes_as_tests_say_them() -> None:
    (asked,) = questions(against(case(30, expected=2)), 0)
    assert asked == Question({"number": 30}, ({"result": 1}, {"result": 2}), ((), (14,)))
    (asked,) = questions(against(case(30, raises="json.JSONDecodeError")), 0)
    assert asked.outcomes == ({"result": 1}, {"raises": "JSONDecodeError"})


def test_a_check_is_put_so_that_neither_side_shows_who_wrote_it() -> None:
    (asked,) = questions(against(case(30, check="result == 2")), 0)
    assert asked.outcomes == (
        {"false for the result": "result == 2"},
        {"true for the result": "result == 2"},
    )
    assert asked.against == {14}


def test_tests_that_contradict_one_another_are_outcomes_of_one_case() -> None:
    (asked,) = questions(
        against(case(30, expected=2), case(30, expected=3), case(30, expected=2, exact=True)), 0
    )
    assert asked.outcomes == ({"result": 1}, {"result": 2}, {"result": 3})
    assert asked.tests == ((), (14, 16), (15,))


def test_an_error_of_the_candidates_is_an_outcome_too() -> None:
    error = RunResult(status="error", error_type="builtins.KeyError")
    current = round_of([FINE, [*MORE, case(30, check="result == 2")]], {14: error})
    (asked,) = questions(current, 0)
    assert asked.outcomes == ({"raises": "KeyError"}, {"true for the result": "result == 2"})


SAME_NAME = RunResult(status="error", error_type="own.Odd")
NOT_ASKED = {
    "nothing differs": against(),
    "it does not end": round_of([FINE, MORE], {3: LATE}),
    "it dies": round_of([FINE, MORE], {3: RunResult(status="crashed")}),
    "results vary": round_of([FINE, [*MORE, case(30, expected=2)]], {}, varies=("clock",)),
    "too much fails": against(*(case(30 + number, expected=2) for number in range(5))),
    "the error is called the same": round_of([FINE, [*MORE, case(30, raises="Odd")]], {14: SAME_NAME}),
    "a check beside another test": against(
        case(30, check="result == 2"), case(30, expected=2), case(30, expected=3)
    ),
    "too many outcomes": against(*(case(30, expected=number) for number in range(2, 6))),
    "too long": against(case(30, expected="x" * 2_000)),
}


@pytest.mark.parametrize("current", NOT_ASKED.values(), ids=NOT_ASKED.keys())
def test_a_judge_is_not_asked_where(current: Round) -> None:
    assert questions(current, 0) == []


def test_a_judge_is_not_asked_about_more_than_six_calls_nor_what_the_callers_examples_refuse() -> None:
    many = [case(number, expected=1) for number in range(100, 130)]
    wrong = [case(30 + number, expected=2) for number in range(7)]
    assert questions(round_of([FINE, [*many, *wrong]], {}), 0) == []
    assert len(questions(round_of([FINE, [*many, *wrong[1:]]], {}), 0)) == 6
    current = against(case(30, expected=2))
    own = [case(1, expected=7)]
    assert questions(replace(current, held_out=(row_of(own, [RIGHT]),)), 0) == []
    unloadable = replace(current, matrix=replace(current.matrix, rows=(None,)))
    assert questions(unloadable, 0) == []


def shown_for(current: Round, seed: int = 1) -> tuple[list[Question], Shown]:
    asked = questions(current, 0)
    return asked, Shown.of(asked, random.Random(seed))


@pytest.mark.parametrize("seed", range(20))
def test_each_outcome_has_another_letter_when_its_case_is_shown_again(seed: int) -> None:
    current = against(case(30, expected=2), case(30, expected=3), case(31, expected=2))
    _, shown = shown_for(current, seed)
    assert sorted(shown.order) == [0, 0, 1, 1]
    for number in (0, 1):
        one, other = (under for under, each in zip(shown.letters, shown.order, strict=True) if each == number)
        assert all(first != second for first, second in zip(one, other, strict=True))
        assert sorted(one) == sorted(other)


def test_the_order_of_outcomes_says_nothing_over_many_seeds() -> None:
    firsts = [shown_for(against(case(30, expected=2)), seed)[1].letters[0][0] for seed in range(200)]
    assert 60 < sum(firsts) < 140


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "case": st.integers(-2, 9),
                "right": st.sampled_from(["A", "b", "C", "D", "neither", "unclear", "", "AB"]),
            }
        ),
        max_size=12,
    ),
    st.integers(0, 50),
)
def test_whatever_a_judge_says_it_strikes_only_what_two_cases_agree_on(
    said: list[dict[str, Any]], seed: int
) -> None:
    current = against(case(30, expected=2), case(31, expected=2))
    asked, shown = shown_for(current, seed)
    right = shown.read(Verdicts.model_validate({"verdicts": said}))
    found = ruling(current, asked, right)
    assert found.struck <= current.failing(0)
    cases = [each["case"] for each in said]
    for number, outcome in enumerate(right):
        places = [place for place, each in enumerate(shown.order, 1) if each == number]
        if outcome is not None:
            assert all(place in cases for place in places)
            words = {each["right"].upper() for each in said if each["case"] in places}
            assert len(words) == (1 if outcome == -1 else 2)


def test_what_follows_from_verdicts() -> None:
    current = against(case(30, expected=2), case(30, expected=3), case(31, expected=2))
    asked = questions(current, 0)
    assert ruling(current, asked, [None, None]) == Ruling()
    assert ruling(current, asked, [0, 0]) == Ruling(frozenset({14, 15, 16}))
    assert ruling(current, asked, [1, None]) == Ruling(frozenset({15}), is_wrong=True)
    assert ruling(current, asked, [-1, 0]) == Ruling(frozenset({14, 15, 16}), is_wrong=True)


def test_a_test_of_two_suites_is_never_struck() -> None:
    shared = case(30, expected=2)
    current = round_of([[*FINE, shared], [*MORE, shared]], {})
    assert ruling(current, questions(current, 0), [0]) == Ruling()


def test_a_lone_candidate_does_not_overrule_a_test_but_a_judge_may() -> None:
    current = against(case(30, expected=2))
    assert isinstance(judge(current), NoSelection)
    relieved = judge(replace(current, struck=frozenset({14})))
    assert isinstance(relieved, Selection)
    assert (relieved.agreement.agreed, relieved.disputed) == (False, False)
    assert relieved.agreement.dropped == (14,)
    assert [test.test["expected"] for test in relieved.agreement.contradicting] == [2]
    assert isinstance(judge(replace(current, struck=frozenset({3}))), NoSelection)


def test_nearly_all_of_three_suites_is_enough_and_of_two_is_not() -> None:
    last = [case(number, expected=1) for number in range(20, 24)]
    three = round_of([FINE, [*MORE, case(30, expected=2)], last], {})
    found = judge(three)
    assert isinstance(found, Selection)
    assert (found.agreement.agreed, found.disputed, len(found.kept)) == (False, True, 18)
    wrong = [case(number, expected=2) for number in range(30, 34)]
    assert isinstance(judge(round_of([FINE, [*MORE, *wrong], last], {})), NoSelection)
    assert isinstance(judge(round_of([[*FINE, *last], [*MORE, case(30, expected=2)]], {})), NoSelection)
    assert isinstance(judge(round_of([FINE, [*MORE, case(30, expected=2)], []], {})), NoSelection)


def test_a_majority_that_fails_much_does_not_hide_what_passes_and_the_callers_examples_do() -> None:
    last = [case(number, expected=1) for number in range(20, 24)]
    bad = {number: RunResult(status="ok", value=9) for number in range(5)}
    current = round_of([FINE, MORE, last], bad, {}, bad)
    matrix = current.matrix
    rows = tuple(row_of_values(matrix.tests, row) if row else None for row in matrix.rows)
    current = replace(current, matrix=replace(matrix, rows=rows))
    found = judge(current)
    assert isinstance(found, Selection)
    assert (found.number, found.agreement.agreed, found.agreement.share) == (1, False, 0.333)
    own = row_of([case(1, expected=7)], [RIGHT])
    barred = replace(current, held_out=(current.held_out[0], own, current.held_out[2]))
    after = judge(barred)
    assert not isinstance(after, Selection) or after.number != 1


def row_of_values(tests: Sequence[Example], row: Row) -> Row:
    checks = tuple(
        Check(stage="examples", passed=result is not None and result.value == test.expected)
        for test, result in zip(tests, row.results, strict=True)
    )
    return replace(row, checks=checks)


def test_full_agreement_is_said_with_the_record_that_proves_it() -> None:
    agreement = Agreement(candidates=2, suites=1, share=1, passed=1)
    assert "agree fully" not in in_words(agreement, (True,) * 5, None)
    full = agreement.model_copy(update={"agreed": True})
    before = (True, False, True, True, True, False)
    assert "they agree fully, as 4 of the last 5 tools by these models did" in in_words(full, before, None)
    assert "as 1 of the last 1" in in_words(full, (True,), "verified")
    assert "they agree fully, but these models have no record here" in in_words(full, None, None)


def test_plans_begin_small_and_end_at_their_ceiling() -> None:
    widths = {mode: [(each.candidates, each.suites) for each in plan.rounds] for mode, plan in PLANS.items()}
    assert widths == {"quick": [(1, 1)], "standard": [(2, 1), (3, 3)], "thorough": [(2, 1), (3, 3), (5, 5)]}


@pytest.mark.parametrize(
    ("candidates", "suites", "agreed"),
    [
        (2, [FINE], True),
        (3, [FINE, MORE], True),
        (1, [FINE, MORE], False),
        (2, [FINE[:4]], False),
        (2, [FINE, [*MORE, case(30, expected=2)]], False),
    ],
    ids=["two and a suite", "three and two", "one alone", "hardly a test", "one test against them"],
)
def test_two_candidates_agree_fully_where_no_test_contradicts_them(
    candidates: int, suites: Sequence[Sequence[Example]], agreed: bool
) -> None:
    current = round_of(suites, *({} for _ in range(candidates)))
    found = judge(current)
    assert isinstance(found, Selection)
    assert found.agreement.agreed is agreed
    again = judge(replace(current, blind=False))
    assert isinstance(again, Selection)
    assert not again.agreement.agreed


def test_a_candidate_that_the_callers_examples_bar_agrees_with_none() -> None:
    current = round_of([FINE], {}, {})
    own = row_of([case(1, expected=7)], [RIGHT])
    found = judge(replace(current, held_out=(current.held_out[0], own)))
    assert isinstance(found, Selection)
    assert (found.number, found.agreement.agreed, found.disputed) == (0, False, True)
