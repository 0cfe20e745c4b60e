"""SQLite table of runs that several processes share and that may be lost at any time. All of it blocks."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alita_mcp.library.numbered_file import NumberedFile, spoiled
from alita_mcp.library.runs.marks import KeptRun

FORMAT = 1
"""In the file's name: versions of alita that keep other columns do not meet."""
MAX_RUNS = 10_000
MAX_AGE_S = 90 * 86_400.0
MAX_BYTES = 64 << 20
ROOM_AFTER = 0.9
"""How full the file is after the oldest runs have made room."""
SKETCH = 16
"""By so many of its parts a program is found: the smallest hashes, so that like programs share most of them."""
CANDIDATES = 24
"""So many programs are compared with a new one: those that share most of its sketch."""
HOLDERS = 300
"""So many programs that have a part are looked at."""
LOOKED_AT = 200
"""So many runs of like programs are looked at, the newest ones."""

_TABLES = """
PRAGMA secure_delete = ON;
PRAGMA journal_size_limit = 4194304;
CREATE TABLE IF NOT EXISTS program (digest TEXT PRIMARY KEY, shape TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sketch (
    part TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (part, digest)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sketch_program ON sketch (digest);
CREATE TABLE IF NOT EXISTS run (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    digest TEXT NOT NULL,
    facts TEXT NOT NULL,
    whole TEXT
);
CREATE INDEX IF NOT EXISTS run_program ON run (digest, number);
CREATE TABLE IF NOT EXISTS made (digest TEXT PRIMARY KEY, tool TEXT NOT NULL) WITHOUT ROWID;
"""
_PROBE = "SELECT facts, whole, tool, part, shape FROM run, made, sketch, program LIMIT 0"
FIND = "SELECT facts, whole FROM run WHERE id = ?"
ALL = "SELECT facts FROM run ORDER BY number DESC"
NEWEST = f"""
SELECT facts FROM run WHERE digest IN (SELECT value FROM json_each(?)) ORDER BY number DESC LIMIT {LOOKED_AT}
"""  # noqa: S608 - of our own words
SHAPES = "SELECT digest, shape FROM program"
_SHAPES_OF = f"{SHAPES} WHERE digest IN (SELECT value FROM json_each(?))"  # noqa: S608 - of our own words
MADE = "SELECT digest, tool FROM made"
_DROP_OLDEST = "DELETE FROM run WHERE number IN (SELECT number FROM run ORDER BY number LIMIT ?)"
_BYTES = """
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size
"""
_ORPHANS = (
    "DELETE FROM program WHERE digest NOT IN (SELECT digest FROM run)",
    "DELETE FROM sketch WHERE digest NOT IN (SELECT digest FROM program)",
)


@dataclass(frozen=True)
class RunRow:
    """Run on its way into the file."""

    at: float
    """Seconds since 1970."""
    kept: KeptRun
    shape: Mapping[str, Any]
    whole: str | None
    """The `RecordedRun` as JSON, where its values may be kept."""


def sketch_of(shape: Mapping[str, Any]) -> list[str]:
    """The parts of a program by which it is found."""
    return sorted(shape.get("features", ()))[:SKETCH]


class RunRows(NumberedFile):
    """Runs of one home; raises when opened as `NumberedFile`."""

    def __init__(self, folder: Path, *, forget_values: bool) -> None:
        """Opens the file; with `forget_values`, removes the values that it holds."""
        self._reading = threading.Lock()
        super().__init__(folder, f"runs-{FORMAT}", _TABLES, _PROBE)
        if not forget_values:
            return
        with self._transaction() as db:
            removed = db.execute("UPDATE run SET whole = NULL WHERE whole IS NOT NULL").rowcount
        if removed:  # the deleted bytes are overwritten with zeros; the log beside the file holds them still
            with self._writing, spoiled():
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def write(self, rows: Sequence[RunRow], now: float) -> None:
        """Keeps runs, drops what is too old, and makes room.

        Raises:
            Spoiled: the file cannot be read as what it is.
            sqlite3.Error: it cannot be written now.
        """
        with self._transaction() as db:
            for row in rows:
                self._add(db, row)
            dropped = db.execute("DELETE FROM run WHERE at < ?", (now - MAX_AGE_S,)).rowcount
            dropped += _room_made(db)
            for statement in _ORPHANS if dropped else ():
                db.execute(statement)

    @staticmethod
    def _add(db: sqlite3.Connection, row: RunRow) -> None:
        kept = row.kept
        db.execute(
            "INSERT OR REPLACE INTO run (id, at, digest, facts, whole) VALUES (?, ?, ?, ?, ?)",
            (kept.id, row.at, kept.digest, kept.model_dump_json(), row.whole),
        )
        if kept.digest:
            new = db.execute(
                "INSERT OR IGNORE INTO program VALUES (?, ?)", (kept.digest, json.dumps(row.shape))
            )
            if new.rowcount:
                parts = [(part, kept.digest) for part in sketch_of(row.shape)]
                db.executemany("INSERT OR IGNORE INTO sketch VALUES (?, ?)", parts)

    def record_made(self, digests: Iterable[str], tool: str) -> None:
        """Remembers that a tool was made of these programs; raises as `write`."""
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO made VALUES (?, ?)", [(each, tool) for each in digests])

    def select(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        """Rows of a query.

        Raises:
            Spoiled: the file cannot be read as what it is.
            sqlite3.Error: it cannot be read now.
        """
        with self._reading, spoiled():
            return self._reader.execute(query, values).fetchall()

    def like(self, parts: Sequence[str]) -> list[tuple[Any, ...]]:
        """Digests and shapes of programs that share most of these parts; raises as `select`.

        A part that many programs have says little: it counts less, and not all that have it are looked at.
        """
        shared: Counter[str] = Counter()
        for part in parts:
            holders = self.select("SELECT digest FROM sketch WHERE part = ? LIMIT ?", part, HOLDERS)
            shared.update({digest: HOLDERS // len(holders) for (digest,) in holders})
        nearest = json.dumps([digest for digest, _ in shared.most_common(CANDIDATES)])
        return self.select(_SHAPES_OF, nearest)

    def close(self) -> None:
        """Closes the file when its last look-up is over; safe to call twice."""
        with self._reading, self._writing:
            super().close()


def _room_made(db: sqlite3.Connection) -> int:
    """Removes the oldest runs until number and bytes are within their bounds; returns how many."""
    removed = 0
    count: int = db.execute("SELECT count(*) FROM run").fetchone()[0]
    room = MAX_RUNS if count <= MAX_RUNS else int(MAX_RUNS * ROOM_AFTER)
    while count and (count > room or db.execute(_BYTES).fetchone()[0] > MAX_BYTES):
        room = min(room, int(count * ROOM_AFTER))
        removed += db.execute(_DROP_OLDEST, (count - room,)).rowcount
        for statement in _ORPHANS:
            db.execute(statement)
        count = room
    return removed
