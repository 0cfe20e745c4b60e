"""Catalogue of a library that several servers share: PostgreSQL has it, and the file is a mirror that is read.

A change is made in the mirror and sent to PostgreSQL, by one server at a time. Use is added by all of them at once.
"""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.catalogue import TRIM_EVERY, Catalogue, journal_line, trim_calls
from alita_mcp.library.catalogue.daily import DAYS_KEPT
from alita_mcp.library.catalogue.mirror import (
    COUNTED,
    MIRROR,
    NOTHING,
    Changes,
    MirrorState,
    put_rows,
    read_changes,
    read_state,
    send_journal,
    send_tools,
    take_in,
)
from alita_mcp.library.catalogue.reader import translate_errors
from alita_mcp.library.catalogue.use import CALLS_KEPT, CallRow, SearchCount, Use
from alita_mcp.library.disk import OnStep, no_step
from alita_mcp.postgres.database import Connection, Database
from alita_mcp.postgres.migrations import migrate

CHANNEL = "alita_library"
LOCK = 0x0A117B
"""Key of the advisory lock that the one server holds which changes how tools stand."""

Blob = tuple[str, bytes, list[str]]
"""A file's digest and content, and of a manifest the digests of the files that it seals."""

_ADD_USE = """
INSERT INTO usage AS u (name, calls, failures, last_used)
SELECT name, n.calls, n.failures, n.last FROM tool JOIN
    json_to_recordset(%s::json) AS n (name text, calls bigint, failures bigint, last text) USING (name) ORDER BY name
ON CONFLICT (name) DO UPDATE SET calls = u.calls + excluded.calls, failures = u.failures + excluded.failures,
    last_used = greatest(u.last_used, excluded.last_used), xid = pg_current_xact_id()
"""
_ADD_DAY = """
INSERT INTO daily_use AS u (day, name, calls, failures, code_bytes)
SELECT left(n.last, 10), name, n.calls, n.failures, n.code_bytes FROM tool JOIN json_to_recordset(%s::json)
    AS n (name text, calls bigint, failures bigint, last text, code_bytes bigint) USING (name) ORDER BY 1, 2
ON CONFLICT (day, name) DO UPDATE SET calls = u.calls + excluded.calls, failures = u.failures + excluded.failures,
    code_bytes = u.code_bytes + excluded.code_bytes, xid = pg_current_xact_id()
"""
_ADD_SEARCHES = """
INSERT INTO daily_search AS s (day, searches, matched, called)
SELECT * FROM json_to_recordset(%s::json) AS n (day text, searches bigint, matched bigint, called bigint) ORDER BY 1
ON CONFLICT (day) DO UPDATE SET searches = s.searches + excluded.searches, matched = s.matched + excluded.matched,
    called = s.called + excluded.called, xid = pg_current_xact_id()
"""
"""Rows in the order of their keys, so that two servers never wait for one another."""
_FILES = """
SELECT digest, content FROM blob
WHERE digest = %(seal)s OR digest IN (SELECT unnest(parts) FROM blob WHERE digest = %(seal)s)
"""
_PUT_BLOB = (
    "INSERT INTO blob AS b (digest, content, parts) VALUES (%s, %s, %s) ON CONFLICT (digest) DO UPDATE"
    " SET content = excluded.content, parts = excluded.parts WHERE b.content != excluded.content"
)
_TRIM = f"""
DELETE FROM journal WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (
            PARTITION BY substring(detail FROM '"owner": "([^"]*)"') ORDER BY id DESC
        ) AS place FROM journal WHERE event IN ('called', 'sandbox failed', 'found nothing', 'ran code')
    ) AS placed ORDER BY place, id DESC OFFSET {CALLS_KEPT}
);
DELETE FROM daily_use WHERE day < to_char(now() - interval '{DAYS_KEPT} days', 'YYYY-MM-DD');
DELETE FROM daily_search WHERE day < to_char(now() - interval '{DAYS_KEPT} days', 'YYYY-MM-DD')
"""  # noqa: S608 - of our own words
"""As `trim_calls`, which each server does in its mirror by itself; the details are as `journal_line` writes them."""
_log = logging.getLogger(__name__)


