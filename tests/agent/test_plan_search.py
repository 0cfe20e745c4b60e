from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.planning.plans import Plan, PlanStep
from alita_mcp.agent.planning.posteriors import WAYS, OutcomeRecord, Records
from alita_mcp.agent.planning.search import Choice, SearchConfig, Spent, Tried, choose
from alita_mcp.agent.planning.tree import Constants
from alita_mcp.agent.values import TaskBudget

SMALL = TaskBudget(steps=20, usd=1.0, seconds=600)


def use(tool: str, need: str = "", after: tuple[int, ...] = ()) -> PlanStep:
    return PlanStep(need=need or f"use {tool}", way="reuse", tool=tool, after=after)


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
configs = st.builds(
    SearchConfig, budget=st.just(SMALL), simulations=st.integers(0, 40), learned=st.booleans(),
    failure=st.floats(0, 0.3), spent=st.builds(Spent, steps=st.integers(0, 20)),
)  # fmt: skip


@given(plans, some_records, tries, configs, st.integers(0, 9))
@settings(deadline=None)
def test_every_search_ends_with_a_plan_or_asks_for_more(
    candidates: list[Plan], records: Records, tried: list[Tried], config: SearchConfig, seed: int
) -> None:
    choice = choose(candidates, records, tried, config, seed)
    assert choice == choose(candidates, records, tried, config, seed)
    assert len(choice.values) == len(choice.visits) == len(choice.chances) == len(candidates)
    can_be_followed = [value > -math.inf for value in choice.values]
    assert sum(choice.visits) == (config.simulations if any(can_be_followed) else 0)
    assert all(0 <= chance <= 1 for chance in choice.chances)
    assert all(value <= 1 for value in choice.values)
    assert choice.ask_for_more_plans is (choice.plan is None)
    if choice.index is None:
        assert choice.left == ()
    else:
        assert choice.plan == candidates[choice.index]
        assert choice.left
        assert can_be_followed[choice.index]
        assert choice.values[choice.index] >= config.least_value


@given(
    st.lists(st.tuples(*[st.floats(0, 9)] * 6), min_size=1, max_size=4), st.floats(0, 1), st.booleans(),
    some_records, st.integers(0, 40),
)  # fmt: skip
@settings(deadline=None)
def test_a_plan_is_never_chosen_over_one_that_every_record_favours(
    steps: list[tuple[float, ...]], estimate: float, better_first: bool, records: Records, simulations: int
) -> None:
    known, usual = dict(records), WAYS["reuse"]
    for at, (good, bad, *more) in enumerate(steps):  # at the presumed cost, which more outcomes do not move
        usd, seconds = usual.cost_usd, usual.seconds
        known[f"tool:worse_{at}"] = record(good, bad + more[0] + 0.01, usd + more[1], seconds + more[2])
        known[f"tool:better_{at}"] = record(good + more[3], bad, usd, seconds)
    better = plan(*(f"better_{at}" for at in range(len(steps))), estimate=estimate)
    worse = plan(*(f"worse_{at}" for at in range(len(steps))), estimate=estimate)
    candidates = [better, worse] if better_first else [worse, better]
    config = SearchConfig(simulations=simulations)
    others = [plan("tool_a", "tool_b"), plan("tool_c")]
    chosen = choose([*candidates, *others], known, (), config).plan
    assert chosen is not worse
    assert chosen != worse or better == worse


@given(plans, some_records, tools, st.floats(0.1, 10))
@settings(deadline=None)
def test_a_better_record_never_lowers_the_value_of_a_plan(
    candidates: list[Plan], records: Records, name: str, more: float
) -> None:
    config = SearchConfig(simulations=0)
    before = records.get(f"tool:{name}", record(0, 0))
    after = before.model_copy(update={"successes": before.successes + more})
    known = {**records, f"tool:{name}": before.model_copy(update={"cost_usd": 0.004, "seconds": 4.0})}
    better = {**records, f"tool:{name}": after.model_copy(update={"cost_usd": 0.004, "seconds": 4.0})}
    low, high = choose(candidates, known, (), config), choose(candidates, better, (), config)
    assert all(one <= other + 1e-9 for one, other in zip(low.chances, high.chances, strict=True))
    cheaper = SearchConfig(simulations=0, money=0, time=0)
    low, high = choose(candidates, known, (), cheaper), choose(candidates, better, (), cheaper)
    assert all(one <= other + 1e-9 for one, other in zip(low.values, high.values, strict=True))


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
    assert choose([favourite, other], records, config=SearchConfig(learned=False)).plan == favourite


def test_the_estimates_weight_shifts_to_the_records_as_they_grow() -> None:
    chances = [
        choose([plan("a_tool", estimate=0.1)], {"tool:a_tool": record(9 * n, n)}).chances[0]
        for n in (0, 0.1, 1, 10, 99)
    ]
    assert chances == sorted(chances)
    assert chances[0] < 0.6
    assert chances[-1] == pytest.approx(0.9, abs=0.02)


def test_a_cheap_chance_is_taken_before_an_expensive_certainty() -> None:
    cheap, sure = plan("cheap", estimate=0.5), plan("sure", estimate=0.95)
    records = {"tool:cheap": record(50, 50, 0.0, 0), "tool:sure": record(95, 5, 1.0, 0)}
    config = SearchConfig(budget=SMALL, money=0.7, failure=0, retry=0, constants=Constants(after_failure=1.0))
    assert choose([cheap, sure], records, config=config).plan == cheap
    assert choose([cheap, sure], records, [Tried(step=cheap.steps[0], ok=False)], config).plan == sure


