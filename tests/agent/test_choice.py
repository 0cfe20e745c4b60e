from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.planning.choice import LEAST_VALUE, Choice, Spent, Tried, choose
from alita_mcp.agent.planning.plans import Plan, PlanStep
from alita_mcp.agent.planning.posteriors import WAYS, OutcomeRecord, Records
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


@given(
    st.lists(st.tuples(*[st.floats(0, 9)] * 6), min_size=1, max_size=4),
    st.floats(0, 1),
    st.booleans(),
    some_records,
)
@settings(deadline=None)
def test_a_plan_is_never_chosen_over_one_that_every_record_favours(
    steps: list[tuple[float, ...]], estimate: float, better_first: bool, records: Records
) -> None:
    known, usual = dict(records), WAYS["reuse"]
    for at, (good, bad, *more) in enumerate(steps):  # at the presumed cost, which more outcomes do not move
        usd, seconds = usual.cost_usd, usual.seconds
        known[f"tool:worse_{at}"] = record(good, bad + more[0] + 0.01, usd + more[1], seconds + more[2])
        known[f"tool:better_{at}"] = record(good + more[3], bad, usd, seconds)
    better = plan(*(f"better_{at}" for at in range(len(steps))), estimate=estimate)
    worse = plan(*(f"worse_{at}" for at in range(len(steps))), estimate=estimate)
    candidates = [better, worse] if better_first else [worse, better]
    chosen = choose([*candidates, plan("tool_a", "tool_b"), plan("tool_c")], known).plan
    assert chosen != worse


@given(plans, some_records, tools, st.floats(0.1, 10))
@settings(deadline=None)
def test_a_better_record_never_lowers_the_chance_of_a_plan(
    candidates: list[Plan], records: Records, name: str, more: float
) -> None:
    before = records.get(f"tool:{name}", record(0, 0))
    after = before.model_copy(update={"successes": before.successes + more})
    low = choose(candidates, {**records, f"tool:{name}": before})
    high = choose(candidates, {**records, f"tool:{name}": after})
    assert all(one <= other + 1e-9 for one, other in zip(low.chances, high.chances, strict=True))


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


def test_the_estimates_weight_shifts_to_the_records_as_they_grow() -> None:
    chances = [
        choose([plan("a_tool", estimate=0.1)], {"tool:a_tool": record(9 * n, n)}).chances[0]
        for n in (0, 0.1, 1, 10, 99)
    ]
    assert chances == sorted(chances)
    assert chances[0] < 0.6
    assert chances[-1] == pytest.approx(0.9, abs=0.02)


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


def test_failing_again_and_again_ends_in_a_request_for_more_plans() -> None:
    candidates = [plan("one"), plan("two"), plan("one", "two")]
    tried: list[Tried] = []
    for _ in range(20):
        choice = choose(candidates, {}, tried)
        if choice.plan is None:
            break
        tried.append(Tried(step=choice.plan.steps[choice.left[0]], ok=False))
    assert choice.plan is None
    assert {each.step.tool for each in tried} == {"one", "two"}


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


def test_a_limit_of_zero_is_none() -> None:
    free = TaskBudget(usd=0, seconds=0)
    spent = Spent(usd=1e6, seconds=1e6)
    assert choose([plan("first")], {}, budget=free, spent=spent).plan == plan("first")


def test_a_tool_that_does_not_exist_is_left_alone() -> None:
    made_up = Plan(steps=(use("made_up").model_copy(update={"known": False}),), estimate=0.95)
    real = plan("real", estimate=0.4)
    assert choose([made_up, real], {}).plan == real


def test_a_recipes_own_outcomes_weigh_as_much_as_they_are() -> None:
    recipe = Plan(steps=(use("tool_a"),), estimate=0.95, origin="recipe", recipe="r")
    few, many = ({"recipe:r": record(n, 0)} for n in (1, 100))
    assert choose([recipe], few).chances[0] < choose([recipe], many).chances[0]


def test_no_plans_means_more_are_asked_for() -> None:
    choice = choose([], {})
    assert choice == Choice(plan=None, left=(), values=(), chances=(), why=choice.why)


def test_the_reason_names_the_weakest_step_and_its_record() -> None:
    why = choose([plan("first", "second")], {"tool:second": record(1, 3)}).why
    assert "'second'" in why
    assert "1.0 of 4.0" in why
    assert "no outcome" in choose([plan("first")], {}).why
