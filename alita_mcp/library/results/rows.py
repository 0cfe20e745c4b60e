"""Results on disk: one SQLite file that several processes share and that may be lost at any time. All of it blocks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from alita_mcp.library.runs.numbered_file import NumberedFile, Spoiled, spoiled

__all__ = ["ResultRows", "Row", "Spoiled"]

FORMAT = 1
"""In the file's name: versions of alita that keep other columns do not meet."""
MAX_ENTRIES = 20_000
ROOM_AFTER = 0.9
"""How full the cache is after the least recently used results have made room."""
ROW_BYTES = 200
"""What a row takes beside its value."""

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


@dataclass(frozen=True)
class Row:
    """One result as it lies in the file."""

    key: bytes
    tool: str
    value: bytes
    mark: bytes
    stored_at: float


class ResultRows(NumberedFile):
    """The results of one home; raises when opened as `NumberedFile`."""

    def __init__(self, folder: Path, max_bytes: int, max_entries: int = MAX_ENTRIES) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        super().__init__(
            folder, f"results-{FORMAT}", _TABLES, "SELECT value, mark, stored_at FROM result LIMIT 0"
        )

    def find(self, key: bytes) -> tuple[bytes, bytes, float] | None:
        """Value, mark and time of a result; None when there is none, or the file is held at this moment.

        Raises:
            Spoiled: the file cannot be read as what it is.
        """
        try:
            with spoiled():
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
        with spoiled():
            entries, size = self._writer.execute(_SIZE).fetchone()
        return int(entries), int(size)