def test_what_follows_a_failure_counts_only_where_it_is_searched() -> None:
    with_another, alone = [plan("first"), plan("second")], [plan("first")]
    config = SearchConfig(simulations=0)
    assert choose(with_another, {}).values[0] > choose(alone, {}).values[0]
    assert choose(with_another, {}, config=config).values[0] == choose(alone, {}, config=config).values[0]


def test_steps_that_worked_are_not_taken_again() -> None:
    two = plan("first", "second")
    choice = choose([two], {}, [Tried(step=two.steps[0], ok=True)])
    assert choice.left == (1,)
    assert choice.chances[0] > choose([two], {}).chances[0]


def test_a_plan_whose_answer_failed_the_check_is_not_chosen_as_it_is() -> None:
    first, other = plan("shared", "liar"), plan("shared", "honest", estimate=0.4)
    tried = [Tried(step=step, ok=True) for step in first.steps]
    assert choose([first], {}, tried).ask_for_more_plans
    doubted = [
        *tried,
        Tried(step=first.steps[0], ok=True, doubt=0.1),
        Tried(step=first.steps[1], ok=True, doubt=0.9),
    ]
    choice = choose([first, other], {}, doubted)
    assert choice.plan == other
    assert choice.left == (1,)


def test_a_step_that_is_doubted_more_than_a_new_attempt_is_taken_again() -> None:
    sure = {"tool:shared": record(90, 0)}
    one = plan("shared", "last", estimate=0.99)
    tried = [Tried(step=one.steps[0], ok=True), Tried(step=one.steps[0], ok=True, doubt=1.0)]
    config = SearchConfig(retry=0.9)
    assert choose([one], sure, tried, config).left == (0, 1)
    again = [*tried, Tried(step=one.steps[0], ok=True)]
    assert choose([one], sure, again, config).left == (1,)
    assert choose([one], sure, [*again, Tried(step=one.steps[0], ok=False)], config).left == (0, 1)


def test_more_plans_are_asked_for_where_none_is_worth_its_cost() -> None:
    bad = plan("bad_tool", estimate=0.02)
    choice = choose([bad], {"tool:bad_tool": record(0, 50)})
    assert (choice.plan, choice.index, choice.ask_for_more_plans) == (None, None, True)
    assert "worth its cost" in choice.why


def test_failing_again_and_again_ends_in_a_request_for_more_plans() -> None:
    candidates = [plan("one"), plan("two"), plan("one", "two")]
    tried: list[Tried] = []
    for _ in range(20):
        choice = choose(candidates, {}, tried)
        if choice.plan is None:
            break
        tried.append(Tried(step=choice.plan.steps[choice.left[0]], ok=False))
    assert choice.ask_for_more_plans
    assert {each.step.tool for each in tried} == {"one", "two"}


@pytest.mark.parametrize(
    "spent", [Spent(steps=19), Spent(usd=0.99), Spent(seconds=597)], ids=["steps", "money", "seconds"]
)
def test_a_plan_that_does_not_fit_into_what_is_left_is_not_chosen(spent: Spent) -> None:
    two = plan("first", "second")
    assert choose([two], {}, config=SearchConfig(budget=SMALL)).plan == two
    choice = choose([two], {}, config=SearchConfig(budget=SMALL, spent=spent))
    assert choice.ask_for_more_plans
    assert "fits the budget" in choice.why
    assert choice.values == (-math.inf,)


def test_a_limit_of_zero_is_none() -> None:
    free = TaskBudget(usd=0, seconds=0)
    spent = Spent(usd=1e6, seconds=1e6)
    assert choose([plan("first")], {}, config=SearchConfig(budget=free, spent=spent)).index == 0


def test_side_by_side_steps_cost_the_time_of_the_longest() -> None:
    slow = {f"tool:{name}": record(1e3, 0, 0, 300) for name in ("first", "second")}
    parallel = Plan(steps=(use("first"), use("second")), estimate=0.9)
    chain = Plan(steps=(use("first"), use("second", after=(0,))), estimate=0.9)
    config = SearchConfig(budget=TaskBudget(seconds=500))
    assert choose([parallel], slow, config=config).index == 0
    assert choose([chain], slow, config=config).ask_for_more_plans


def test_a_tool_that_does_not_exist_is_left_alone() -> None:
    made_up = Plan(steps=(use("made_up").model_copy(update={"known": False}),), estimate=0.95)
    real = plan("real", estimate=0.4)
    assert choose([made_up, real], {}).plan == real
    assert choose([made_up, real], {}, config=SearchConfig(learned=False)).plan == real


def test_a_recipes_own_outcomes_weigh_as_much_as_they_are() -> None:
    recipe = Plan(steps=(use("tool_a"),), estimate=0.95, origin="recipe", recipe="r")
    few, many = ({"recipe:r": record(n, 0)} for n in (1, 100))
    assert choose([recipe], few).chances[0] < choose([recipe], many).chances[0]


def test_no_plans_means_more_are_asked_for() -> None:
    choice = choose([], {})
    assert choice == Choice(
        plan=None,
        index=None,
        left=(),
        values=(),
        chances=(),
        visits=(),
        ask_for_more_plans=True,
        why=choice.why,
    )


def test_the_reason_names_the_weakest_step_and_its_record() -> None:
    why = choose([plan("first", "second")], {"tool:second": record(1, 3)}).why
    assert "'second'" in why
    assert "1.0 of 4.0" in why
    assert "no outcome" in choose([plan("first")], {}).why


def test_plans_that_take_the_same_steps_in_another_order_share_what_is_known() -> None:
    choice = choose([plan("a_tool", "b_tool", "c_tool"), plan("b_tool", "a_tool", "d_tool")], {})
    assert sum(choice.visits) == 64
    assert choice.index == 0
