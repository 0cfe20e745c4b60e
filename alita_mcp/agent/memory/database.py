"""SQLite file of memories, `memory.sqlite3` in the home, shared by processes; calls block.

A damaged file is set aside and a new one begun: memory is a help, and no run waits for a person to repair it.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from alita_mcp.agent.memory.records import Memorable, MemoryKind, Row, search_words
from alita_mcp.machine import unusable

FILE, DAMAGED = "memory.sqlite3", "memory.damaged"
MOST_SET_ASIDE = 3
BUSY_S = 10.0
MOST_WORDS = 60
"""Of a task, by which memories are sought."""
_TABLES = (
    """CREATE TABLE IF NOT EXISTS memories (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, at TEXT NOT NULL, touched REAL NOT NULL,
        sameness TEXT NOT NULL, owner TEXT NOT NULL DEFAULT 'user'
    )""",
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize = 'porter unicode61')",
)
_HAS_OWNERS = "SELECT 1 FROM pragma_table_info('memories') WHERE name = 'owner'"
_ADD_OWNERS = "ALTER TABLE memories ADD COLUMN owner TEXT NOT NULL DEFAULT 'user'"
"""To a file of an earlier version."""
_SELECT = "SELECT m.id, m.kind, m.body, m.at, m.touched, m.sameness, m.owner FROM memories m"
_SURPLUS = """
SELECT id FROM (
    SELECT id, touched, row_number() OVER (PARTITION BY owner ORDER BY touched DESC, rowid DESC) AS place
    FROM memories WHERE kind = ?
) ORDER BY place, touched DESC LIMIT -1 OFFSET ?
"""
"""The least recently touched ones, of the owners that have most."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


class MemoryDatabase:
    """The memories of one home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE
        self._journal = home / f"{FILE}-journal"
        """What SQLite would roll back in a file of that name."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever remembered."""
        return self._path.exists()

    def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What `work` gives, in one transaction.

        Raises:
            LibraryError: the file cannot be read or written.
        """
        with self._translate_errors():
            try:
                return self._transact(work)
            except sqlite3.OperationalError:  # busy or not writable, which is no damage
                raise
            except sqlite3.DatabaseError:
                self._set_aside()
                return self._transact(work)

    def purge(self) -> None:
        """Rewrites the file, so that nothing of removed memories is left on the disk.

        Raises:
            LibraryError: it cannot be written.
        """
        self.transact(lambda db: db.execute("INSERT INTO words (words) VALUES ('optimize')"))
        with self._translate_errors(), self._connect() as db:
            db.execute("VACUUM")

    def remove(self) -> None:
        """Removes all memories from the disk, damaged ones that were set aside too.

        Raises:
            LibraryError: they cannot be removed.
        """
        with self._translate_errors():
            self._path.unlink(missing_ok=True)
            self._journal.unlink(missing_ok=True)
            shutil.rmtree(self._home / DAMAGED, ignore_errors=True)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as failure:
            raise unusable(self._path, failure) from failure

    def _connect(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None))

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._home.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))  # for its owner only
        with self._connect() as db:
            db.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            db.execute("BEGIN IMMEDIATE")
            try:
                for table in _TABLES:
                    db.execute(table)
                if not db.execute(_HAS_OWNERS).fetchone():
                    db.execute(_ADD_OWNERS)
                result = work(db)
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")
        return result

    def _set_aside(self) -> None:
        damaged = self._home / DAMAGED
        damaged.mkdir(exist_ok=True, mode=0o700)
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        self._path.rename(damaged / f"memory-{moment}.sqlite3")
        self._journal.unlink(missing_ok=True)
        _log.warning("%s was damaged and moved to %s; a new one was started.", self._path, damaged)
        for old in sorted(damaged.iterdir())[:-MOST_SET_ASIDE]:
            old.unlink()


def find_rows(db: sqlite3.Connection, kind: MemoryKind, owner: str, text: str, limit: int) -> Sequence[Row]:
    """An owner's rows of a kind that share words with a text, best first (BM25)."""
    words = list(dict.fromkeys(re.findall(r"\w+", text.casefold())))[:MOST_WORDS]
    if not words:
        return []
    found = db.execute(
        f"{_SELECT} JOIN words ON m.rowid = words.rowid "
        "WHERE words MATCH ? AND m.kind = ? AND m.owner = ? ORDER BY bm25(words), m.id LIMIT ?",
        (" OR ".join(f'"{word}"' for word in words), kind, owner, limit),
    )
    return [Row(*each) for each in found]


def read_rows(db: sqlite3.Connection, kind: MemoryKind) -> Sequence[Row]:
    """All rows of a kind, newest first."""
    found = db.execute(f"{_SELECT} WHERE kind = ? ORDER BY at DESC, id DESC", (kind,))
    return [Row(*each) for each in found]


def same_rows(db: sqlite3.Connection, kind: MemoryKind, rows: Iterable[Row]) -> Sequence[Row]:
    """Rows of the same owners that have the id of one of these or say the same."""
    query = f"{_SELECT} WHERE kind = ? AND owner = ? AND (id = ? OR sameness = ?)"
    found: dict[str, Row] = {}
    for row in rows:
        known = db.execute(query, (kind, row.owner, row.id, row.sameness))
        found |= {each[0]: Row(*each) for each in known}
    return list(found.values())


def write_row(db: sqlite3.Connection, row: Row, value: Memorable) -> None:
    """Adds or replaces a row."""
    delete_rows(db, [row.id])
    added = db.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (added.lastrowid, search_words(value)))


def delete_rows(db: sqlite3.Connection, ids: Collection[str]) -> int:
    """Removes the rows of these ids; returns how many there were."""
    removed = 0
    for each in ids:
        db.execute("DELETE FROM words WHERE rowid = (SELECT rowid FROM memories WHERE id = ?)", (each,))
        removed += db.execute("DELETE FROM memories WHERE id = ?", (each,)).rowcount
    return removed


def touch_rows(db: sqlite3.Connection, ids: Collection[str], now: float) -> None:
    """Records that memories were recalled."""
    db.executemany("UPDATE memories SET touched = ? WHERE id = ?", [(now, each) for each in ids])


def drop_least_used(db: sqlite3.Connection, kind: MemoryKind, most: int) -> None:
    """Removes the least recently touched rows of a kind beyond `most`, of the owners that have most of them."""
    delete_rows(db, [each[0] for each in db.execute(_SURPLUS, (kind, most))])
