"""Changes that one run makes to the memory: rows to write and rows to remove."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from alita_mcp.agent.interface import Episode, Fact, RecipeStep
from alita_mcp.agent.memory import facts as kept
from alita_mcp.agent.memory.instructions import gives_orders, overrides_instructions
from alita_mcp.agent.memory.recipes import KeptRecipe, learn, make
from alita_mcp.agent.memory.records import (
    Memorable,
    MemoryKind,
    Row,
    id_of,
    is_again,
    row_of,
    searched_text,
)
from alita_mcp.agent.memory.redaction import Redactor
from alita_mcp.library.words.stems import stems

LEFT_OUT = "[left out]"


class Clean(NamedTuple):
    """A run without secrets and foreign instructions, ready to be stored."""

    episode: Episode
    facts: tuple[kept.DatedFact, ...]
    at: str
    """When it was, ISO 8601, UTC."""


class Known(NamedTuple):
    """Rows that a table holds."""

    rows: Mapping[str, Row]
    values: Mapping[str, Memorable]
    used: Mapping[str, float]
    """When memories were recalled that the rows do not say yet."""
    near: Collection[str]
    """Those that fit the run's task by words."""


def cleaned(redactor: Redactor, episode: Episode, facts: Sequence[Fact], now: datetime) -> Clean:
    """A run without secrets and without instructions from pages."""
    safe = redactor.episode(episode)
    if gives_orders(safe.answer):
        safe = safe.model_copy(update={"answer": LEFT_OUT})
    safe = safe.model_copy(update={"steps": tuple(map(_without_orders, safe.steps))})
    at = kept.when((safe.at,), now)
    known = filter(None, map(redactor.fact, facts[: kept.MOST_OF_A_RUN]))
    fit = filter(None, map(kept.fit_to_keep, known))
    return Clean(safe, tuple(kept.dated(fact, at, now) for fact in fit), at)


def _without_orders(step: RecipeStep) -> RecipeStep:
    need = LEFT_OUT if gives_orders(step.need) else step.need
    return step.model_copy(update={"need": need, "arguments": _stated(step.arguments)})


def _stated(value: Any) -> Any:
    """Arguments, which may quote a page, without texts that say to ignore what the agent was told."""
    if isinstance(value, dict):
        return {name: _stated(part) for name, part in value.items() if not overrides_instructions(name)}
    if isinstance(value, list):
        return [_stated(part) for part in value]
    return LEFT_OUT if isinstance(value, str) and overrides_instructions(value) else value


def of_a_run(
    kind: MemoryKind, run: Clean, known: Known, now: float, most: int
) -> tuple[list[Row], frozenset[str]]:
    """Rows that a run adds or changes, and names of rows to remove: replaced ones, and the least used."""
    rows, gone = _CHANGES[kind](run, known, now)
    there = {name: max(row.touched, known.used.get(name, 0.0)) for name, row in known.rows.items()}
    after = there | {row.name: row.touched for row in rows}
    left = sorted(after.keys() - gone, key=lambda name: (after[name], name))
    forgotten = frozenset(left[: max(0, len(left) - most)])
    kept_rows = [row for row in rows if row.name not in forgotten]
    return kept_rows, frozenset((gone | forgotten) & known.rows.keys())


def _episode(run: Clean, known: Known, now: float) -> tuple[list[Row], frozenset[str]]:
    row = row_of(run.episode, run.at, now)
    again = frozenset(
        name
        for name, value in known.values.items()
        if name != row.name and isinstance(value, Episode) and is_again(value, run.episode)
    )
    return [row], again


def _facts(run: Clean, known: Known, now: float) -> tuple[list[Row], frozenset[str]]:
    if not run.facts:
        return [], frozenset()
    names = {id_of(each.fact) for each in run.facts}
    said = {kept.normal_text(each.fact) for each in run.facts}
    there = {
        kept.key_of(value): kept.DatedFact(value, known.rows[name].at)
        for name, value in known.values.items()
        if isinstance(value, Fact) and (name in names or kept.normal_text(value) in said)
    }
    change = kept.choose(run.facts, there)
    rows = [row_of(each.fact, each.at, now) for each in change.stored.values()]
    return rows, frozenset(id_of(there[key].fact) for key in change.removed)


def _recipe(run: Clean, known: Known, now: float) -> tuple[list[Row], frozenset[str]]:
    new = make(run.episode)
    names = dict.fromkeys((*known.near, *([new.recipe.id] if new else [])))
    found = {name: known.values.get(name) for name in names}
    there = {name: value for name, value in found.items() if isinstance(value, KeptRecipe)}
    learnt = learn(run.episode, there)
    return ([row_of(learnt, run.at, now)] if learnt else []), frozenset()


_CHANGES = {"episodic": _episode, "semantic": _facts, "procedural": _recipe}


def has_words(value: Memorable, query: str) -> bool:
    """Whether a memory contains all words of a query, in any form."""
    words = set(stems(query)) or {query.strip().casefold()}
    text = searched_text(value)
    return words <= {*stems(text), *text.casefold().split()}
