from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.planning.choice import LEAST_VALUE, Spent, Tried, choose
from alita_mcp.agent.planning.plans import Plan, PlanStep
from alita_mcp.agent.planning.posteriors import OutcomeRecord, Records
from alita_mcp.agent.values import TaskBudget

SMALL = TaskBudget(steps=20, usd=1.0, seconds=600)


def use(tool: str) -> PlanStep:
    return PlanStep(need=f"use {tool}", way="reuse", tool=tool)


def plan(*tools: str, estimate: float = 0.6) -> Plan:
    return Plan(steps=tuple(use(tool) for tool in tools), estimate=estimate)


def record(good: float, bad: float, usd: float = 0.01, seconds: float = 2) -> OutcomeRecord:
    return OutcomeRecord(successes=good, failures=bad, cost_usd=usd, seconds=seconds)


tools = st.sampled_from([f"tool_{letter}" for letter in "abcdefg"])
plans = st.lists(
    st.builds(
        lambda names, estimate: plan(*names, estimate=estimate), st.lists(tools, min_size=1, max_size=5),
        st.floats(0, 1)
    ),
    min_size=1, max_size=6,
)  # fmt: skip
a_record = st.builds(record, st.floats(0, 20), st.floats(0, 20), st.floats(0, 0.5), st.floats(0, 200))
some_records = st.dictionaries(tools.map(lambda name: f"tool:{name}"), a_record)
tries = st.lists(
    st.builds(
        lambda name, ok, doubt: Tried(step=use(name), ok=ok, doubt=doubt),
        tools,
        st.booleans(),
        st.floats(0, 1),
    ),
    max_size=6,
)


@given(plans, some_records, tries, st.integers(0, 20))
@settings(deadline=None)
def test_every_choice_is_a_plan_that_is_worth_its_cost_or_none(
    candidates: list[Plan], records: Records, tried: list[Tried], steps: int
) -> None:
    choice = choose(candidates, records, tried, SMALL, Spent(steps=steps))
    assert len(choice.values) == len(choice.chances) == len(candidates)
    assert all(0 <= chance <= 1 for chance in choice.chances)
    assert all(value <= 1 for value in choice.values)
    if choice.plan is None:
        assert choice.left == ()
        assert all(value < LEAST_VALUE for value in choice.values)
    else:
        assert choice.left
        assert choice.values[candidates.index(choice.plan)] == max(choice.values) >= LEAST_VALUE


@given(plans, some_records, tools)
@settings(deadline=None)
def test_a_step_that_failed_in_this_run_makes_its_plans_less_probable(
    candidates: list[Plan], records: Records, name: str
) -> None:
    before = choose(candidates, records)
    after = choose(candidates, records, [Tried(step=use(name), ok=False)])
    for each, one, other in zip(candidates, before.chances, after.chances, strict=True):
        assert other < one if name in [step.tool for step in each.steps] else other == one


def test_recorded_outcomes_outweigh_the_models_favourite() -> None:
    favourite, other = plan("bad_tool", estimate=0.9), plan("good_tool", estimate=0.5)
    records = {"tool:bad_tool": record(0, 5), "tool:good_tool": record(5, 0)}
    assert choose([favourite, other], {}).plan == favourite
    assert choose([favourite, other], records).plan == other


def test_steps_that_worked_are_not_taken_again() -> None:
    two = plan("first", "second")
    choice = choose([two], {}, [Tried(step=two.steps[0], ok=True)])
    assert choice.left == (1,)
    assert choice.chances[0] > choose([two], {}).chances[0]


def test_a_plan_whose_answer_failed_the_check_is_not_chosen_as_it_is() -> None:
    first, other = plan("shared", "liar"), plan("shared", "honest", estimate=0.4)
    tried = [Tried(step=step, ok=True) for step in first.steps]
    assert choose([first], {}, tried).plan is None
    doubted = [
        *tried,
        Tried(step=first.steps[0], ok=True, doubt=0.1),
        Tried(step=first.steps[1], ok=True, doubt=0.9),
    ]
    choice = choose([first, other], {}, doubted)
    assert choice.plan == other
    assert choice.left == (1,)


def test_more_plans_are_asked_for_where_none_is_worth_its_cost() -> None:
    bad = plan("bad_tool", estimate=0.02)
    choice = choose([bad], {"tool:bad_tool": record(0, 50)})
    assert choice.plan is None
    assert "worth its cost" in choice.why


@pytest.mark.parametrize(
    "spent", [Spent(steps=19), Spent(usd=0.99), Spent(seconds=597)], ids=["steps", "money", "seconds"]
)
def test_a_plan_that_does_not_fit_into_what_is_left_is_not_chosen(spent: Spent) -> None:
    two = plan("first", "second")
    assert choose([two], {}, budget=SMALL).plan == two
    choice = choose([two], {}, budget=SMALL, spent=spent)
    assert choice.plan is None
    assert "fits the budget" in choice.why
    assert choice.values == (-math.inf,)


def test_a_tool_that_does_not_exist_is_left_alone() -> None:
    made_up = Plan(steps=(use("made_up").model_copy(update={"known": False}),), estimate=0.95)
    real = plan("real", estimate=0.4)
    assert choose([made_up, real], {}).plan == real


def test_the_reason_names_the_weakest_step_and_its_record() -> None:
    why = choose([plan("first", "second")], {"tool:second": record(1, 3)}).why
    assert "'second'" in why
    assert "1.0 of 4.0" in why
    assert "no recorded outcomes" in choose([plan("first")], {}).why
