"""The pass matrix and the rule that selects from it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Draft, Example
from alita_mcp.verification.agreement import (
    Candidate,
    Decision,
    PassMatrix,
    accept,
    extend_matrix,
    is_proven,
    prepare_draft,
)
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.scripted_sandbox import ScriptedSandbox

DEAD = Candidate((), ())
"""One that cannot be loaded."""


def candidate(outputs: str, passes: str) -> Candidate:
    return Candidate(tuple(outputs), tuple(bit == "1" for bit in passes))


def decide(*candidates: Candidate | None, suites: tuple[set[int], ...] = ({0, 1, 2}, {2, 3, 4})) -> Decision:
    return accept(candidates, tuple(frozenset(suite) for suite in suites))


ONE, OTHER = candidate("aaaaa", "11111"), candidate("bbbbb", "00000")
NEARLY = candidate("aaaab", "11110")


@pytest.mark.parametrize(
    ("candidates", "agrees"),
    [
        ([ONE, ONE], True),
        ([ONE, ONE, ONE], True),
        ([ONE], False),
        ([ONE, NEARLY], False),
        ([NEARLY, NEARLY], False),
        ([ONE, ONE, DEAD], False),
    ],
    ids=["two", "three", "one", "one differs", "a test fails", "one does not load"],
)
def test_all_candidates_agree_fully_or_none_does(candidates: list[Candidate], agrees: bool) -> None:
    assert decide(*candidates).agrees is agrees
    assert not decide(*candidates, suites=({0, 1}, {2, 3})).agrees  # four tests show too little


@pytest.mark.parametrize(
    ("candidates", "chosen", "dropped"),
    [
        ([NEARLY, NEARLY], 0, (4,)),
        ([OTHER, NEARLY, NEARLY], 1, (4,)),
        ([OTHER, ONE], 1, ()),
        ([OTHER, NEARLY], None, (4,)),
        ([OTHER, OTHER, ONE], 2, ()),
        ([candidate("abcde", "11000")] * 3, None, (2, 3, 4)),
    ],
    ids=[
        "a majority overrules a test", "the larger cluster", "a lone one that passes all", "a lone one overrules none",
        "passed tests weigh as candidates do", "a majority that fails more than half",
    ],
)  # fmt: skip
def test_the_choice(candidates: list[Candidate], chosen: int | None, dropped: tuple[int, ...]) -> None:
    decision = decide(*candidates)
    assert (decision.chosen, decision.dropped) == (chosen, dropped)


def test_what_nearly_passes_three_suites_is_chosen_whatever_the_others_did() -> None:
    others = [candidate("x" * 20, "1" * 14 + "0" * 6)] * 9
    three = (set(range(7)), set(range(7, 14)), set(range(14, 20)))
    lonely = candidate("a" * 20, "1" * 17 + "000")
    assert decide(*others, lonely, suites=three).chosen == 9
    assert decide(*others, candidate("a" * 20, "1" * 16 + "0000"), suites=three).chosen == 0
    assert decide(*others, lonely, suites=(*three[:1], set(range(7, 20)))).chosen == 0


@pytest.mark.parametrize(
    ("candidates", "suites"),
    [((), ({0},)), ((DEAD, None), ({0},)), ((ONE,), ()), ((ONE,), (set(), set()))],
    ids=["no candidate", "none that loads", "no suite", "no test"],
)
def test_nothing_to_compare_chooses_none(
    candidates: tuple[Candidate | None, ...], suites: tuple[set[int], ...]
) -> None:
    assert decide(*candidates, suites=suites) == Decision(dropped=tuple(sorted(set[int]().union(*suites))))


@pytest.mark.parametrize(
    ("agreed", "proven"),
    [("11110", True), ("01111", True), ("1111", True), ("111", False), ("11001", False), ("0011111", False)],
)  # fmt: skip
def test_four_of_the_nearest_five_prove_a_model(agreed: str, proven: bool) -> None:
    assert is_proven([each == "1" for each in agreed]) is proven


HEAD = (
    'def halve(number: int) -> float:\n    """Halves a number.\n\n    Args:\n        number: What.\n    """\n'
)
RIGHT = HEAD + "    return number / 2\n"
WRONG = HEAD + "    return number // 2\n"
RAISES = HEAD + "    if number % 2:\n        raise ValueError(f'{number} is odd')\n    return number / 2\n"
ENDLESS = HEAD + "    while number == number:\n        number += 0\n    return 1.0\n"
BROKEN = "def halve(number: int) -> float:\n    return (\n"


def example(number: int, **outcome: Any) -> Example:
    return Example.model_validate({"arguments": {"number": number}, **outcome})


EVEN = [example(4, expected=2.0), example(0, expected=0)]
ODD = [example(3, expected=1.5), example(4, expected=2)]
CHECKS = [example(5, check="result * 2 == arguments['number']"), example(7, raises="ValueError")]


async def silent(_stage: str) -> None:
    return None


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    box = WasmSandbox(settings)
    yield box
    await box.aclose()


async def matrix_of(sandbox: WasmSandbox, *codes: str, suites: list[list[Example]]) -> PassMatrix:
    rehearsal = Rehearsal(sandbox)
    prepared = [
        await prepare_draft(
            Draft(name="halve", description="Halves a number.", code=code, examples=()), rehearsal, silent
        )
        for code in codes
    ]
    return await extend_matrix(PassMatrix(), prepared, suites, rehearsal)


async def test_each_test_is_run_once_with_each_candidate_and_shared_tests_count_in_both_suites(
    sandbox: WasmSandbox,
) -> None:
    found = await matrix_of(sandbox, RIGHT, WRONG, suites=[EVEN, ODD])
    assert [test.arguments["number"] for test in found.tests] == [4, 0, 3]
    assert found.suites == (frozenset({0, 1}), frozenset({0, 2}))
    rows = [row for row in found.rows if row is not None]
    assert [row.passes for row in rows] == [(True, True, True), (True, True, False)]
    assert [row.outputs for row in rows] == [
        ("value 2", "value 0", "value 1.5"),
        ("value 2", "value 0", "value 1"),
    ]


@pytest.mark.slow
async def test_errors_and_checks_are_judged_as_later_in_the_gates(sandbox: WasmSandbox) -> None:
    found = await matrix_of(sandbox, RIGHT, RAISES, suites=[CHECKS])
    right, raising = found.rows
    assert right is not None
    assert raising is not None
    assert (right.passes, raising.passes) == ((True, False), (False, True))
    assert raising.outputs == ("error ValueError", "raises ValueError")


@pytest.mark.slow
async def test_errors_that_satisfy_the_same_expectation_are_the_same_behaviour(sandbox: WasmSandbox) -> None:
    refusing = [
        HEAD + f"    if number < 0:\n        {line}\n    return number / 2\n"
        for line in (
            "raise ValueError('x')",
            "import json\n        json.loads('{')",
            "raise KeyError('x')",
        )
    ]
    below = {"arguments": {"number": -1}}
    tests = [Example(**below, raises="ValueError"), Example(**below, expected=-0.5), example(4, expected=2)]
    found = await matrix_of(sandbox, *refusing, suites=[tests])
    plain, decoding, other = (row.outputs for row in found.rows if row is not None)
    assert plain == decoding == ("raises ValueError", "raises ValueError", "value 2")
    assert other == ("error KeyError", "error KeyError", "value 2")
    assert accept(found.rows, found.suites).alike == (0, 1)
    narrow = Example(**below, raises="json.JSONDecodeError")
    found = await matrix_of(sandbox, *refusing, suites=[[*tests, narrow]])
    plain, decoding, _ = (row.outputs for row in found.rows if row is not None)
    assert plain[0] == "raises ValueError"
    assert decoding[0] == "raises ValueError json.JSONDecodeError"
    without = await matrix_of(sandbox, *refusing, suites=[tests[1:]])
    words = [row.outputs[0] for row in without.rows if row is not None]
    assert words == ["error ValueError", "error JSONDecodeError", "error KeyError"]


async def test_a_candidate_that_cannot_be_read_has_no_row_and_counts_as_one(sandbox: WasmSandbox) -> None:
    found = await matrix_of(sandbox, RIGHT, BROKEN, suites=[EVEN, ODD])
    assert found.rows[1] is None
    decision = accept(found.rows, found.suites)
    assert (decision.alike, decision.agrees) == ((0,), False)


async def test_a_barred_candidate_says_nothing_for_itself(sandbox: WasmSandbox) -> None:
    found = await matrix_of(sandbox, WRONG, RIGHT, suites=[EVEN])
    assert accept(found.rows, found.suites).chosen == 0
    assert accept((None, found.rows[1]), found.suites).chosen == 1


async def test_a_time_out_ends_the_row_and_passes_nothing(settings: Settings) -> None:
    def answer(job: Job) -> RunResult:
        return RunResult(status="timeout", message="30 s")

    rehearsal = Rehearsal(ScriptedSandbox(answer))
    draft = Draft(name="halve", description="Halves a number.", code=ENDLESS, examples=())
    found = await extend_matrix(
        PassMatrix(), [await prepare_draft(draft, rehearsal, silent)], [EVEN], rehearsal
    )
    row = found.rows[0]
    assert row is not None
    assert row.passes == (False, False)
    assert "timeout" in row.outputs


async def test_drafts_that_draw_otherwise_behave_alike_where_both_are_right() -> None:
    """Of tools whose results vary; a draft that is wrong is another behaviour."""
    heads = "import random\n\n\n" + HEAD
    draws = [f"    return random.uniform(0, number) + {more}\n" for more in ("0", "0.0", "number + 1")]
    values = dict(zip(draws, (0.25, 0.75, 9.0), strict=True))

    def answer(job: Job) -> RunResult:
        if job.function == "check":
            space: dict[str, Any] = {}
            exec(job.code, space)
            return RunResult(status="ok", value=space["check"](**job.arguments))
        return RunResult(status="ok", value=next(value for draw, value in values.items() if draw in job.code))

    rehearsal = Rehearsal(ScriptedSandbox(answer))
    tests = [Example(arguments={"number": number}, check="0 <= result <= 1") for number in (1, 2)]
    prepared = [
        await prepare_draft(
            Draft(name="halve", description="Draws.", code=heads + draw, examples=(), varies=("random",)),
            rehearsal,
            silent,
        )
        for draw in draws
    ]
    found = await extend_matrix(PassMatrix(), prepared, [tests], rehearsal)
    one, other, wrong = (row.outputs for row in found.rows if row is not None)
    assert one == other != wrong
