"""Cache of the results of deterministic tools, kept on disk for the next same call.

`app.calls` decides which calls count. A damaged, full or missing file means that the call runs, never that it fails.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.errors import LibraryError
from alita_mcp.library.numbered_file import NumberedFile, Spoiled, spoiled
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.settings import Settings

MAX_BYTES = 64 << 20
LARGEST_SHARE = 16
"""No result takes more than one part in so many of the cache."""
TTL_S = 3_600.0
"""How long a kept result counts."""
FORMAT = 2
"""Number in the file's name, so that versions of alita with other columns do not meet."""

_TABLES = """
CREATE TABLE IF NOT EXISTS result (
    key BLOB NOT NULL UNIQUE,
    tool TEXT NOT NULL,
    stored_at REAL NOT NULL,
    value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS result_age ON result (stored_at);
"""
_FIND = "SELECT value, stored_at FROM result WHERE key = ?"
_BYTES = """
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
_DROP_OLDEST = """
DELETE FROM result WHERE rowid IN (
    SELECT rowid FROM result ORDER BY stored_at LIMIT (SELECT count(*) / 8 + 1 FROM result)
)
"""
_SIZE = "SELECT count(*), coalesce(sum(length(value)), 0) FROM result"
_KEPT = {"value", "stdout", "stderr"}
_log = logging.getLogger(__name__)

T = TypeVar("T")


def call_key(digest: str, sandbox: str, arguments: dict[str, Any]) -> bytes:
    """Digest of what a result depends on: the version, the kind of its sandbox, and the arguments.

    The order of the arguments does not matter, they are passed by name. Inside of them it does: a tool may walk
    through an object in the order in which it was sent.
    """
    call = json.dumps([digest, sandbox, sorted(arguments.items())], separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(call.encode()).digest()


class _ResultFile(NumberedFile):
    """SQLite file of results that several processes share; raises when opened as `NumberedFile`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            folder, f"results-{FORMAT}", _TABLES, "SELECT tool, value, stored_at FROM result LIMIT 0"
        )

    def row(self, query: str, *values: Any) -> Any:
        """The first row that a query gives, or None."""
        with spoiled():
            return self._reader.execute(query, values).fetchone()

    def keep(
        self, key: bytes, tool: str, result: RunResult, now: float, ttl_s: float, max_bytes: int
    ) -> None:
        """Keeps a result that is not too large, drops those past their time, then the oldest until all fit."""
        try:
            value = json.dumps(result.model_dump(include=_KEPT), ensure_ascii=False).encode()
        except ValueError:  # nothing that came out of a sandbox
            return
        if len(value) > max_bytes // LARGEST_SHARE:
            return
        with self._transaction() as db:
            db.execute("DELETE FROM result WHERE stored_at < ?", (now - ttl_s,))
            db.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?)", (key, tool, now, value))
            while db.execute(_BYTES).fetchone()[0] > max_bytes and db.execute(_DROP_OLDEST).rowcount:
                pass

    def clear(self, tool: str | None) -> int:
        with self._transaction() as db:
            return db.execute("DELETE FROM result WHERE tool = ? OR ? IS NULL", (tool, tool)).rowcount


class ResultCache:
    """Results of one home; made by `open_result_cache`."""

    def __init__(
        self, folder: Path, *, max_bytes: int, ttl_s: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._clock = clock
        self._file: _ResultFile | None = None
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def find(self, key: bytes) -> RunResult | None:
        """Result of the same call before, if it is kept and not too old."""
        try:
            return await self._in_thread(lambda file: self._result(file.row(_FIND, key)))
        except LibraryError as failure:
            _log.info("%s", failure)
            return None

    async def keep(self, key: bytes, tool: str, result: RunResult) -> None:
        """Keeps the result of a call for all processes; not when it is too large or cannot be written now."""
        now = self._clock()
        try:
            await self._in_thread(
                lambda file: file.keep(key, tool, result, now, self._ttl_s, self._max_bytes)
            )
        except LibraryError as failure:
            _log.info("%s", failure)

    async def clear(self, tool: str | None = None) -> int:
        """Forgets all results, or one tool's; returns how many there were.

        Raises:
            LibraryError: the file cannot be written now.
        """
        return await self._in_thread(lambda file: file.clear(tool))

    async def size(self) -> tuple[int, int]:
        """Number of results, and their bytes; raises as `clear`."""
        count, size = await self._in_thread(lambda file: file.row(_SIZE))
        return int(count), int(size)

    async def aclose(self) -> None:
        """Closes the file; safe to call twice."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close, limiter=self._one_at_a_time)

    async def _in_thread(self, use: Callable[[_ResultFile], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(self._used, use, limiter=self._one_at_a_time)
        except (OSError, sqlite3.Error, Spoiled) as failure:
            raise LibraryError(
                f"The kept results in {self._folder} cannot be used: {failure}.", hint="Try again."
            ) from failure

    def _used(self, use: Callable[[_ResultFile], T]) -> T:
        if self._file is not None and not self._file.is_newest:
            self._close()
        if self._file is None:
            self._file = _ResultFile(self._folder)
        try:
            return use(self._file)
        except Spoiled:
            self._file.begin_next()
            raise

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _result(self, row: tuple[bytes, float] | None) -> RunResult | None:
        try:
            if row is None or not 0 <= self._clock() - row[1] <= self._ttl_s:
                return None
            return RunResult(status="ok", **decode_strict(bytes(row[0])))
        except (NotJson, ValidationError, TypeError):
            return None


@asynccontextmanager
async def open_result_cache(settings: Settings) -> AsyncIterator[ResultCache]:
    """The results kept in `settings.home`, opened at the first use."""
    cache = ResultCache(settings.home / "results", max_bytes=MAX_BYTES, ttl_s=TTL_S)
    try:
        yield cache
    finally:
        await cache.aclose()
