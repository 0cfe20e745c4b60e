"""Recall of recipes, facts and runs for a task, from candidates that share its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from alita_mcp.agent.interface import Episode, Fact, Recalled
from alita_mcp.agent.memory.recipes import KeptRecipe, match
from alita_mcp.agent.memory.records import Memorable, MemoryKind, Row
from alita_mcp.agent.memory.wording.likeness import covers, likeness

ALIKE_FROM = 0.35
"""Less alike runs and recipes are not told of; `recipes.ALIKE_FROM` says from where on a recipe is worth a try."""
ABOUT_FROM = 0.6
"""So much of a fact's subject the task must speak of."""
MOST_RECIPES, MOST_FACTS, MOST_EPISODES = 3, 8, 3


def found_in(task: str, candidates: Mapping[MemoryKind, Sequence[Row]]) -> Recalled:
    """The recipes, facts and runs that bear on a task, most alike first."""
    scored = {
        kind: sorted(
            (
                (score, row, value)
                for row in rows
                if (value := row.value) is not None and (score := _score(task, value)) >= ALIKE_FROM
            ),
            key=_rank,
        )
        for kind, rows in candidates.items()
    }
    recipes = scored["procedural"][:MOST_RECIPES]
    facts = scored["semantic"][:MOST_FACTS]
    episodes = scored["episodic"][:MOST_EPISODES]
    return Recalled(
        recipes=tuple((value.recipe, score) for score, _, value in recipes if isinstance(value, KeptRecipe)),
        facts=tuple((value, row.at) for _, row, value in facts if isinstance(value, Fact)),
        episodes=tuple((value, score) for score, _, value in episodes if isinstance(value, Episode)),
        ids=tuple(row.id for _, row, _ in (*recipes, *facts, *episodes)),
    )


def _score(task: str, value: Memorable) -> float:
    if isinstance(value, KeptRecipe):
        return match(task, value)
    if isinstance(value, Episode):
        return likeness(task, value.task)
    about = covers(value.subject, task)
    return about if about >= ABOUT_FROM else 0.0


def _rank(found: tuple[float, Row, Memorable]) -> tuple[float, float, str]:
    """Most alike first; of two recipes the one that failed less."""
    score, row, value = found
    return -score, (value.recipe.failures if isinstance(value, KeptRecipe) else 0), row.id
