"""Recipes: parametrised steps of solved runs, matched to similar tasks, with their success record.

Pure: episodes and known recipes in, recipes out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alita_mcp.agent.interface import Episode, Recipe, RecipeStep
from alita_mcp.agent.memory.wording.likeness import task_similarity
from alita_mcp.agent.memory.wording.parameters import PARAMETER, generalise
from alita_mcp.values import Value

ALIKE_FROM = 0.5
"""Tasks so alike are of one kind: a recipe for the one is worth a try for the other."""
MOST_WORDINGS = 6


class KeptRecipe(Value):
    """A recipe with the wordings of its tasks."""

    recipe: Recipe
    wordings: tuple[str, ...] = ()
    """Tasks that these steps solved, as they were asked; newest first."""


def make_recipe(episode: Episode) -> KeptRecipe | None:
    """The recipe of a solved run; None where it was not solved, or took no step."""
    if not episode.solved or not episode.steps:
        return None
    general = generalise(episode.task, episode.steps)
    mark = json.dumps([general.task, shape(general.steps)], ensure_ascii=True, default=str)
    return KeptRecipe(
        recipe=Recipe(
            id=f"recipe-{hashlib.sha256(mark.encode()).hexdigest()[:12]}",
            task=general.task,
            steps=general.steps,
            successes=1,
        ),
        wordings=(episode.task,),
    )


def shape(steps: Iterable[RecipeStep]) -> list[Any]:
    """Key of a recipe's steps: tools and argument names in order, without values."""
    return [[step.tool, sorted(step.arguments)] for step in steps]


def similarity(task: str, kept: KeptRecipe) -> float:
    """Similarity of a task to those of a recipe, 0 to 1."""
    return max(task_similarity(task, wording) for wording in (kept.recipe.task, *kept.wordings))


def find_repeated(new: KeptRecipe, known: Mapping[str, KeptRecipe]) -> KeptRecipe | None:
    """The known recipe that a new one repeats; None for a new one."""
    steps = shape(new.recipe.steps)
    same = [kept for kept in known.values() if shape(kept.recipe.steps) == steps]
    return known.get(new.recipe.id) or _most_alike((new.recipe.task, *new.wordings), same)


def merge(known: KeptRecipe, new: KeptRecipe) -> KeptRecipe:
    """Merges two recipes: the newer steps under the older id, with the outcomes of both."""
    old, recent = known.recipe, new.recipe
    outcomes = {"successes": old.successes + recent.successes, "failures": old.failures + recent.failures}
    merged = recent.model_copy(update={"id": old.id, **outcomes})
    wordings = dict.fromkeys((*new.wordings, *known.wordings))
    return KeptRecipe(recipe=merged, wordings=tuple(wordings)[:MOST_WORDINGS])


def count_failure(episode: Episode, known: Mapping[str, KeptRecipe]) -> KeptRecipe | None:
    """The recipe that an unsolved run tried, with one more failure; None where it tried no known one."""
    if episode.solved:
        return None
    tried = {*episode.tools_used, *episode.failed, *(step.tool for step in episode.steps)}
    followed = [
        kept for kept in known.values() if tried.intersection(step.tool for step in kept.recipe.steps)
    ]
    kept = _most_alike((episode.task,), followed)
    if kept is None:
        return None
    counted = kept.recipe.model_copy(update={"failures": kept.recipe.failures + 1})
    return kept.model_copy(update={"recipe": counted})


def learn(episode: Episode, known: Mapping[str, KeptRecipe]) -> KeptRecipe | None:
    """The recipe that a run changes: a new one, or a known one with one more success or failure; None for neither."""
    new = make_recipe(episode)
    if new is None:
        return count_failure(episode, known)
    repeated = find_repeated(new, known)
    return new if repeated is None else merge(repeated, new)


def _most_alike(tasks: Sequence[str], recipes: Iterable[KeptRecipe]) -> KeptRecipe | None:
    """The recipe of the tasks most alike; None where none is of one kind with them."""
    alike = [(max(similarity(task, kept) for task in tasks), kept.recipe.id, kept) for kept in recipes]
    best = max(alike, key=lambda each: each[:2], default=None)
    return best[2] if best is not None and best[0] >= ALIKE_FROM else None


def recipe_words(kept: KeptRecipe) -> str:
    """The searched words of a recipe: its task and the other wordings, without parameters."""
    return " ".join(PARAMETER.sub(" ", text) for text in (kept.recipe.task, *kept.wordings))
