"""Results that need not be computed again: a call in, what it gave before out, as long as that can be relied on.

For versions that were verified as deterministic and that ask for nothing; `app.calls` decides which. What lies on the
disk is a guess about the past: a damaged, full or missing file means that the call runs, never that it fails.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.errors import LibraryError
from alita_mcp.event_loop import LARGE_BYTES, off_loop
from alita_mcp.library.background import background
from alita_mcp.library.results.rows import ResultRows, Row, Spoiled
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.settings import Settings

WRITE_AFTER_S = 0.25
LARGEST_SHARE = 16
"""No result takes more than one part in so many of the cache."""
WAITING_BYTES = 8 << 20
"""What may wait to be written; results beyond it are not kept."""
WAITING_USES = 10_000

TRY_AGAIN_S = 60.0

T = TypeVar("T")
_KEPT = {"value", "stdout", "stderr"}
_log = logging.getLogger(__name__)


def call_key(digest: str, sandbox: str, arguments: dict[str, Any]) -> bytes:
    """What a result depends on: the version, the kind of sandbox that gives it, and the arguments.

    The order of the arguments does not matter, they are passed by name. Inside of them it does: a tool may walk
    through an object in the order in which it was sent.
    """
    said = json.dumps([digest, sandbox, sorted(arguments.items())], separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(said.encode()).digest()


class ResultCache:
    """The results of one home; made by `open_result_cache`. Everything but the file itself is done on the loop."""

    def __init__(
        self, folder: Path, *, max_bytes: int, ttl_s: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._clock = clock
        self._rows: ResultRows | None = None
        self._opening = anyio.Lock()
        self._writing = anyio.Lock()
        self._spoiled = False
        self._waiting: dict[bytes, Row] = {}
        self._used: dict[bytes, float] = {}
        self._wanted = anyio.Event()
        self._try_again_at = 0.0

    async def find(self, key: bytes) -> RunResult | None:
        """What the same call gave before, if that is kept and not too old."""
        row = self._waiting.get(key)
        found = (row.value, row.mark, row.stored_at) if row else self._look_up(key, await self._opened())
        if found is None:
            return None
        value, mark, stored_at = found
        now = self._clock()
        if mark != _mark(key, value) or not 0 <= now - stored_at <= self._ttl_s:
            return None
        if len(self._used) < WAITING_USES:
            self._used[key] = now
            self._wanted.set()
        return await off_loop(partial(_restored, value), large=len(value) > LARGE_BYTES)

    def keep(self, key: bytes, tool: str, result: RunResult) -> None:
        """Keeps what a call gave: from now on for this process, a moment later for all. Not when it is too large."""
        waiting = sum(len(row.value) for row in self._waiting.values())
        room = min(self._max_bytes // LARGEST_SHARE, WAITING_BYTES - waiting)
        try:
            value = json.dumps(result.model_dump(include=_KEPT), ensure_ascii=False).encode()
        except ValueError:  # nothing that came out of a sandbox
            return
        if len(value) > room:
            return
        self._waiting[key] = Row(key, tool, value, _mark(key, value), self._clock())
        self._wanted.set()

    async def clear(self, tool: str | None = None) -> int:
        """Forgets all results, or one tool's; answers how many there were.

        Raises:
            LibraryError: the file cannot be written now.
        """
        await self.write()
        return await self._told(lambda rows: rows.clear(tool))

    async def size(self) -> tuple[int, int]:
        """How many results there are, and their bytes; raises as `clear`."""
        await self.write()
        return await self._told(ResultRows.size)

    async def tend(self) -> None:
        """Writes what was kept and used a moment after it was, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            await anyio.sleep(WRITE_AFTER_S)
            await self.write()

    async def write(self) -> None:
        """Writes what was kept and used; goes on with another file where this one is spoiled or superseded."""
        with anyio.CancelScope(shield=True):
            async with self._writing:
                await self._write()

    async def _write(self) -> None:
        rows, used, self._used = tuple(self._waiting.values()), self._used, {}
        before = await self._opened()
        if before is None:
            self._waiting.clear()
            return
        oldest = self._clock() - self._ttl_s
        self._rows = await anyio.to_thread.run_sync(self._written, before, rows, used, oldest)
        if self._rows is not before:
            before.close()
        for row in rows:
            if self._waiting.get(row.key) is row:
                del self._waiting[row.key]

    async def aclose(self) -> None:
        """Writes the rest and closes the file."""
        if self._waiting or self._used:
            await self.write()
        async with self._writing:  # the last write of `tend` may still be under way
            if self._rows is not None:
                self._rows.close()
                self._rows = None
        self._try_again_at = math.inf

    async def _opened(self) -> ResultRows | None:
        """The file; None while it cannot be used, which is tried again after a while."""
        if self._rows is None and anyio.current_time() >= self._try_again_at:
            async with self._opening:
                if self._rows is None:
                    self._rows = await anyio.to_thread.run_sync(self._open)
            if self._rows is None:
                self._try_again_at = anyio.current_time() + TRY_AGAIN_S
        return self._rows

    def _look_up(self, key: bytes, rows: ResultRows | None) -> tuple[bytes, bytes, float] | None:
        """On the event loop: a look-up takes some ten microseconds and never waits, a worker thread takes longer."""
        if rows is None or self._spoiled:
            return None
        try:
            return rows.find(key)
        except Spoiled as damaged:
            self._note_damage(damaged)
            return None

    def _note_damage(self, damaged: Exception) -> None:
        _log.warning("The kept results in %s are damaged (%s); they are begun anew.", self._folder, damaged)
        self._spoiled = True
        self._wanted.set()

    def _open(self) -> ResultRows | None:
        try:
            return ResultRows(self._folder, self._max_bytes)
        except (OSError, sqlite3.Error, Spoiled) as failure:
            _log.warning("Results cannot be kept in %s: %s", self._folder, failure)
            return None

    def _written(
        self, rows: ResultRows, kept: Sequence[Row], used: Mapping[bytes, float], oldest: float
    ) -> ResultRows | None:
        if self._spoiled:
            rows.begin_next()
        current = rows if rows.is_newest else self._open()
        self._spoiled = False
        try:
            if current is not None:
                current.write(kept, used, oldest)
        except Spoiled as damaged:
            self._note_damage(damaged)
        except sqlite3.Error as failure:
            _log.info("Some results are not kept: %s", failure)
        return current

    async def _told(self, ask: Callable[[ResultRows], T]) -> T:
        rows = await self._opened()
        try:
            if rows is not None:
                return await anyio.to_thread.run_sync(ask, rows)
            problem = "the file cannot be used"
        except (Spoiled, sqlite3.Error) as failure:
            problem = str(failure)
        raise LibraryError(
            f"The kept results in {self._folder} cannot be read: {problem}.", hint="Try again."
        )


@asynccontextmanager
async def open_result_cache(settings: Settings) -> AsyncIterator[ResultCache | None]:
    """The results kept in `settings.home`, opened at the first use; None where the settings keep none."""
    if not settings.result_cache_mb:
        yield None
        return
    cache = ResultCache(
        settings.home / "results",
        max_bytes=settings.result_cache_mb << 20,
        ttl_s=settings.result_cache_ttl_s,
    )
    async with background() as tasks:
        tasks.start_soon(cache.tend)
        try:
            yield cache
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await cache.aclose()


def _mark(key: bytes, value: bytes) -> bytes:
    """Ties a value to its call, so that a flipped bit or a value moved to another row is no hit."""
    return hashlib.sha256(key + value).digest()[:16]


def _restored(value: bytes) -> RunResult | None:
    try:
        return RunResult(status="ok", **decode_strict(value))
    except (NotJson, ValidationError, TypeError):
        return None
