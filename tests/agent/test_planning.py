"""Plans: read from the first turn, compared for long tasks and after failures by what actions were worth before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.agent.actions.tools import AGENT_TOOLS
from alita_mcp.agent.planning.learned_values import LearnedValues, Taken
from alita_mcp.agent.planning.plans import MAX_PLANS, MAX_STEPS, Plan, PlanStep, read_plans
from alita_mcp.agent.values import RunSummary
from alita_mcp.models.interface import Completion
from tests.agent.world import PlainAbilities, World, call, calls, finish, world

TWO = "Plan A (90 %)\n1. number_a: ask it\nPlan B (70 %)\n1. number_b: ask the other"


def fails(**_arguments: int) -> int:
    raise ValueError("it is broken")


def turn(text: str, name: str, **arguments: int) -> Completion:
    return calls((name, dict(arguments)), text=text)


def chosen(made: World) -> list[str]:
    """The first actions of the plans that were followed, in order."""
    told = [event.data["chosen"] for event in made.runs.told if event.kind == "plan"]
    return [plan["steps"][0]["action"] for plan in told]


def run_with(script: list[Completion], past: Sequence[RunSummary] = (), plans: int = 3) -> World:
    abilities = PlainAbilities(tools={"number_a": fails, "number_b": lambda **_: 7})
    return world(script, abilities, task="Find the number", plans=plans, past=past)


def ended(*actions: Taken, solved: bool = True) -> RunSummary:
    return RunSummary(run="0" * 32, task="t", at="2026", status="finished", solved=solved, actions=actions)


async def test_a_short_plan_of_the_first_turn_costs_no_call_and_is_not_compared() -> None:
    made = run_with([turn("1. `number_b`: ask it", "number_b"), finish("7")])
    solution = await made.solve()
    assert (solution.solved, solution.calls, len(made.model.asked)) == (True, 2, 2)
    assert chosen(made) == ["number_b"]
    assert "this plan is best" not in made.shown()


async def test_plans_of_a_long_task_are_compared_by_the_outcomes_of_earlier_runs() -> None:
    past = [ended(("number_a", False), ("number_b", True))] * 4
    made = run_with([turn(TWO, "search_capabilities", query=1), call("number_b"), finish("7")], past)
    assert (await made.solve()).solved
    assert chosen(made) == ["number_b"]
    assert "1. number_b: ask the other" in made.shown(1)
    made = run_with([turn(TWO, "search_capabilities", query=1), finish("7", solved=False)])
    await made.solve()
    assert chosen(made) == ["number_a"]


async def test_after_a_failure_the_other_plan_is_followed() -> None:
    made = run_with([turn(TWO, "number_a"), call("number_b"), finish("7")])
    assert (await made.solve()).solved
    assert chosen(made) == ["number_b"]


async def test_after_a_failure_of_a_single_plan_others_are_written_beside_the_next_calls() -> None:
    script = [turn("1. number_a: ask it", "number_a"), turn(TWO, "number_b"), finish("7")]
    made = run_with(script)
    solution = await made.solve()
    assert (solution.solved, solution.calls) == (True, 3)
    assert "for the rest" in made.shown(1)


@pytest.mark.parametrize("plans", [0, 1])
async def test_plain_react_and_a_single_plan_compare_nothing(plans: int) -> None:
    made = run_with([turn(TWO, "number_a"), call("number_b"), finish("7")], plans=plans)
    assert (await made.solve()).solved
    assert len(chosen(made)) == plans
    assert "for the rest" not in made.shown()
    assert ("write a short plan" in made.shown(0)) == bool(plans)


async def test_a_plan_without_calls_is_no_answer() -> None:
    script = [Completion(text="1. number_b: ask it", model="s"), call("number_b"), finish("7")]
    solution = await run_with(script).solve()
    assert (solution.answer, solution.solved) == ("7", True)


async def test_an_answer_that_rests_on_nothing_counts_against_the_last_action() -> None:
    script = [turn(TWO, "number_b"), finish("9"), finish("9", solved=False)]
    made = run_with([*script[:2], Completion(text='{"claims": []}', model="s"), script[2]])
    await made.solve()
    assert chosen(made) == ["number_a"]


async def test_an_answer_that_lists_tools_is_no_plan() -> None:
    script = [call("number_b"), Completion(text="1. number_b: 7", model="s")]
    assert (await run_with(script).solve()).answer == "1. number_b: 7"


def plan(*actions: str, estimate: float = 0.5) -> Plan:
    return Plan(steps=tuple(PlanStep(action=action) for action in actions), estimate=estimate)


def learned(*runs: RunSummary) -> LearnedValues:
    values = LearnedValues()
    for past in runs:
        values.learn_run(past.actions, past.solved)
    return values


def test_outcomes_outweigh_the_authors_favourite_and_the_newest_count_most() -> None:
    favourite, other = plan("read_page", estimate=0.9), plan("run_code", estimate=0.4)
    none = learned()
    assert none.plan_value(favourite) > none.plan_value(other)
    known = learned(*[ended(("read_page", False), ("run_code", True))] * 6)
    assert known.plan_value(favourite) < known.plan_value(other)
    bad, good = [ended(("get", False))] * 5, [ended(("get", True))] * 5
    assert learned(*bad, *good).chance("", "get") > learned(*good, *bad).chance("", "get")


def test_the_value_of_a_state_is_what_runs_came_to_from_there() -> None:
    values = learned(*[ended(("run_code", True))] * 5, *[ended(("read_page", True), solved=False)] * 5)
    assert values.value(("run_code", True)) > 0.8
    assert values.value(("read_page", True)) < 0.4
    assert values.plan_value(plan("run_code")) > values.plan_value(plan("run_code", "run_code"))


def test_an_action_is_known_by_the_one_before_it() -> None:
    values = learned(
        *[ended(("list_files", True), ("read_file", True), ("read_page", True), ("read_file", False))] * 5
    )
    assert values.chance("list_files", "read_file") > 0.7 > values.chance("read_page", "read_file")


def test_a_plan_with_a_tool_that_does_not_exist_is_worth_nothing() -> None:
    values = LearnedValues()
    values.presume_missing("made_up")
    values.presume_tool("real", "verified", 40, 1)
    assert (
        values.plan_value(plan("made_up", estimate=1.0)) == 0 < values.plan_value(plan("real", estimate=0.1))
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=8), st.booleans(),
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), st.floats(0, 1),
)  # fmt: skip
def test_a_failure_makes_no_plan_better(
    actions: list[Taken], solved: bool, steps: list[str], estimate: float
) -> None:
    candidate, before, after = plan(*steps, estimate=estimate), LearnedValues(), LearnedValues()
    for values in (before, after):
        values.learn_run(actions, solved)
    after.learn_actions([(steps[0], False)], 3.0)
    worse = after.plan_value(candidate, [(steps[0], False)])
    assert -1 < worse <= max(1.0, before.plan_value(candidate))


@pytest.mark.parametrize(
    ("text", "plans"),
    [
        ("1. read_file: columns\n2) **run_code** - sum", [("read_file", "run_code")]),
        ("- `read_page` the index\n- get_rates (a tool)", [("read_page", "get_rates")]),
        ("## Plan A (70 %)\n1. run_code: x\nor else\nPlan B: 20%\n1. read_page: y", [("run_code",), ("read_page",)]),
        ("Plan A\n1. run_code: x\nPlan B\n1. run_code: x", [("run_code",)]),
        ("The answer is 7.\n1. Oslo\n2. Rome", []),
        ("", []),
    ],
)  # fmt: skip
def test_plans_are_read_as_models_write_them(text: str, plans: list[tuple[str, ...]]) -> None:
    found = read_plans(text, AGENT_TOOLS)
    assert [tuple(step.action for step in each.steps) for each in found] == plans


def test_chances_are_read_and_what_is_too_long_is_cut() -> None:
    many = "\n".join(f"Plan {letter} (999 %)\n1. run_code: {letter}" for letter in "abcdefg")
    found = read_plans("Plan A (70 %)\n- run_code: x\n" + "1. read_page: y\n" * 20 + many, AGENT_TOOLS)
    assert [each.estimate for each in found] == [0.7, 1.0, 1.0, 1.0]
    assert (len(found), len(found[0].steps)) == (MAX_PLANS, MAX_STEPS)
