"""Recall of recipes, facts and runs for a task, from candidates by words and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from alita_mcp.agent.interface import Episode, Fact, Recalled
from alita_mcp.agent.memory.recipes import KeptRecipe, match
from alita_mcp.agent.memory.records import Memorable, MemoryKind
from alita_mcp.agent.memory.wording.likeness import covers, likeness

CANDIDATES = 60
"""Of each kind, by words; those that are near by meaning come besides."""
ALIKE_FROM = 0.35
"""Less alike runs and recipes are not told of; `recipes.ALIKE_FROM` says from where on a recipe is worth a try."""
ABOUT_FROM = 0.6
"""So much of a fact's subject the task must speak of, unless it is near by meaning."""
MOST_RECIPES, MOST_FACTS, MOST_EPISODES = 3, 8, 3

ByKind = Mapping[MemoryKind, Mapping[str, float]]


def found_in(
    task: str,
    words: Mapping[MemoryKind, Sequence[str]],
    meant: ByKind,
    values: Mapping[MemoryKind, Mapping[str, Memorable]],
    dates: Mapping[str, str],
) -> Recalled:
    """The recipes, facts and runs that bear on a task, most alike first; `dates` are those of the facts."""

    def scored(kind: MemoryKind) -> list[tuple[float, str, Memorable]]:
        near = meant.get(kind, {})
        names = dict.fromkeys((*words.get(kind, ()), *near))
        chosen = ((name, values[kind][name]) for name in names if name in values[kind])
        found = [(_score(task, value, near.get(name, 0.0)), name, value) for name, value in chosen]
        return sorted((each for each in found if each[0] >= ALIKE_FROM), key=_rank)

    recipes = [
        (name, value.recipe, score)
        for score, name, value in scored("procedural")
        if isinstance(value, KeptRecipe)
    ][:MOST_RECIPES]
    facts = [(name, value) for _, name, value in scored("semantic") if isinstance(value, Fact)][:MOST_FACTS]
    episodes = [
        (name, value, score) for score, name, value in scored("episodic") if isinstance(value, Episode)
    ][:MOST_EPISODES]
    return Recalled(
        recipes=tuple((recipe, score) for _, recipe, score in recipes),
        facts=tuple((fact, dates.get(name, "")) for name, fact in facts),
        episodes=tuple((episode, score) for _, episode, score in episodes),
        ids=tuple(each[0] for each in (*recipes, *facts, *episodes)),
    )


def _score(task: str, value: Memorable, meaning: float) -> float:
    if isinstance(value, KeptRecipe):
        return match(task, value, meaning)
    if isinstance(value, Episode):
        return likeness(task, value.task, meaning)
    about = covers(value.subject, task)
    return round(max(about if about >= ABOUT_FROM else 0.0, meaning), 4)


def _rank(found: tuple[float, str, Memorable]) -> tuple[float, float, str]:
    """Most alike first; of two recipes the one that failed less."""
    score, name, value = found
    return -score, (value.recipe.failures if isinstance(value, KeptRecipe) else 0), name
