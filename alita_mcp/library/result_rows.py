"""Results on disk: one SQLite file that several processes share and that may be lost at any time. All of it blocks.

A damaged file is left alone and a new one with the next number is begun, so that no process ever has the ground
taken away from under it; besides `catalogue`, the only module that speaks SQL.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 1
"""In the file's name: versions of alita that keep other columns do not meet."""
BUSY_SECONDS = 2.0
MAX_ENTRIES = 20_000
OPENINGS = 4
"""How many damaged files in a row are passed over, and how often a busy one is tried."""
ROOM_AFTER = 0.9
"""How full the cache is after the least recently used results have made room."""
ROW_BYTES = 200
"""What a row takes beside its value."""

_NAME = re.compile(rf"results-{FORMAT}-(\d{{1,9}})\.sqlite3")
_HARMLESS = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}
"""Failures after which the file is as good as before."""
_TABLES = """
CREATE TABLE IF NOT EXISTS result (
    key BLOB NOT NULL UNIQUE,
    tool TEXT NOT NULL,
    value BLOB NOT NULL,
    mark BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    stored_at REAL NOT NULL,
    used_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS result_use ON result (used_at, bytes);
"""
_FIND = "SELECT value, mark, stored_at FROM result WHERE key = ? AND length(value) <= ?"
_KEEP = "INSERT OR REPLACE INTO result VALUES (?, ?, ?, ?, ?, ?, ?)"
_TOUCH = "UPDATE result SET used_at = max(used_at, ?) WHERE key = ?"
_SIZE = "SELECT count(*), coalesce(sum(bytes), 0) FROM result"
_MAKE_ROOM = """
DELETE FROM result WHERE rowid IN (
    SELECT rowid FROM (
        SELECT rowid, row_number() OVER newest AS place, sum(bytes) OVER newest AS room
        FROM result WINDOW newest AS (ORDER BY used_at DESC, rowid DESC)
    ) WHERE place > ? OR room > ?
)
"""


class Spoiled(Exception):
    """The file cannot be read as what it is; the next one is to be begun."""


@dataclass(frozen=True)
class Row:
    """One result as it lies in the file."""

    key: bytes
    tool: str
    value: bytes
    mark: bytes
    stored_at: float


class ResultRows:
    """The file, through two connections: one that only looks up and never waits, one that writes."""

    def __init__(self, folder: Path, max_bytes: int, max_entries: int = MAX_ENTRIES) -> None:
        """Opens the newest file of the folder, or begins one.

        Raises:
            OSError: the folder cannot be used.
            Spoiled: the file cannot be read as what it is.
            sqlite3.Error: it cannot be used now.
        """
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._writing = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for attempt in range(OPENINGS):
            numbers = _numbers(folder)
            self._number = max(numbers, default=1)
            try:
                self._open()
                break
            except (Spoiled, sqlite3.OperationalError) as failure:
                if attempt == OPENINGS - 1:
                    raise
                if isinstance(failure, Spoiled):
                    self.begin_next()
                else:  # SQLite does not wait for somebody else who is just making or mending the file
                    time.sleep(0.05 * 2**attempt)
        self._remove(number for number in numbers if number < self._number)

    def _open(self) -> None:
        path = self._path(self._number)
        self._writer = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            with _spoiled():
                self._writer.execute("PRAGMA trusted_schema = OFF")
                self._writer.execute("PRAGMA journal_mode = WAL")
                self._writer.execute("PRAGMA synchronous = NORMAL")
                self._writer.executescript(_TABLES)
                self._reader = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
                self._reader.execute("PRAGMA trusted_schema = OFF")
                self._reader.execute("PRAGMA query_only = ON")
                self._reader.execute(_FIND, (b"", 0)).fetchall()
        except BaseException:
            self.close()
            raise

    @property
    def is_newest(self) -> bool:
        """False once another process began a new file, or somebody removed this one."""
        return _numbers(self._folder)[-1:] == [self._number]

    def close(self) -> None:
        """Closes the file; safe to call twice."""
        for connection in (getattr(self, "_reader", None), self._writer):
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()

    def begin_next(self) -> None:
        """Makes sure that a newer file than this one is there, for everybody to go on with."""
        if self.is_newest:
            with suppress(FileExistsError):
                self._path(self._number + 1).touch(exist_ok=False)

    def find(self, key: bytes) -> tuple[bytes, bytes, float] | None:
        """Value, mark and time of a result; None when there is none, or the file is held at this moment.

        Raises:
            Spoiled: the file cannot be read as what it is.
        """
        try:
            with _spoiled():
                found = self._reader.execute(_FIND, (key, self._max_bytes)).fetchone()
        except sqlite3.Error:
            return None
        match found:
            case (bytes(value), bytes(mark), float(stored_at)):
                return value, mark, stored_at
        return None

    def write(self, rows: Iterable[Row], used: Mapping[bytes, float], oldest: float) -> None:
        """Keeps results, notes uses, drops what was stored before `oldest`, and makes room.

        Raises:
            Spoiled: the file cannot be read as what it is.
            sqlite3.Error: it cannot be written now.
        """
        kept = [
            (row.key, row.tool, row.value, row.mark, len(row.value) + ROW_BYTES, row.stored_at, row.stored_at)
            for row in rows
        ]
        with self._transaction() as db:
            db.execute("DELETE FROM result WHERE stored_at < ?", (oldest,))
            db.executemany(_KEEP, kept)
            db.executemany(_TOUCH, [(moment, key) for key, moment in used.items()])
            entries, size = db.execute(_SIZE).fetchone()
            if entries > self._max_entries or size > self._max_bytes:
                room = (int(self._max_entries * ROOM_AFTER), int(self._max_bytes * ROOM_AFTER))
                db.execute(_MAKE_ROOM, room)

    def clear(self, tool: str | None = None) -> int:
        """Removes all results, or one tool's; answers how many; raises as `write`."""
        with self._transaction() as db:
            return db.execute("DELETE FROM result WHERE tool = ? OR ? IS NULL", (tool, tool)).rowcount

    def size(self) -> tuple[int, int]:
        """How many results there are, and their bytes; raises as `write`."""
        with _spoiled():
            entries, size = self._writer.execute(_SIZE).fetchone()
        return int(entries), int(size)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing, _spoiled():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _path(self, number: int) -> Path:
        return self._folder / f"results-{FORMAT}-{number}.sqlite3"

    def _remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            path = self._path(number)
            for place in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
                with suppress(OSError):
                    place.unlink()


@contextmanager
def _spoiled() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & 0xFF in _HARMLESS:
            raise
        raise Spoiled(str(error)) from error


def _numbers(folder: Path) -> list[int]:
    """The numbers of the files that are there, the newest last."""
    try:
        names = [_NAME.fullmatch(place.name) for place in folder.iterdir()]
    except OSError:
        return []
    return sorted(int(name[1]) for name in names if name)