class SharedCatalogue(Catalogue):
    """Mirror of a shared library; every change is one transaction of PostgreSQL, then one of the mirror."""

    def __init__(self, path: Path, database: Database, on_step: OnStep = no_step) -> None:
        """Opens the mirror, making it when there is none, and brings it up to date.

        Raises:
            LibraryError: as `Catalogue`; or the library has another owner's mirror here, or cannot be reached while
                nothing is known of it.
        """
        self._database = database
        self._id = secrets.token_hex(8)
        self._is_known = False
        self._holder: int | None = None
        self._blobs: list[Blob] = []
        super().__init__(path, on_step)
        try:
            self._follow_first()
        except BaseException:
            self.close()
            raise

    def _refuse_other_kind(self, db: sqlite3.Connection, *, is_new: bool) -> None:
        if not is_new and read_state(db) is None:
            raise LibraryError(
                f"{self.path.parent} holds a library of its own, and ALITA_LIBRARY names another.",
                hint="Set ALITA_HOME to another folder; `alita library copy` brings the tools over.",
            )
        for statement in MIRROR:
            db.execute(statement)

    def _follow_first(self) -> None:
        try:
            with self._database.transaction():
                pass
        except LibraryError as away:
            if not self._state().library:
                raise
            _log.warning("%s The tools are those that were known here.", away)
            return
        self.pull()

    def follow(self, callback: Callable[[Sequence[str]], None]) -> None:
        """Takes in what other servers commit as soon as they do; calls back with the tools' names, in a thread."""

        def hear(sender: str | None) -> None:
            if sender != self._id and (names := self.pull()):
                callback(names)

        self._database.listen(CHANNEL, hear)

    def pull(self) -> Sequence[str]:
        """Takes in what other servers committed; returns the names of the tools that stand otherwise since.

        Raises:
            LibraryError: the library cannot be reached, or is another one than the mirror's.
        """
        if self._holder == threading.get_ident():
            return ()
        while True:
            last = self._state()
            with self._open_transaction() as connection:
                changes = self._read_changes(connection, last)
            if changes is None:
                return ()
            with self._local_transaction(durable=False) as db:
                if self._state() == last:  # no other process of this home was faster
                    self._take_in(db, changes)
                    return changes.names

    def try_to_pull(self) -> None:
        """As `pull`; what fails goes into the log, and the mirror stays as it is."""
        try:
            self.pull()
        except LibraryError as failure:
            _log.warning("%s", failure)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Makes all changes of a block one transaction, in which no other server changes how a tool stands."""
        with self._transaction(last_step="committed"):
            yield

    def keep_files(self, blobs: Iterable[Blob]) -> None:
        """Stores files for the version that is entered in the same `hold`."""
        self._blobs += blobs

    def detach(self) -> None:
        """Makes the mirror a catalogue of its own."""
        with self._local_transaction() as db:
            db.execute("DROP TABLE mirror")

    def fetch_files(self, seal: str) -> dict[str, bytes]:
        """The files of the version with a seal, by their digests, as they are; without those that are not there.

        Raises:
            LibraryError: the library cannot be reached.
        """
        with self._open_transaction() as connection:
            rows = connection.execute(_FILES, {"seal": seal})
            return {row["digest"]: row["content"] for row in rows}

    def record_calls(
        self,
        rows: Sequence[CallRow],
        uses: Mapping[str, Use],
        searches: Iterable[tuple[str, SearchCount]] = (),
    ) -> None:
        """As `Catalogue.record_calls`, at once with other servers."""
        counts = json.dumps([{"name": name, **asdict(use)} for name, use in uses.items()])
        days = json.dumps([{"day": day, **asdict(count)} for day, count in searches])
        lines = [journal_line(row.event, row.name, row.version, row.detail, row.time) for row in rows]
        with self._open_transaction() as connection:
            connection.execute(_ADD_USE, (counts,))
            connection.execute(_ADD_DAY, (counts,))
            connection.execute(_ADD_SEARCHES, (days,))
            last = max((line["id"] for line in send_journal(connection, lines)), default=0)
            if last // TRIM_EVERY > (last - len(rows)) // TRIM_EVERY:
                connection.execute(_TRIM)
        self.try_to_pull()

    def record(self, event: str, name: str | None, version: int | None, detail: Mapping[str, Any]) -> None:
        """As `Catalogue.record`, at once with other servers."""
        if self._holder == threading.get_ident():
            super().record(event, name, version, detail)
            return
        with self._open_transaction() as connection:
            send_journal(connection, [journal_line(event, name, version, detail)])
        self.try_to_pull()

    @contextmanager
    def _transaction(
        self,
        *,
        durable: bool = True,  # noqa: ARG002 - a mirror is made again
        last_step: str = "",
    ) -> Iterator[sqlite3.Connection]:
        if self._holder == threading.get_ident():  # within another one: a part of it
            yield self._db
            return
        # PostgreSQL's lock is taken before the mirror's by all. It commits first; where the mirror then does not, the
        # next pull brings what is missing. What was pulled stays, whatever becomes of the change.
        db = None
        with ExitStack() as mirror:
            try:
                with self._open_transaction() as connection:
                    lock(connection)
                    db = mirror.enter_context(self._local_transaction(durable=False))
                    changes = self._read_changes(connection, self._state())
                    if changes is not None:
                        self._take_in(db, changes)
                    db.execute("SAVEPOINT change")
                    before = _last_numbers(db)
                    self._blobs.clear()
                    self._holder = threading.get_ident()
                    try:
                        yield db
                    finally:
                        self._holder = None
                    self._send(db, connection, *before)
            except BaseException:
                if db is not None:
                    with suppress(sqlite3.Error, LibraryError):
                        db.execute("ROLLBACK TO change")
                        mirror.close()
                raise
            self._on_step("committed in PostgreSQL")
        if last_step:
            self._on_step(last_step)

    def _send(self, db: sqlite3.Connection, connection: Connection, last_change: int, last_line: int) -> None:
        names = [name for (name,) in db.execute("SELECT name FROM touched WHERE at > ?", (last_change,))]
        lines = db.execute("SELECT * FROM journal WHERE id > ? ORDER BY id", (last_line,)).fetchall()
        if lines:
            db.execute("DELETE FROM journal WHERE id > ?", (last_line,))
            put_rows(db, "journal", send_journal(connection, map(dict, lines)))
        send_blobs(connection, self._blobs)
        if names:
            send_tools(db, connection, names)
            self._database.notify(connection, CHANNEL, self._id)
        self._on_step("sent")

    @contextmanager
    def _open_transaction(self) -> Iterator[Connection]:
        """A transaction of a database whose schema is ours."""
        if not self._is_known:
            migrate(self._database)
            self._renumber()
            self._is_known = True
        with self._database.transaction() as connection:
            yield connection

    def _renumber(self) -> None:
        """Mends rows of a database that was brought back from a dump, where numbers of transactions began anew."""
        with suppress(LibraryError), self._database.transaction() as connection:  # it may be read-only
            for table in ("changed", *COUNTED):
                connection.execute(
                    f"UPDATE {table} SET xid = pg_current_xact_id()"  # noqa: S608 - of our own words
                    " WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"
                )

    def _state(self) -> MirrorState:
        with self._lock, translate_errors(self.path):
            return read_state(self._db) or MirrorState("", "", NOTHING)

    def _read_changes(self, connection: Connection, last: MirrorState) -> Changes | None:
        changes = read_changes(connection, last)
        if last.library and changes.state.library != last.library:
            raise LibraryError(
                f"The library at {self._database.name} is not the one that {self.path.parent} holds a copy of.",
                hint="Set ALITA_HOME to another folder.",
            )
        return changes if changes.is_whole or changes.names or changes.rows else None

    def _take_in(self, db: sqlite3.Connection, changes: Changes) -> None:
        before = _last_numbers(db)[1]
        take_in(db, changes)
        if _last_numbers(db)[1] // TRIM_EVERY > before // TRIM_EVERY:
            trim_calls(db)


def lock(connection: Connection) -> None:
    """Waits until no other server changes how a tool stands, and keeps all from it until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))


def send_blobs(connection: Connection, blobs: Iterable[Blob]) -> None:
    """Stores files by their digests."""
    connection.cursor().executemany(_PUT_BLOB, sorted(blobs))


def _last_numbers(db: sqlite3.Connection) -> tuple[int, int]:
    """The last change of a tool, and the last line of the journal."""
    numbers = dict(db.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    return numbers.get("touched", 0), numbers.get("journal", 0)
