"""Persistent memory of tasks, which implements `agent.interface.Memory`.

Neither `recall` nor `remember` raises, and a recall does not wait long: it is a help, not a truth.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.agent.interface import Episode, Fact, FinishedRun, Recalled, Recipe, RecipeStep, ToolProposal
from alita_mcp.agent.memory import facts as kept
from alita_mcp.agent.memory.database import (
    MemoryDatabase,
    delete_rows,
    drop_least_used,
    find_rows,
    read_rows,
    same_rows,
    touch_rows,
    write_row,
)
from alita_mcp.agent.memory.instructions import gives_orders, overrides_instructions
from alita_mcp.agent.memory.recipes import KeptRecipe, learn, similarity
from alita_mcp.agent.memory.records import KINDS, Memorable, MemoryEntry, MemoryKind, Row, entry_of, row_of
from alita_mcp.agent.memory.redaction import Redactor
from alita_mcp.agent.memory.wording.likeness import coverage, task_similarity
from alita_mcp.agent.memory.wording.literals import SMALL_WORDS
from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.owners import USER
from alita_mcp.texts import clip
from alita_mcp.values import Value

RECALL_WITHIN_S = 1.0
CANDIDATES = 60
"""Of each kind, by words."""
MOST_KEPT = 2_000
"""Memories of each kind."""
ALIKE_FROM = 0.35
"""Less alike runs and recipes are not recalled; `recipes.ALIKE_FROM` says from where on a recipe is worth a try."""
ABOUT_FROM = 0.6
"""So much of a fact's subject the task must mention."""
MOST_RECIPES, MOST_FACTS, MOST_EPISODES = 3, 8, 3
LEFT_OUT = "[left out]"
MOST_CHARACTERS = 1_600
"""Of what the model reads of memory, about 400 tokens."""
_log = logging.getLogger(__name__)


class Found(Value):
    """Recalled recipes, facts and runs that bear on a task, most similar first."""

    recipes: tuple[tuple[Recipe, float], ...] = ()
    """Each with how alike its task is, 0 to 1."""
    facts: tuple[tuple[Fact, str], ...] = ()
    """Each with its ISO 8601 date."""
    episodes: tuple[tuple[Episode, float], ...] = ()
    ids: tuple[str, ...] = ()


