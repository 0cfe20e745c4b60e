"""Catalogue of a library that several servers share: PostgreSQL has it, and the file is a mirror that is read.

A change is tried in the mirror, sent to PostgreSQL by one server at a time, and comes back as those of other servers
do. Use is added by all of them at once.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.mirror import MIRROR, Postgres, send_tools, take_in
from alita_mcp.library.catalogue.reader import translate_errors
from alita_mcp.library.catalogue.schema import JOURNAL
from alita_mcp.library.disk import OnStep, no_step
from alita_mcp.postgres.database import Connection, Database

CHANNEL = "alita_library"
LOCK = 0x0A117B
"""Key of the advisory lock that the one server holds which changes how tools stand."""
LAST_NUMBERS = "SELECT (SELECT max(at) FROM touched), (SELECT max(id) FROM journal)"
_log = logging.getLogger(__name__)


class SharedCatalogue(Catalogue):
    """Mirror of a shared library; every change is one transaction of PostgreSQL."""

    _mirror = MIRROR

    def __init__(self, path: Path, database: Database, on_step: OnStep = no_step) -> None:
        """Opens the mirror, making it when there is none; raises as `Catalogue`."""
        self._database = database
        self._held: dict[int, Connection] = {}
        """Threads that change how tools stand, one at a time."""
        super().__init__(path, on_step)

    def follow(self, callback: Callable[[], Any]) -> None:
        """Takes in what other servers commit as soon as they do, and calls back in another thread."""
        self._database.listen(CHANNEL, lambda _: self.pull() and callback())

    def pull(self) -> bool:
        """Takes in what was committed; returns whether tools stand otherwise since.

        Raises:
            LibraryError: the library cannot be reached, or only a newer version can work with it.
        """
        with self._database.transaction() as connection:
            return self._take_in(connection)

    def catch_up(self) -> None:
        """As `pull`; what fails goes into the log, where there is a mirror that can stay as it is."""
        try:
            self.pull()
        except LibraryError as failure:
            if not self._rows("SELECT library FROM mirror")[0][0]:
                raise
            _log.warning("%s", failure)

    @contextmanager
    def hold(self) -> Iterator[Connection]:
        """Makes all changes of a block one transaction, in which no other server changes how a tool stands."""
        with self._transaction():
            yield self._held[threading.get_ident()]

    @contextmanager
    def _addition(self) -> Iterator[sqlite3.Connection | Postgres]:
        if threading.get_ident() in self._held:
            yield self._db
            return
        with self._database.transaction() as connection:
            yield Postgres(connection)
        self.catch_up()

    @contextmanager
    def _transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """As `Catalogue` says; one that is not durable is of the mirror alone."""
        if not durable:
            with super()._transaction(durable=False) as db:
                yield db
            return
        thread = threading.get_ident()
        if thread in self._held:  # within another one: a part of it
            yield self._db
            return
        # PostgreSQL's lock is taken before the mirror's by all.
        with self._database.transaction() as connection:
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
        self._on_step("committed")
        self.catch_up()

    def _send(self, connection: Connection, last_change: int, last_line: int) -> None:
        postgres = Postgres(connection)
        lines = self._rows("SELECT * FROM journal WHERE id > ifnull(?, 0) ORDER BY id", last_line)
        postgres.executemany(JOURNAL, map(dict, lines))
        touched = self._rows("SELECT name FROM touched WHERE at > ifnull(?, 0)", last_change)
        names = [row["name"] for row in touched]
        if names:
            send_tools(self._db, postgres, names)
            self._database.notify(connection, CHANNEL)
        self._on_step("sent")

    def _take_in(self, connection: Connection) -> bool:
        with self._transaction(durable=False) as db:
            changes = take_in(db, connection)
            self._trim(db, len(changes.get("journal", ())))
        return bool(changes.get("names"))


def lock(connection: Connection) -> None:
    """Waits until no other server changes how a tool stands, and keeps all from it until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
