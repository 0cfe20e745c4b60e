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
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.errors import LibraryError
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.settings import Settings

MAX_BYTES = 64 << 20
LARGEST_SHARE = 16
"""No result takes more than one part in so many of the cache."""
TTL_S = 3_600.0
"""How long a kept result counts."""
FILE = "results-3.sqlite3"
"""Its number grows with the columns, so that versions of alita with other ones do not meet."""
BUSY_SECONDS = 0.25
"""How long a result waits to be kept while another process writes; it is no loss then."""

_TABLES = """
PRAGMA trusted_schema = OFF;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS result (
    key BLOB NOT NULL UNIQUE,
    tool TEXT NOT NULL,
    stored_at REAL NOT NULL,
    value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS result_age ON result (stored_at);
"""
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
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
_log = logging.getLogger(__name__)

T = TypeVar("T")


def call_key(digest: str, sandbox: str, arguments: dict[str, Any]) -> bytes:
    """Digest of what a result depends on: the version, the kind of its sandbox, and the arguments.

    The order of the arguments does not matter, they are passed by name. Inside of them it does: a tool may walk
    through an object in the order in which it was sent.
    """
    call = json.dumps([digest, sandbox, sorted(arguments.items())], separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(call.encode()).digest()


class ResultCache:
    """Results of one home, in a file that several processes share; made by `open_result_cache`."""

    def __init__(
        self, folder: Path, *, max_bytes: int, ttl_s: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._clock = clock
        self._db: sqlite3.Connection | None = None
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def find(self, key: bytes) -> RunResult | None:
        """Result of the same call before, if it is kept and not too old."""

        def find_row(db: sqlite3.Connection) -> Any:
            return db.execute("SELECT value, stored_at FROM result WHERE key = ?", (key,)).fetchone()

        try:
            row = await self._use_file(find_row)
            if row is None or not 0 <= self._clock() - row[1] <= self._ttl_s:
                return None
            return RunResult(status="ok", **decode_strict(bytes(row[0])))
        except LibraryError as failure:
            _log.info("%s", failure)
            return None
        except (NotJson, ValidationError, TypeError):  # a row that is no result
            return None

    async def keep(self, key: bytes, tool: str, result: RunResult) -> None:
        """Keeps the result of a call for all processes; not when it is too large or cannot be written now."""
        try:
            value = json.dumps(result.model_dump(include=_KEPT), ensure_ascii=False).encode()
        except ValueError:  # nothing that came out of a sandbox
            return
        if len(value) > self._max_bytes // LARGEST_SHARE:
            return
        now = self._clock()

        def keep_row(db: sqlite3.Connection) -> None:
            with db:  # drops those past their time, then the oldest until all fit
                db.execute("DELETE FROM result WHERE stored_at < ?", (now - self._ttl_s,))
                db.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?)", (key, tool, now, value))
                while db.execute(_BYTES).fetchone()[0] > self._max_bytes:
                    if not db.execute(_DROP_OLDEST).rowcount:
                        break

        try:
            await self._use_file(keep_row)
        except LibraryError as failure:
            _log.info("%s", failure)

    async def clear(self, tool: str | None = None) -> int:
        """Forgets all results, or one tool's; returns how many there were.

        Raises:
            LibraryError: the file cannot be written now.
        """

        def delete_rows(db: sqlite3.Connection) -> int:
            with db:
                return db.execute("DELETE FROM result WHERE tool = ? OR ? IS NULL", (tool, tool)).rowcount

        return await self._use_file(delete_rows)

    async def size(self) -> tuple[int, int]:
        """Number of results, and their bytes; raises as `clear`."""
        count, size = await self._use_file(lambda db: db.execute(_SIZE).fetchone())
        return int(count), int(size)

    async def aclose(self) -> None:
        """Closes the file; safe to call twice."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close, limiter=self._one_at_a_time)

    async def _use_file(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def use() -> T:
            path = self._folder / FILE
            try:
                if self._db is None:
                    self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                    path.touch(mode=0o600)  # SQLite gives its companions the same mode
                    self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
                    self._db.executescript(_TABLES)
                return work(self._db)
            except sqlite3.DatabaseError as failure:
                # A damaged file is removed, and the next call begins a new one. Processes that have it open go on
                # with what they have until they find the damage too.
                if getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in _DAMAGE:
                    self._close()
                    for place in self._folder.glob(f"{FILE}*"):
                        with suppress(OSError):
                            place.unlink()
                raise

        try:
            return await anyio.to_thread.run_sync(use, limiter=self._one_at_a_time)
        except (OSError, sqlite3.Error) as failure:
            raise LibraryError(
                f"The kept results in {self._folder} cannot be used: {failure}.", hint="Try again."
            ) from failure

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


@asynccontextmanager
async def open_result_cache(settings: Settings) -> AsyncIterator[ResultCache]:
    """The results kept in `settings.home`, opened at the first use."""
    cache = ResultCache(settings.home / "results", max_bytes=MAX_BYTES, ttl_s=TTL_S)
    try:
        yield cache
    finally:
        await cache.aclose()
