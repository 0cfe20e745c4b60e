"""SQLite file that several processes share and that may be lost at any time, with connections to read and to write.

A damaged file is left alone and a new one with the next number is begun, so that no process ever has the ground
taken away from under it; the next opening removes the old one. Only its owner may read it. All of it blocks.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BUSY_SECONDS = 2.0
OPENINGS = 4
"""How many damaged files in a row are passed over, and how often a busy one is tried."""
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


class Spoiled(Exception):
    """The file cannot be read as what it is; the next one is to be begun."""


class NumberedFile:
    """Newest file of a folder, with one connection that reads and never waits, and one that writes."""

    def __init__(self, folder: Path, stem: str, tables: str, probe: str) -> None:
        """Opens the newest file `stem-NUMBER.sqlite3`, or begins one; `probe` is a query that must succeed.

        Raises:
            OSError: the folder cannot be used.
            Spoiled: the file cannot be read as what it is.
            sqlite3.Error: it cannot be used now.
        """
        self._folder, self._stem = folder, stem
        self._name = re.compile(rf"{re.escape(stem)}-(\d{{1,9}})\.sqlite3")
        self._writing = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for attempt in range(OPENINGS):
            numbers = self._numbers()
            self._number = max(numbers, default=1)
            try:
                self._open(tables, probe)
                break
            except (Spoiled, sqlite3.OperationalError) as failure:
                if attempt == OPENINGS - 1:
                    raise
                if isinstance(failure, Spoiled):
                    self.begin_next()
                else:  # SQLite does not wait for somebody else who is just making or mending the file
                    time.sleep(0.05 * 2**attempt)
        for path in (self._path(number) for number in numbers if number < self._number):
            for place in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
                with suppress(OSError):
                    place.unlink()

    def _open(self, tables: str, probe: str) -> None:
        path = self._path(self._number)
        with suppress(FileExistsError):
            path.touch(mode=0o600, exist_ok=False)  # SQLite gives its companions the same mode
        self._writer = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            with spoiled():
                self._writer.execute("PRAGMA trusted_schema = OFF")
                self._writer.execute("PRAGMA journal_mode = WAL")
                self._writer.execute("PRAGMA synchronous = NORMAL")
                self._writer.executescript(tables)
                self._reader = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
                self._reader.execute("PRAGMA trusted_schema = OFF")
                self._reader.execute("PRAGMA query_only = ON")
                self._reader.execute(probe).fetchall()
        except BaseException:
            self.close()
            raise

    @property
    def is_newest(self) -> bool:
        """False once another process began a new file, or somebody removed this one."""
        return self._numbers()[-1:] == [self._number]

    def close(self) -> None:
        """Closes the file; safe to call twice."""
        for connection in (getattr(self, "_reader", None), self._writer):
            if connection is not None:
                with suppress(sqlite3.Error):
                    connection.close()

    def begin_next(self) -> None:
        """Begins a newer file than this one, unless there is one, for all processes to go on with."""
        if self.is_newest:
            with suppress(FileExistsError):
                self._path(self._number + 1).touch(mode=0o600, exist_ok=False)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing, spoiled():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._stem}-{number}.sqlite3"

    def _numbers(self) -> list[int]:
        """The numbers of the files that are there, the newest last."""
        try:
            names = [self._name.fullmatch(place.name) for place in self._folder.iterdir()]
        except OSError:
            return []
        return sorted(int(name[1]) for name in names if name)


@contextmanager
def spoiled() -> Iterator[None]:
    """Turns an error that says that the file is damaged into `Spoiled`."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code & 0xFF in _HARMLESS:
            raise
        raise Spoiled(str(error)) from error
