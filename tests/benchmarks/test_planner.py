from __future__ import annotations

import argparse
from typing import Any

import pytest

from alita_mcp.agent.planning.search import SearchConfig
from benchmarks.planner import MEASURES, PLANNER, add_arguments, compared, compared_agents, run, table
from benchmarks.planner.agents import BUDGET, Attempt, best_of_k, react, searching
from benchmarks.planner.worlds import NEEDS, ROUNDS, TASKS, World


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(list(words))


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return run(options("--worlds", "20", "--seed", "5000"))


def test_the_planner_fails_less_and_costs_less_than_plain_react_and_best_of_k(result: dict[str, Any]) -> None:
    found = result["parts"]["all tasks"]["agents"]
    for other in ("react", "best of k"):
        for measure in ("failed_steps", "usd", "seconds"):
            assert found[PLANNER]["mean"][measure] < found[other]["mean"][measure]
        assert found[other]["planner_minus"]["usd"][2] < 0


def test_each_part_counts_its_tasks_and_the_differences_lie_in_their_intervals(
    result: dict[str, Any],
) -> None:
    parts = result["parts"]
    assert parts["all tasks"]["tasks"] == 20 * TASKS
    assert parts["first plan right"]["tasks"] + parts["first plan not right"]["tasks"] == 20 * TASKS
    for part in parts.values():
        assert set(part["agents"]) == set(compared_agents())
        for agent in part["agents"].values():
            for mean, low, high in agent["planner_minus"].values():
                assert low - 1e-9 <= mean <= high + 1e-9


def test_the_table_shows_every_agent_and_part(result: dict[str, Any]) -> None:
    shown = table(result)
    for word in (*MEASURES, *result["parts"], *compared_agents()):
        assert word in shown


def test_the_same_world_is_the_same_for_every_agent_and_each_time() -> None:
    one, other = World(7, 0.2), World(7, 0.2)
    assert one.options == other.options
    assert one.plans(3, 1) == other.plans(3, 1)
    assert [vars(each)["steps"] for each in react(one)] == [each.steps for each in react(other)]
    option = one.options[0][0]
    assert one.outcome(0, option, 2) == other.outcome(0, option, 2)
    assert World(8, 0.2).options != one.options


def test_worlds_hold_tools_that_fail_that_lie_and_that_change() -> None:
    worlds = [World(seed, 0.2) for seed in range(30)]
    options = [option for world in worlds for options in world.options for option in options]
    assert {option.need for option in options} == set(range(NEEDS))
    assert sum(option.changes_at < TASKS for option in options) > 50
    outcomes = {world.outcome(0, option, 0) for world in worlds for option in world.options[0]}
    assert outcomes == {"right", "wrong", "failed"}
    assert any(not step.known for world in worlds for plan in world.plans(0) for step in plan.steps)


def test_a_model_that_is_told_what_failed_proposes_something_else() -> None:
    world = World(3, 0.2)
    failed = world.plans(0)[0].steps[0]
    keys = {step.key for plan in world.plans(0, 1, [failed.key]) for step in plan.steps}
    assert failed.key not in keys


@pytest.mark.parametrize("agent", [react, best_of_k, searching(SearchConfig(budget=BUDGET))])
def test_no_agent_goes_on_after_its_budget_or_asks_too_often(agent: Any) -> None:
    for attempt in agent(World(11, 0.4)):
        assert attempt.steps <= BUDGET.steps
        assert attempt.asked <= ROUNDS
        assert attempt.usd < BUDGET.usd + 0.5
        assert attempt.solved or attempt.over or attempt.asked == ROUNDS or agent is react


def test_a_lie_is_found_out_at_the_check_and_counts_as_a_failed_step() -> None:
    worlds = [World(seed, 0.2) for seed in range(20)]
    world, option = next(
        (world, option)
        for world in worlds
        for options in world.options
        for option in options
        if world.outcome(0, option, 0) == "wrong"
    )
    attempt = Attempt(world, 0)
    assert attempt.take(option.step)
    assert attempt.failed_steps == 0
    assert not attempt.check([option.step])
    assert attempt.failed_steps == 1


def test_an_agent_beside_itself_differs_by_nothing() -> None:
    lived = {PLANNER: [react(World(1, 0.2))], "react": [react(World(1, 0.2))]}
    found = compared(lived, [list(range(TASKS))])
    assert found["agents"]["react"]["planner_minus"]["steps"] == [0, 0, 0]
    assert compared(lived, [[]])["tasks"] == 0
