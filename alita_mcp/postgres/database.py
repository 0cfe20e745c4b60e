"""Database of a shared library: transactions in worker threads, and notices from other servers.

Everything lives in the schema `alita`. All of it blocks; the callers use worker threads.
"""

from __future__ import annotations

import logging
import math
import re
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

from alita_mcp.errors import LibraryError
from alita_mcp.extras import extra_imports
from alita_mcp.postgres.migrations import SCHEMA, migrate

with extra_imports("team"):
    import psycopg
    from psycopg.rows import DictRow, dict_row
    from psycopg_pool import ConnectionPool, PoolTimeout

POLL_S = 5.0
"""A notice can be lost, so a listener looks this often in any case."""
CONNECT_S = 5.0
"""How long a transaction waits for a connection."""
AWAY_S = 0.5
"""How long it waits once a listener has had no connection for longer than that: what goes on without stays fast."""
STATEMENT_MS = 30_000
"""No statement of ours takes longer; a lock that is not released must not hold everybody."""
MAX_CONNECTIONS = 8

KEEPALIVES = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
"""How soon each side notices that the other one is gone: after eleven seconds."""
LASTING = {"connect_timeout": int(CONNECT_S), **KEEPALIVES}
"""Parameters of connections."""

Connection = psycopg.Connection[DictRow]
_log = logging.getLogger(__name__)


class Database:
    """One PostgreSQL database, with our schema from the first transaction on.

    Opening it connects to nothing: a server starts while the database is away.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.server = f"alita-{secrets.token_hex(8)}"
        """Name of this process: of its connections, by which others see that it lives."""
        self._closed = threading.Event()
        self._is_migrated = False
        self._waking, self._end = socket.socketpair()
        self._away_since: float | None = None
        self._listeners: list[threading.Thread] = []
        self._heard_at: dict[str, float] = {}
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # our errors say it, once
        path = f"-c search_path={SCHEMA},{SCHEMA}_queue"  # the queue's triggers look there for its tables
        options = f"{path} -c statement_timeout={STATEMENT_MS} -c timezone=UTC"
        self._parameters: dict[str, Any] = {
            "row_factory": dict_row,
            "autocommit": True,
            "application_name": self.server,
            "options": " ".join((options, *(f"-c tcp_{name}={value}" for name, value in KEEPALIVES.items()))),
            **LASTING,
        }
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            kwargs=self._parameters,
            connection_class=Connection,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=CONNECT_S,
            reconnect_timeout=0,
            check=ConnectionPool.check_connection,
            open=True,
        )

    @property
    def name(self) -> str:
        """Server and database as messages name them: never user or password."""
        parts = psycopg.conninfo.conninfo_to_dict(self._url)
        place = parts.get("host") or "localhost"
        return f"{place}:{parts.get('port') or 5432}/{parts.get('dbname') or ''}"

    @property
    def silent_s(self) -> float:
        """How long ago the listener that is last took in what others did: seconds, or infinite."""
        return time.monotonic() - min(self._heard_at.values(), default=-math.inf)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction: committed at the end of the block, rolled back when it raises.

        Raises:
            LibraryError: the database cannot be reached or refuses, or only a newer version can work with its schema;
                nothing was changed, unless the connection broke at the commit, which the message says.
        """
        away_s = 0.0 if self._away_since is None else time.monotonic() - self._away_since
        timeout = max(AWAY_S, CONNECT_S - away_s)
        with self.translate_errors(), self._pool.connection(timeout) as connection:
            if not self._is_migrated:
                with connection.transaction():
                    migrate(connection)
                self._is_migrated = True
            with connection.transaction():
                yield connection

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Errors of the database become a LibraryError that says what to do."""
        try:
            yield
        except (psycopg.Error, PoolTimeout) as error:
            raise _explain(error, self.name) from error

    def notify(self, connection: Connection, channel: LiteralString, text: str = "") -> None:
        """Tells all listeners of a channel, once the transaction is committed."""
        connection.execute("SELECT pg_notify(%s, %s)", (channel, text))

    def listen(self, channel: LiteralString, heard: Callable[[str | None], Any]) -> None:
        """Calls `heard` in a thread with each notice of a channel, and with None after each pause and reconnection.

        It goes on until the database is closed, whatever fails.
        """

        def take_in(text: str | None) -> None:
            heard(text)
            self._heard_at[channel] = time.monotonic()

        thread = threading.Thread(
            target=self._follow, args=(channel, take_in), name=f"listen-{channel}", daemon=True
        )
        self._listeners.append(thread)
        thread.start()

    def _follow(self, channel: LiteralString, heard: Callable[[str | None], Any]) -> None:
        while not self._closed.is_set():
            try:
                with psycopg.connect(self._url, **self._parameters) as connection:
                    connection.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(channel)))
                    if self._away_since is not None:
                        _log.warning("%s is back.", self.name)
                    self._away_since = None
                    _hear(heard, None)
                    self._hear_notices(connection, heard)
            except psycopg.Error as error:
                if self._away_since is None:
                    _log.warning("%s", _explain(error, self.name))
                    self._away_since = time.monotonic()
                self._closed.wait(1.0)

    def _hear_notices(self, connection: psycopg.Connection[Any], heard: Callable[[str | None], Any]) -> None:
        look_at, places = time.monotonic() + POLL_S, [connection.fileno(), self._waking.fileno()]
        while not self._closed.is_set():
            select.select(places, [], [], max(0.0, look_at - time.monotonic()))
            for notice in connection.notifies(timeout=0):
                _hear(heard, notice.payload)
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + POLL_S
                _hear(heard, None)

    def close(self) -> None:
        """Closes all connections; safe to call twice."""
        self._closed.set()
        self._end.close()
        for thread in self._listeners:
            thread.join(CONNECT_S)
        self._waking.close()
        self._pool.close()


def _hear(heard: Callable[[str | None], Any], text: str | None) -> None:
    try:
        heard(text)
    except Exception as failure:  # noqa: BLE001 - a listener outlives what one notice led to
        _log.warning("Cannot take in what another server changed: %s", failure)


def _explain(error: psycopg.Error | PoolTimeout, name: str) -> LibraryError:
    said = re.sub(r"\s+", " ", str(error)).strip()[:300]
    state = getattr(error, "sqlstate", None) or ""
    if state == "25006":
        return LibraryError(
            f"The library at {name} is read-only.", hint="Nothing was changed. Connect to the primary."
        )
    if state.startswith("53"):
        return LibraryError(f"The library at {name} has no room: {said}.", hint="Nothing was changed.")
    if state == "57014":
        return LibraryError(f"The library at {name} is too slow.", hint="Nothing was changed. Try again.")
    is_ours = isinstance(
        error, psycopg.DataError
    )  # a value of ours that no database takes, which has no state
    if (not state and not is_ours) or state.startswith(("08", "28", "3D", "57P")):
        return LibraryError(
            f"The library at {name} cannot be reached: {said}.",
            hint="Tools that are known here can still be called. Look at ALITA_LIBRARY and at the database; try again.",
        )
    return LibraryError(
        f"The library at {name} refuses: {said}.", hint="Nothing was changed; report this with the log."
    )