class StoredMemory:
    """The memory of one home: an owner recalls its own alone, a person may see all; reads nothing before it is used."""

    def __init__(
        self,
        home: Path,
        secrets: Callable[[], Iterable[str]] = tuple,
        most: int = MOST_KEPT,
        *,
        owner: str = USER,
    ) -> None:
        """`secrets` gives the values that must never be stored, besides keys of the environment."""
        self._database = MemoryDatabase(home)
        self._secrets = secrets
        self._most = most
        self._owner = owner

    async def recall(self, task: str, files: Mapping[str, Path]) -> Recalled:  # noqa: ARG002
        """Finds what the owner's earlier runs have for a task; empty when out of time."""
        found = await self.find(task)
        return Recalled(text=clip(memory_lines(found), MOST_CHARACTERS), ids=found.ids)

    async def find(self, task: str) -> Found:
        """Finds the owner's recipes, facts and runs that bear on a task, most similar first; empty when out of time."""
        if not self._database.exists or not task.strip():
            return Found()
        try:
            with anyio.move_on_after(RECALL_WITHIN_S):
                work = partial(recall_from, owner=self._owner, task=task)
                return await anyio.to_thread.run_sync(self._database.transact, work, abandon_on_cancel=True)
        except Exception as failure:  # noqa: BLE001 - duty of the interface: a memory that fails stops no run
            _log.warning("Cannot recall earlier tasks: %s", failure)
        return Found()

    async def remember(self, finished: FinishedRun) -> ToolProposal | None:
        """Stores a run, its facts, and the recipe that its programs make, without secrets."""
        steps = (
            RecipeStep(
                tool="run_code", need="compute the answer", arguments={"code": each.code, **each.arguments}
            )
            for each in finished.programs
        )
        same = finished.model_dump(
            include={"run", "task", "solved", "answer", "at", "tools_used", "tools_made"}
        )
        await self.remember_episode(Episode(**same, steps=tuple(steps)), finished.facts)
        return None

    async def remember_episode(self, episode: Episode, facts: Sequence[Fact] = ()) -> None:
        """Stores a run, its facts, and the recipe that its steps make, without secrets."""
        try:
            await anyio.to_thread.run_sync(self._remember, episode, facts)
        except Exception as failure:  # noqa: BLE001 - duty of the interface: a memory that fails stops no run
            _log.warning("Cannot remember the task: %s", failure)

    async def list(self, kind: MemoryKind | None = None, query: str = "") -> Sequence[MemoryEntry]:
        """All memories of all owners, or those of one kind, or those with all words of a query; newest first.

        Raises:
            LibraryError: they cannot be read.
        """
        if not self._database.exists:
            return []
        kinds = KINDS if kind is None else (kind,)
        rows = await anyio.to_thread.run_sync(
            self._database.transact, lambda db: [row for each in kinds for row in read_rows(db, each)]
        )
        words = [word for word in query.casefold().split() if word not in SMALL_WORDS]
        return [
            entry_of(row, value)
            for row in rows
            if (value := row.value) is not None and all(word in row.body.casefold() for word in words)
        ]

    async def show(self, memory_id: str) -> MemoryEntry:
        """One memory by its id.

        Raises:
            ToolNotFound: there is none.
            LibraryError: they cannot be read.
        """
        found = next((each for each in await self.list() if each.id == memory_id), None)
        if found is None:
            raise ToolNotFound(f"There is no memory {memory_id[:60]!r}.", hint="List them: alita memory list")
        return found

    async def forget(self, ids: Collection[str] = (), *, everything: bool = False) -> int:
        """Removes memories from the disk: those of these ids, or all; returns their number.

        Raises:
            LibraryError: they cannot be read or written.
        """
        if everything:
            count = len(await self.list())
            await anyio.to_thread.run_sync(self._database.remove)
            return count
        if not ids or not self._database.exists:
            return 0
        removed = await anyio.to_thread.run_sync(self._database.transact, partial(delete_rows, ids=ids))
        await anyio.to_thread.run_sync(self._database.purge)
        return removed

    async def export(self, path: Path, kind: MemoryKind | None = None) -> int:
        """Writes all memories, one JSON object a line; returns their number.

        Raises:
            LibraryError: they cannot be read, or the file not be written.
        """
        entries = await self.list(kind)
        lines = "".join(f"{entry.model_dump_json()}\n" for entry in entries)
        try:
            await anyio.Path(path).write_text(lines, encoding="utf-8")
        except OSError as failure:
            raise LibraryError(f"Cannot write {path}: {failure.strerror}.") from failure
        return len(entries)

    def _remember(self, episode: Episode, facts: Sequence[Fact]) -> None:
        now = time.time()
        moment = datetime.fromtimestamp(now, UTC)
        redactor = Redactor(self._secrets())
        safe = _without_orders(redactor.episode(episode))
        at = kept.first_date((safe.at,), moment)
        clean = filter(None, map(redactor.fact, facts[: kept.MOST_OF_A_RUN]))
        new_facts = [
            kept.DatedFact(fact, kept.first_date((fact.source.retrieved_at, at), moment))
            for fact in filter(None, map(kept.fit_to_keep, clean))
        ]

        def write(db: sqlite3.Connection) -> None:
            # The run takes the place of those with the same task, answer and tools.
            row = row_of(safe, at, now, self._owner)
            delete_rows(db, [each.id for each in same_rows(db, "episodic", [row])])
            write_row(db, row, safe)
            _write_facts(db, new_facts, now, self._owner)
            # Its recipe is new, or counts with the known one that it followed.
            near = find_rows(db, "procedural", self._owner, safe.task, CANDIDATES)
            values = [row.value for row in near]
            known = {value.recipe.id: value for value in values if isinstance(value, KeptRecipe)}
            if learnt := learn(safe, known):
                write_row(db, row_of(learnt, at, now, self._owner), learnt)
            for kind in KINDS:
                drop_least_used(db, kind, self._most)

        self._database.transact(write)


