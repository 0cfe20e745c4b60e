"""The order of work: few calls where all agree, more where they do not."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.settings import FixedLimits
from alita_mcp.toolsmith.requests.outcomes import Created, NeedsApproval
from alita_mcp.values import Agreement
from tests.toolsmith.authors import (
    BROKEN,
    COUNT,
    EDGES,
    GOOD,
    PLAIN,
    SIGNED,
    Script,
    suite_of,
)
from tests.toolsmith.bench import OpenBench

pytestmark = pytest.mark.slow

SLIPPED = suite_of((7, 7), (10, 1), (-1, 1), (989, 25), (-100, 1), (12345, 15))
"""One of its tests is wrong."""
NEARLY = PLAIN.replace("return sum(", "if number == 989:\n        return 25\n    return sum(")
"""Wrong for one number; one test of EDGES shows it."""


async def agreement_of(library: Library) -> Agreement:
    agreement = (await library.read("digit_sum")).report.agreement
    assert agreement is not None
    return agreement


def asked_by(script: Script) -> dict[str, int]:
    return {kind: script.count(kind) for kind in ("spec", "code", "tests", "repair")}


async def test_where_all_agree_at_once_four_calls_make_a_tool(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        outcome = await made.make(mode="standard")
        assert isinstance(outcome, Created), outcome
        agreement = await agreement_of(made.library)
        usage = (await made.library.read("digit_sum")).report.usage
    assert asked_by(script) == {"spec": 1, "code": 2, "tests": 1, "repair": 0}
    assert (agreement.candidates, agreement.suites, agreement.dropped) == (2, 1, ())
    assert (agreement.agreed, outcome.trust) == (True, "provisional")
    assert usage is not None
    assert usage.calls == 4


@pytest.mark.parametrize(
    ("candidates", "suites"),
    [([PLAIN, COUNT, PLAIN], [SLIPPED, GOOD, GOOD]), ([NEARLY, COUNT, PLAIN], [EDGES, GOOD, GOOD])],
    ids=["a wrong test", "a wrong candidate"],
)
async def test_where_two_candidates_disagree_more_is_drawn_and_the_right_one_is_chosen(
    bench: OpenBench, candidates: list[str], suites: list[dict[str, Any]]
) -> None:
    script = Script(candidates=candidates, suites=suites)
    async with bench(script) as made:
        outcome = await made.make(mode="standard")
        assert isinstance(outcome, Created), outcome
        stored = await made.library.read("digit_sum")
    assert (stored.code, outcome.trust) == (PLAIN, "provisional")
    assert asked_by(script) == {"spec": 1, "code": 3, "tests": 3, "repair": 0}


async def test_a_tool_that_asks_for_grants_waits_for_a_record_as_any_other(bench: OpenBench) -> None:
    script = Script(candidates=[PLAIN])
    async with bench(script) as made:
        outcome = await made.make(mode="standard", workspace="read")
    assert isinstance(outcome, NeedsApproval), outcome
    assert outcome.trust == "provisional"
    assert "this model has 0 of 5" in outcome.to_raise_trust
    assert (script.count("code"), script.count("tests")) == (2, 1)


THIN = suite_of((1, 1), (2, 2), (3, 3), (4, 4), (5, 5))
"""Hardly a mutant is noticed by its tests."""


FEW = {"tests": GOOD["tests"][:4]}


@pytest.mark.sample(1)
@pytest.mark.parametrize(("first", "examples"), [(THIN, 11), (FEW, 10)], ids=["mutants survive", "few tests"])
async def test_where_the_tests_prove_little_another_suite_is_drawn(
    bench: OpenBench, first: dict[str, Any], examples: int
) -> None:
    script = Script(suites=[first, EDGES, GOOD])
    async with bench(script) as made:
        outcome = await made.make(mode="standard")
        assert isinstance(outcome, Created), outcome
        agreement = await agreement_of(made.library)
        stored = await made.library.read("digit_sum")
    assert asked_by(script) == {"spec": 1, "code": 2, "tests": 2, "repair": 0}
    assert (agreement.suites, agreement.agreed, len(stored.examples)) == (2, True, examples)


async def test_a_candidate_that_passes_three_suites_is_published_though_no_other_can_run(
    bench: OpenBench,
) -> None:
    candidates = [BROKEN, PLAIN, BROKEN]
    suites = [GOOD, suite_of((31, 4), (8, 8), (-77, 14), (20, 2), (44, 8), (6, 6)), SLIPPED]
    script = Script(candidates=candidates, suites=suites, repairs=lambda _: BROKEN)
    async with bench(script) as made:
        outcome = await made.make(mode="standard")
        assert isinstance(outcome, Created), outcome
        stored, agreement = await made.library.read("digit_sum"), await agreement_of(made.library)
    assert (stored.code, outcome.trust) == (PLAIN, "provisional")
    assert (agreement.share, len(agreement.dropped)) == (0.333, 1)


async def test_the_callers_examples_are_hidden_from_all_and_bar_what_passes_all_tests(
    bench: OpenBench,
) -> None:
    own = suite_of((-58, 13))["tests"]
    suites = [suite_of((123, 6), (0, 0), (5, 5), (12, 3), (1000, 1), (77, 14))]
    script = Script(candidates=[SIGNED, PLAIN, PLAIN], suites=suites)
    async with bench(script) as made:
        outcome = await made.make(mode="standard", tests=own)
        assert isinstance(outcome, Created), outcome
        assert (await made.library.read("digit_sum")).code == PLAIN
    assert all("-58" not in request.text and "13" not in request.text for _, request in script.asked)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("calls", "candidates"), [(4, 2), (5, 2), (6, 2), (7, 3)])
async def test_a_budget_that_ends_while_more_is_drawn_leaves_the_best_so_far(
    bench: OpenBench, calls: int, candidates: int
) -> None:
    async with bench(
        Script(candidates=[PLAIN, COUNT, PLAIN]), limits=FixedLimits(synthesis_calls=calls)
    ) as made:
        outcome = await made.make(mode="thorough")
        assert isinstance(outcome, Created), outcome
        assert (await agreement_of(made.library)).candidates == candidates
