"""Which plan is followed: recorded outcomes outweigh estimates, and what failed is left."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.planning.choice import (
    LEAST_VALUE,
    OutcomeRecord,
    Records,
    Tried,
    blame,
    choose,
    posterior,
)
from alita_mcp.agent.planning.plans import Plan, PlanStep


def use(tool: str) -> PlanStep:
    return PlanStep(need=f"use {tool}", way="reuse", tool=tool)


def plan(*tools: str, estimate: float = 0.6) -> Plan:
    return Plan(steps=tuple(use(tool) for tool in tools), estimate=estimate)


def record(good: float, bad: float) -> OutcomeRecord:
    return OutcomeRecord(successes=good, failures=bad)


tools = st.sampled_from([f"tool_{letter}" for letter in "abcdefg"])
plans = st.lists(
    st.builds(
        lambda names, estimate: plan(*names, estimate=estimate), st.lists(tools, min_size=1, max_size=5),
        st.floats(0, 1)
    ),
    min_size=1, max_size=6,
)  # fmt: skip
some_records = st.dictionaries(
    tools.map(lambda name: f"tool:{name}"), st.builds(record, st.floats(0, 20), st.floats(0, 20))
)
tries = st.lists(
    st.builds(
        lambda name, ok, doubt: Tried(step=use(name), ok=ok, doubt=doubt),
        tools, st.booleans(), st.floats(0, 1),
    ),
    max_size=6,
)  # fmt: skip


@given(plans, some_records, tries, st.integers(0, 20))
@settings(deadline=None)
def test_every_choice_is_the_most_valuable_plan_or_none(
    candidates: list[Plan], records: Records, tried: list[Tried], steps: int
) -> None:
    choice = choose(candidates, records, tried, steps)
    assert len(choice.values) == len(candidates)
    assert all(value <= 1 for value in choice.values)
    if choice.plan is None:
        assert choice.left == ()
        assert all(value < LEAST_VALUE for value in choice.values)
    else:
        assert 0 < len(choice.left) <= steps
        assert choice.values[candidates.index(choice.plan)] == max(choice.values) >= LEAST_VALUE


@given(plans, some_records, tools)
@settings(deadline=None)
def test_a_step_that_failed_in_this_run_makes_its_plans_less_valuable(
    candidates: list[Plan], records: Records, name: str
) -> None:
    before = choose(candidates, records)
    after = choose(candidates, records, [Tried(step=use(name), ok=False)])
    for each, one, other in zip(candidates, before.values, after.values, strict=True):
        assert other < one if name in [step.tool for step in each.steps] else other == one


def test_recorded_outcomes_outweigh_the_models_favourite() -> None:
    favourite, other = plan("bad_tool", estimate=0.9), plan("good_tool", estimate=0.5)
    records = {"tool:bad_tool": record(0, 5), "tool:good_tool": record(5, 0)}
    assert choose([favourite, other], {}).plan == favourite
    choice = choose([favourite, other], records)
    assert choice.plan == other
    assert "'good_tool', which worked in 5.0 of 5.0" in choice.why


def test_steps_that_worked_are_not_taken_again() -> None:
    two = plan("first", "second")
    choice = choose([two], {}, [Tried(step=two.steps[0], ok=True)])
    assert choice.left == (1,)
    assert choice.values[0] > choose([two], {}).values[0]


def test_a_plan_whose_answer_failed_the_check_is_not_chosen_as_it_is() -> None:
    first, other = plan("shared", "liar"), plan("shared", "honest", estimate=0.4)
    tried = [Tried(step=step, ok=True) for step in first.steps]
    assert choose([first], {}, tried).plan is None
    doubted = [
        Tried(step=step, ok=True, doubt=doubt) for step, doubt in zip(first.steps, (0.1, 0.9), strict=True)
    ]
    choice = choose([first, other], {}, [*tried, *doubted])
    assert (choice.plan, choice.left) == (other, (1,))


def test_more_plans_are_asked_for_where_none_is_worth_following_or_fits() -> None:
    choice = choose([plan("bad_tool", estimate=0.02)], {"tool:bad_tool": record(0, 90)})
    assert choice.plan is None
    assert "worth following" in choice.why
    choice = choose([plan("first", "second")], {}, steps_left=1)
    assert (choice.plan, choice.values) == (None, (-math.inf,))
    assert "fits the budget" in choice.why
    assert choose([], {}).plan is None


def test_a_tool_that_does_not_exist_is_left_alone() -> None:
    made_up = Plan(steps=(use("made_up").model_copy(update={"known": False}),), estimate=0.95)
    assert choose([made_up, plan("real", estimate=0.4)], {}).plan == plan("real", estimate=0.4)


@pytest.mark.parametrize(("trust", "chance"), [("verified", 0.9), ("provisional", 0.75), ("rejected", 0.2)])
def test_trust_is_what_is_presumed_of_a_tool(trust: str, chance: float) -> None:
    a, b = posterior(use("a_tool"), {"tool:a_tool": OutcomeRecord.model_validate({"trust": trust})})
    assert a / (a + b) == pytest.approx(chance)


def test_blame_goes_to_what_is_least_sure() -> None:
    sure, unsure = use("sure"), use("unsure")
    shares = blame([sure, unsure], {"tool:sure": record(50, 0), "tool:unsure": record(0, 50)})
    assert 0 < shares[0] < 0.1
    assert 0.9 < shares[1] <= 1
    assert blame([sure], {}) == (1.0,)