def memory_lines(found: Found) -> str:
    """Memories of earlier runs, as lines."""
    lines = []
    for recipe, likeness in found.recipes:
        steps = "; ".join(
            f"{step.tool}({clip(json.dumps(step.arguments, ensure_ascii=False), 300)}) for {step.need}"
            for step in recipe.steps
        )
        worked = f"worked {recipe.successes} times, failed {recipe.failures}"
        lines.append(f"- A like task ({likeness:.0%} alike, {worked}): {recipe.task} Steps: {steps}")
    for fact, date in found.facts:
        lines.append(f"- {fact.kind} of {date[:10]}, from {fact.source.url or 'an earlier run'}: {fact.text}")
    for episode, likeness in found.episodes[:2]:
        end = "solved" if episode.solved else "not solved"
        lines.append(f"- {episode.at[:10]}, {end} ({likeness:.0%} alike): {episode.task[:300]}")
    return "\n".join(lines)


def recall_from(db: sqlite3.Connection, owner: str, task: str) -> Found:
    """Recalls an owner's recipes, facts and runs that bear on a task and share its words, most alike first."""

    def score(value: Memorable) -> float:
        if isinstance(value, KeptRecipe):
            return similarity(task, value)
        if isinstance(value, Episode):
            return task_similarity(task, value.task)
        about = coverage(value.subject, task)
        return about if about >= ABOUT_FROM else 0.0

    def rank(found: tuple[float, Row, Memorable]) -> tuple[float, float, str]:
        """Most alike first; of two recipes the one that failed less."""
        alike, row, value = found
        return -alike, (value.recipe.failures if isinstance(value, KeptRecipe) else 0), row.id

    def best(kind: MemoryKind, most: int) -> Sequence[tuple[float, Row, Memorable]]:
        rows = find_rows(db, kind, owner, task, CANDIDATES)
        scored = [(score(value), row, value) for row in rows if (value := row.value) is not None]
        return sorted((each for each in scored if each[0] >= ALIKE_FROM), key=rank)[:most]

    recipes, facts = best("procedural", MOST_RECIPES), best("semantic", MOST_FACTS)
    episodes = best("episodic", MOST_EPISODES)
    found = Found(
        recipes=tuple((value.recipe, alike) for alike, _, value in recipes if isinstance(value, KeptRecipe)),
        facts=tuple((value, row.at) for _, row, value in facts if isinstance(value, Fact)),
        episodes=tuple((value, alike) for alike, _, value in episodes if isinstance(value, Episode)),
        ids=tuple(row.id for _, row, _ in (*recipes, *facts, *episodes)),
    )
    touch_rows(db, found.ids, time.time())
    return found


def _write_facts(db: sqlite3.Connection, new_facts: Sequence[kept.DatedFact], now: float, owner: str) -> None:
    """Adds an owner's facts in place of older ones of their subjects."""
    rows = [row_of(each.fact, each.at, now, owner) for each in new_facts]
    known = {
        kept.key_of(value): (row, kept.DatedFact(value, row.at))
        for row in same_rows(db, "semantic", rows)
        if isinstance(value := row.value, Fact)
    }
    change = kept.choose_facts(new_facts, {key: fact for key, (_, fact) in known.items()})
    delete_rows(db, [known[key][0].id for key in change.removed])
    for each in change.stored.values():
        write_row(db, row_of(each.fact, each.at, now, owner), each.fact)


def _without_orders(episode: Episode) -> Episode:
    """A run without texts that give the agent orders, which it may have got from pages."""

    def without_overrides(value: Any) -> Any:
        if isinstance(value, dict):
            kept = {name: part for name, part in value.items() if not overrides_instructions(name)}
            return {name: without_overrides(part) for name, part in kept.items()}
        if isinstance(value, list):
            return [without_overrides(part) for part in value]
        return LEFT_OUT if isinstance(value, str) and overrides_instructions(value) else value

    def clean(step: RecipeStep) -> RecipeStep:
        need = LEFT_OUT if gives_orders(step.need) else step.need
        return step.model_copy(update={"need": need, "arguments": without_overrides(step.arguments)})

    answer = LEFT_OUT if gives_orders(episode.answer) else episode.answer
    return episode.model_copy(update={"answer": answer, "steps": tuple(map(clean, episode.steps))})
