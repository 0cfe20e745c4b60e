"""Recipes: how often a like task finds its own, and the record of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.interface import Episode, RecipeStep
from alita_mcp.agent.memory.recipes import (
    ALIKE_FROM,
    MOST_WORDINGS,
    KeptRecipe,
    learn,
    make_recipe,
    similarity,
)
from alita_mcp.agent.memory.wording.likeness import coverage, task_similarity
from tests.agent.memory.labelled import LIKE, UNLIKE, Kind


def episode(
    task: str, arguments: dict[str, Any] | None = None, tool: str = "sum_column", **others: Any
) -> Episode:
    step = RecipeStep(tool=tool, need="", arguments=arguments or {})
    told = {"run": "r", "solved": True, "answer": "", "at": "", "steps": (step,), **others}
    return Episode(task=task, **told)


def made(task: str, arguments: dict[str, Any] | None = None, tool: str = "sum_column") -> KeptRecipe:
    recipe = make_recipe(episode(task, arguments, tool))
    assert recipe is not None
    return recipe


SUM = ("What is the sum of amount in sales.csv?", {"path": "sales.csv", "column": "amount"})


def found(kinds: Sequence[Kind], unlike: Sequence[str]) -> tuple[int, int, int]:
    """Rewordings that find their own recipe, those that find another one, and unlike tasks that find any."""
    known = [made(kind.task, kind.arguments, f"tool_{at}") for at, kind in enumerate(kinds)]

    def best(task: str) -> int | None:
        score, at = max((similarity(task, each), at) for at, each in enumerate(known))
        return at if score >= ALIKE_FROM else None

    finds = [best(task) == at for at, kind in enumerate(kinds) for task in kind.rewordings]
    wrong = [best(task) not in (at, None) for at, kind in enumerate(kinds) for task in kind.rewordings]
    return sum(finds), sum(wrong), sum(best(task) is not None for task in unlike)


def test_a_task_in_other_words_finds_its_recipe_and_an_unlike_one_mostly_none() -> None:
    own, wrong, unlike = found(LIKE, UNLIKE)
    assert (own >= 10, wrong, unlike <= 2) == (True, 0, True), (own, wrong, unlike)


def test_the_same_task_with_other_values_is_wholly_alike() -> None:
    for kind in LIKE:
        assert similarity(kind.task, made(kind.task, kind.arguments)) == 1.0
    assert similarity("What is the sum of `price` in orders.csv?", made(*SUM)) == 1.0


def test_another_operation_on_the_same_things_is_another_task() -> None:
    template = made("Which town in weather.csv had the highest temperature?", {"path": "weather.csv"})
    assert similarity("Which town in climate.csv had the highest temperature?", template) == 1.0
    assert similarity("Which town in weather.csv had the lowest temperature?", template) < ALIKE_FROM


@given(st.text(max_size=80), st.text(max_size=80))
def test_likeness_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0.0 <= task_similarity(one, other) <= 1.0
    assert task_similarity(one, other) == pytest.approx(task_similarity(other, one), abs=1e-3)
    assert 0.0 <= coverage(one, other) <= 1.0 + 1e-9


@pytest.mark.parametrize("hostile", ["{a} x ", "{file}{file_2}", "x {a} ", "{x1} {y1} "])
def test_hostile_templates_are_compared_at_once(hostile: str) -> None:
    assert 0.0 <= task_similarity(hostile * 2_000, "x " * 9_000) < 1.0


def test_two_runs_of_the_same_steps_make_one_recipe() -> None:
    first = learn(episode(*SUM), {})
    assert first is not None
    task, arguments = "Add up the `price` column of orders.csv.", {"path": "orders.csv", "column": "price"}
    second = learn(episode(task, arguments), {first.recipe.id: first})
    assert second is not None
    recipe = second.recipe
    assert (recipe.id, recipe.successes, recipe.failures) == (first.recipe.id, 2, 0)
    assert second.wordings == (task, SUM[0])
    assert recipe.task == "Add up the `{column}` column of {file}."


def test_other_steps_or_another_task_make_a_recipe_of_their_own() -> None:
    first = made(*SUM)
    known = {first.recipe.id: first}
    others = [
        learn(episode(*SUM, tool="run_code"), known),
        learn(episode("Plot amount of sales.csv.", SUM[1]), known),
    ]
    assert all(other is not None and other.recipe.id != first.recipe.id for other in others)


def test_a_failure_counts_against_the_recipe_that_was_tried() -> None:
    first = made(*SUM)
    known = {first.recipe.id: first}
    failed = learn(episode(*SUM, solved=False, failed=("sum_column",), steps=()), known)
    assert failed is not None
    assert (failed.recipe.failures, failed.recipe.successes, failed.recipe.steps) == (
        1,
        1,
        first.recipe.steps,
    )
    assert learn(episode(*SUM, tool="other", solved=False), known) is None
    assert learn(episode("Who wrote it?", {}, solved=False), known) is None


def test_a_run_without_steps_teaches_nothing_and_wordings_are_bounded() -> None:
    assert learn(episode("What is 2 + 2?", steps=()), {}) is None
    kept = made(*SUM)
    for at in range(20):
        again = learn(
            episode(f"What is the sum of amount in sales{at}.csv?", SUM[1] | {"path": f"sales{at}.csv"}),
            {kept.recipe.id: kept},
        )
        assert again is not None
        assert again.recipe.id == kept.recipe.id
        kept = again
    assert len(kept.wordings) == MOST_WORDINGS
    assert kept.recipe.successes == 21
