"""Catalogue of a library that several servers share: PostgreSQL has it, and the file is a mirror that is read.

A change is tried in the mirror, sent to PostgreSQL by one server at a time, and comes back as those of other servers
do. Use is added by all of them at once.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.mirror import (
    MIRROR,
    Postgres,
    send_tools,
    take_in,
)
from alita_mcp.library.catalogue.reader import translate_errors
from alita_mcp.library.catalogue.schema import JOURNAL
from alita_mcp.library.disk import OnStep, no_step
from alita_mcp.postgres.database import Connection, Database
from alita_mcp.postgres.migrations import migrate

CHANNEL = "alita_library"
LOCK = 0x0A117B
"""Key of the advisory lock that the one server holds which changes how tools stand."""
LAST_NUMBERS = """
SELECT (SELECT coalesce(max(at), 0) FROM touched), (SELECT coalesce(max(id), 0) FROM journal)
"""
_log = logging.getLogger(__name__)


class SharedCatalogue(Catalogue):
    """Mirror of a shared library; every change is one transaction of PostgreSQL."""

    _mirror = MIRROR

    def __init__(self, path: Path, database: Database, on_step: OnStep = no_step) -> None:
        """Opens the mirror, making it when there is none; raises as `Catalogue`."""
        self._database = database
        self._is_migrated = False
        self._held: dict[int, Connection] = {}
        """Threads that change how tools stand, one at a time."""
        super().__init__(path, on_step)

    def follow(self, callback: Callable[[], None]) -> None:
        """Takes in what other servers commit as soon as they do, and calls back in another thread."""

        def hear(_: str | None) -> None:
            if self.pull():
                callback()

        self._database.listen(CHANNEL, hear)

    def pull(self) -> bool:
        """Takes in what was committed; returns whether tools stand otherwise since.

        Raises:
            LibraryError: the library cannot be reached, or only a newer version can work with it.
        """
        with self._open_transaction() as connection:
            return self._take_in(connection)

    def catch_up(self) -> None:
        """As `pull`; what fails goes into the log, and the mirror stays as it is."""
        try:
            self.pull()
        except LibraryError as failure:
            _log.warning("%s", failure)

    @contextmanager
    def hold(self) -> Iterator[Connection]:
        """Makes all changes of a block one transaction, in which no other server changes how a tool stands."""
        with self._transaction(last_step="committed"):
            yield self._held[threading.get_ident()]

    def fetch_files(self, seal: str) -> dict[str, bytes]:
        """The files of the version with a seal, as they are; without those that are not there.

        Raises:
            LibraryError: the library cannot be reached.
        """
        with self._open_transaction() as connection:
            return read_files(connection, seal)

    @contextmanager
    def _addition(self) -> Iterator[sqlite3.Connection | Postgres]:
        if threading.get_ident() in self._held:
            yield self._db
            return
        with self._open_transaction() as connection:
            yield Postgres(connection)
        self.catch_up()

    @contextmanager
    def _transaction(self, *, last_step: str = "") -> Iterator[sqlite3.Connection]:
        thread = threading.get_ident()
        if thread in self._held:  # within another one: a part of it
            yield self._db
            return
        # PostgreSQL's lock is taken before the mirror's by all.
        with self._open_transaction() as connection:
            lock(connection)
            self._take_in(connection)
            with self._lock, translate_errors(self.path):
                self._db.execute("BEGIN IMMEDIATE")
                self._held[thread] = connection
                try:
                    before = self._rows(LAST_NUMBERS)[0]
                    yield self._db
                    self._send(connection, *before)
                finally:
                    del self._held[thread]
                    with suppress(sqlite3.Error):  # it may have rolled back by itself
                        self._db.execute("ROLLBACK")
        self._on_step("committed in PostgreSQL")
        self.catch_up()
        if last_step:
            self._on_step(last_step)

    def _send(self, connection: Connection, last_change: int, last_line: int) -> None:
        postgres = Postgres(connection)
        lines = self._rows("SELECT * FROM journal WHERE id > ? ORDER BY id", last_line)
        postgres.executemany(JOURNAL, map(dict, lines))
        names = [row["name"] for row in self._rows("SELECT name FROM touched WHERE at > ?", last_change)]
        if names:
            send_tools(self._db, postgres, names)
            self._database.notify(connection, CHANNEL)
        self._on_step("sent")

    @contextmanager
    def _open_transaction(self) -> Iterator[Connection]:
        """A transaction of a database whose schema is ours."""
        if not self._is_migrated:
            migrate(self._database)
            self._is_migrated = True
        with self._database.transaction() as connection:
            yield connection

    def _take_in(self, connection: Connection) -> bool:
        with self._local_transaction(durable=False) as db:
            changes = take_in(db, connection)
            self._trim(db, len(changes.rows.get("journal", ())))
        return bool(changes.names)


def lock(connection: Connection) -> None:
    """Waits until no other server changes how a tool stands, and keeps all from it until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))


def put_files(connection: Connection, seal: str, files: Mapping[str, bytes]) -> None:
    """Stores the files of a version by its seal."""
    connection.cursor().executemany(
        "INSERT INTO file (seal, name, content) VALUES (%s, %s, %s)"
        " ON CONFLICT (seal, name) DO UPDATE SET content = excluded.content",
        [(seal, name, content) for name, content in files.items()],
    )


def read_files(connection: Connection, seal: str) -> dict[str, bytes]:
    """The files that were stored by a seal."""
    rows = connection.execute("SELECT name, content FROM file WHERE seal = %s", (seal,))
    return {row["name"]: row["content"] for row in rows}
