from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.interface import Episode, Recipe, RecipeStep
from alita_mcp.agent.planning.plans import PlanStep
from alita_mcp.agent.planning.posteriors import (
    KEPT,
    OutcomeRecord,
    add_outcome,
    blame,
    expectation,
    record_key,
    records_of,
)
from alita_mcp.values import Trust

counts = st.floats(0, 50)
USE = PlanStep(need="n", way="reuse", tool="get_page")


def mean(record: OutcomeRecord, step: PlanStep = USE) -> float:
    return expectation(step, {record_key(step): record}).chance


@given(counts, counts, st.floats(0.01, 10))
@settings(deadline=None)
def test_a_success_raises_the_chance_and_a_failure_lowers_it(good: float, bad: float, more: float) -> None:
    now = mean(OutcomeRecord(successes=good, failures=bad))
    assert 0 < mean(OutcomeRecord(successes=good, failures=bad + more)) < now
    assert now < mean(OutcomeRecord(successes=good + more, failures=bad)) < 1


@pytest.mark.parametrize(
    ("trust", "chance"), [("verified", 0.9), ("provisional", 0.75), ("rejected", 0.2), (None, 0.75)]
)
def test_trust_is_what_is_presumed_of_a_tool(trust: Trust | None, chance: float) -> None:
    assert mean(OutcomeRecord(trust=trust)) == pytest.approx(chance)


def test_a_tool_that_does_not_exist_is_presumed_to_fail() -> None:
    made_up = USE.model_copy(update={"known": False})
    assert mean(OutcomeRecord(trust="verified"), made_up) == pytest.approx(0.02)
    assert mean(OutcomeRecord(failures=1), made_up) < 0.02


def test_a_tool_that_changed_is_known_again_after_some_outcomes() -> None:
    record = OutcomeRecord(trust="verified")
    for _ in range(100):
        record = add_outcome(record, 1.0, cost_usd=0.5, seconds=10)
    assert record.count == pytest.approx(1 / (1 - KEPT))
    assert (record.cost_usd, record.seconds) == (pytest.approx(0.5), pytest.approx(10))
    for _ in range(6):
        record = add_outcome(record, 0.0)
    assert mean(record) < 0.6
    assert record.trust == "verified"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(deadline=None)
def test_blame_goes_to_what_is_least_sure(chances: list[float]) -> None:
    shares = blame(chances)
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) >= 1 - 1e-9
    ranked = sorted(zip(chances, shares, strict=True))
    assert all(one[1] >= other[1] - 1e-9 for one, other in pairwise(ranked))


def test_memory_becomes_records_with_the_newest_runs_counting_most() -> None:
    def run(at: str, tool: str, failed: tuple[str, ...] = ()) -> Episode:
        return Episode(
            run=at, task="t", solved=True, answer="", at=at, failed=failed, cost_usd=0.2, seconds=4,
            steps=(RecipeStep(tool=tool, need="n"),),
        )  # fmt: skip

    found = records_of(
        [run("2026-02", "run_code", ("get_page",)), run("2026-01", "get_page")],
        [Recipe(id="r", task="t", successes=2)],
    )
    assert set(found) == {"tool:get_page", "way:run_once", "recipe:r"}
    assert found["tool:get_page"].failures == 1
    assert found["tool:get_page"].successes == KEPT
    assert found["way:run_once"].cost_usd == pytest.approx(0.1)
    assert found["recipe:r"].successes == 2
