"""Persistent memory of tasks, which implements `agent.interface.Memory`.

Neither `recall` nor `remember` raises, and a recall does not wait long: it is a help, not a truth. What was recalled
too late is there for the next one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.agent.interface import Episode, Fact, Recalled
from alita_mcp.agent.memory import changes
from alita_mcp.agent.memory.recalling import CANDIDATES, found_in
from alita_mcp.agent.memory.records import KINDS, MemoryEntry, MemoryKind, entry_of
from alita_mcp.agent.memory.redaction import Redactor
from alita_mcp.agent.memory.tables import FOLDER, MemoryTable, exists, make_private, remove_all
from alita_mcp.agent.memory.vectors import MemoryVectors, drop_vectors
from alita_mcp.errors import LibraryError, ModelError, ToolNotFound
from alita_mcp.library.background import background
from alita_mcp.models.embedding.interface import CheckedEmbedder, Embedder
from alita_mcp.settings import Settings

RECALL_WITHIN_S, FIRST_WITHIN_S = 1.0, 10.0
"""How long a recall may take; the first one of a process imports LanceDB."""
MEANING_SHARE = 0.7
"""Of that time, what the embedder may take; words answer without it."""
MOST_KEPT = 2_000
"""Memories of each kind."""
FILL_WITHIN_S = 30.0
REMEMBER_WITHIN_S = 60.0

Secrets = Callable[[], Iterable[str]]
T = TypeVar("T")
_log = logging.getLogger(__name__)


class StoredMemory:
    """The memory of one home; made by `open_memory`."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder | None,
        secrets: Secrets,
        tasks: TaskGroup,
        most: int,
    ) -> None:
        self._home: Path = settings.home
        self._most = most
        self._secrets = secrets
        self._tasks = tasks
        self._tables = {kind: MemoryTable(self._home, kind) for kind in KINDS}
        self._vectors = MemoryVectors(self._home, CheckedEmbedder(embedder)) if embedder else None
        self._lock = anyio.Lock()
        self._filling = anyio.Lock()
        self._is_loaded = False
        self._used: dict[str, float] = {}

    async def recall(self, task: str) -> Recalled:
        """Finds recipes, facts and runs that bear on a task, most similar first; empty when out of time."""
        if not exists(self._home) or not task.strip():
            return Recalled()
        limit = RECALL_WITHIN_S if self._is_loaded else FIRST_WITHIN_S
        found = await self._within(limit, lambda: self._recall(task, limit * MEANING_SHARE))
        return found or Recalled()

    async def remember(self, episode: Episode, facts: Sequence[Fact] = ()) -> None:
        """Stores a run, its facts, and the recipe that its steps make, without secrets."""
        await self._within(REMEMBER_WITHIN_S, lambda: self._remember(episode, facts))

    async def list(self, kind: MemoryKind | None = None, query: str = "") -> Sequence[MemoryEntry]:
        """All memories, or those of one kind, or those with all words of a query; newest first.

        Raises:
            LibraryError: they cannot be read.
        """
        async with self._lock:
            await self._load()
            return [
                entry_of(table.kind, table.rows[name], value)
                for table in self._tables.values()
                if kind in (None, table.kind)
                for name, value in sorted(
                    table.values.items(), key=lambda item: (table.rows[item[0]].at, item[0]), reverse=True
                )
                if not query or changes.has_words(value, query)
            ]

    async def show(self, memory_id: str) -> MemoryEntry:
        """One memory by its id.

        Raises:
            ToolNotFound: there is none.
            LibraryError: they cannot be read.
        """
        found = next((each for each in await self.list() if each.id == memory_id), None)
        if found is None:
            raise ToolNotFound(
                f"There is no memory {memory_id[:60]!r}.", hint="`alita memory list` shows all of them."
            )
        return found

    async def forget(self, ids: Collection[str] = (), *, everything: bool = False) -> int:
        """Removes memories from the disk: those of these ids, or all; returns their number.

        Raises:
            LibraryError: they cannot be read or written.
        """
        known = {each.id for each in await self.list()}
        if everything:
            return await self._forget_all(len(known))
        chosen = known.intersection(ids)
        async with self._lock:
            for table in self._tables.values():
                if gone := chosen & table.rows.keys():
                    async with table.locked():
                        await table.write((), gone)
                        await table.purge()
        if chosen:
            await self._fill(purge=True)
        return len(chosen)

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
            raise LibraryError(f"{path} cannot be written: {failure.strerror}.") from failure
        return len(entries)

    def close(self) -> None:
        """Closes the files."""
        for table in self._tables.values():
            table.close()
            table.words.close()
        if self._vectors:
            self._vectors.close()

    async def _load(self) -> None:
        """Brings the tables up to date; nothing is imported where nothing was ever remembered."""
        if not exists(self._home):
            for table in self._tables.values():
                table.empty()
            return
        await self._load_all()

    async def _recall(self, task: str, patience_s: float) -> Recalled:
        async with self._lock:
            await self._load()
            words = await anyio.to_thread.run_sync(self._by_words, task)
            meant = await self._meant(task, words, patience_s)
            values = {kind: table.values for kind, table in self._tables.items()}
            dates = {name: row.at for name, row in self._tables["semantic"].rows.items()}
            found = await anyio.to_thread.run_sync(found_in, task, words, meant, values, dates)
            self._used |= dict.fromkeys(found.ids, time.time())
            return found

    def _by_words(self, task: str) -> dict[MemoryKind, Sequence[str]]:
        return {kind: table.words.search(task, CANDIDATES) for kind, table in self._tables.items()}

    async def _meant(
        self, task: str, words: Mapping[MemoryKind, Sequence[str]], patience_s: float
    ) -> Mapping[MemoryKind, Mapping[str, float]]:
        if self._vectors is None:
            return {}
        try:
            with anyio.fail_after(patience_s):
                return await self._vectors.likeness(task, words)
        except (ModelError, LibraryError, TimeoutError) as failure:
            _log.info("Memories are found by words alone: %s", failure or "the embedder is slow")
            self._vectors.close()  # the next time they are opened again
            return {}

    async def _remember(self, episode: Episode, facts: Sequence[Fact]) -> None:
        redactor = Redactor(self._secrets())
        now = time.time()
        moment = datetime.fromtimestamp(now, UTC)
        clean = await anyio.to_thread.run_sync(changes.cleaned, redactor, episode, facts, moment)
        async with self._lock:
            make_private(self._home)
            await self._load_all()
            async with self._tables[KINDS[0]].locked():
                await self._load_all()  # what another process wrote meanwhile
                near = await anyio.to_thread.run_sync(self._by_words, clean.episode.task)
                for kind, table in self._tables.items():
                    await table.touch(self._used)
                    known = changes.Known(table.rows, table.values, self._used, near[kind])
                    put, gone = await anyio.to_thread.run_sync(
                        changes.of_a_run, kind, clean, known, now, self._most
                    )
                    await table.write(put, gone)
                self._used.clear()
        await self._fill()

    async def _load_all(self) -> None:
        for table in self._tables.values():
            await table.refresh()
        self._is_loaded = True

    async def _fill(self, *, purge: bool = False) -> None:
        """Gives memories their vectors; with `purge` those of forgotten ones go from the disk, of any embedder."""
        if self._vectors is None:
            if purge:
                await anyio.to_thread.run_sync(drop_vectors, self._home / FOLDER, ())
            return
        async with self._filling:
            try:
                with anyio.fail_after(FILL_WITHIN_S):
                    await self._vectors.fill({kind: table.values for kind, table in self._tables.items()})
                    if purge:
                        await self._vectors.purge()
            except (ModelError, TimeoutError) as failure:
                _log.info("Memories get their vectors later: %s", failure or "the embedder is slow")
                if purge:
                    await self._vectors.reset()
            except LibraryError as failure:
                _log.info("The vectors of memories are made anew: %s", failure)
                await self._vectors.reset()

    async def _forget_all(self, count: int) -> int:
        async with self._lock:
            for table in self._tables.values():
                table.close()
                table.empty()
            if self._vectors:
                self._vectors.close()
            await anyio.to_thread.run_sync(remove_all, self._home)
            self._is_loaded = False
        return count

    async def _within(self, seconds: float, work: Callable[[], Awaitable[T]]) -> T | None:
        """What the work gives, if it does so in time and does not fail; late work goes on."""
        done = anyio.Event()
        given: list[T] = []

        async def run() -> None:
            try:
                given.append(await work())
            except Exception as failure:  # noqa: BLE001 - duty of the interface: a memory that fails stops no run
                _log.warning("The memory of tasks is not used: %s: %s", type(failure).__name__, failure)
            finally:
                done.set()

        self._tasks.start_soon(run)
        with anyio.move_on_after(seconds):
            await done.wait()
        return given[0] if given else None


@asynccontextmanager
async def open_memory(
    settings: Settings, embedder: Embedder | None = None, secrets: Secrets = tuple, most: int = MOST_KEPT
) -> AsyncIterator[StoredMemory]:
    """Opens the memory of a home for the length of a block; reads nothing before it is used.

    `secrets` gives the values that must never be stored, besides keys of the environment; of each kind `most` are kept.
    """
    with ExitStack() as stack:
        async with background() as tasks:
            memory = StoredMemory(settings, embedder, secrets, tasks, most)
            stack.callback(memory.close)  # once no task uses it any more
            try:
                yield memory
            finally:
                tasks.cancel_scope.cancel()
