"""Records of runs in the database of a shared library: begun by one server, followed by all.

A server that works on runs says every few seconds, by the clock of the database, that it still lives.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from alita_mcp.agent.runs.records import (
    MAX_EVENTS_BYTES,
    StoredRun,
    choose_surplus_runs,
    decode_events,
    decode_summary,
    encode_event,
    no_run,
)
from alita_mcp.agent.values import TaskEvent
from alita_mcp.errors import LibraryError

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

DEAD_AFTER_S = 30
PATIENCE_S = 30.0
"""How long a run waits for a database that is away before its work is given up."""
RETRY_S = 0.5
T = TypeVar("T")


class RunRows:
    """The same as `RunFolders`, of several servers."""

    def __init__(self, database: Database, max_runs: int, max_bytes: int) -> None:
        self._database = database
        self._max_runs = max_runs
        self._max_bytes = max_bytes
        self._holder = secrets.token_hex(8)
        self._beating = threading.Lock()
        """Taken for good with the first run: from then on the database hears that this process lives."""

    def create(self, run: str, request: dict[str, Any], owner: str) -> None:
        """As `RunFolders` says; a run that another server left unfinished begins anew."""
        content = json.dumps(request).encode()
        with self._database.transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('run'))")
            rows = connection.execute(
                """
                SELECT run, owner, summary IS NOT NULL OR seen < now() - %s * interval '1 s' AS ended,
                    event_bytes + coalesce((SELECT sum(octet_length(content)) FROM run_file f WHERE f.run = r.run), 0)
                    AS bytes
                FROM run r WHERE run <> %s ORDER BY began
                """,
                (DEAD_AFTER_S, run),
            )
            sizes = [(row["run"], row["owner"], int(row["bytes"]), row["ended"]) for row in rows]
            surplus = choose_surplus_runs(sizes, owner, self._max_runs, self._max_bytes)
            connection.execute(
                "DELETE FROM run WHERE run = ANY(%s) OR run = %s AND owner = %s AND holder <> %s AND summary IS NULL",
                (surplus, run, owner, self._holder),
            )
            made = connection.execute(
                "INSERT INTO run (run, owner, request, holder) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (run, owner, content, self._holder),
            )
        if not made.rowcount:
            raise LibraryError(f"There is a run {run!r} already.", hint="Begin another one.")
        if self._beating.acquire(blocking=False):
            self._database.listen("alita_runs", self._beat)

    def append_event(self, event: TaskEvent) -> None:
        """As `RunFolders` says; waits for a database that is away."""
        line = encode_event(event)
        summary = None
        if event.kind == "finished" and (stored := _persist(lambda: self.find(event.run))):
            summary = stored.summarize([event]).model_dump_json().encode()

        def append() -> None:
            with self._database.transaction() as connection:
                row = connection.execute(
                    """
                    UPDATE run SET event_bytes = event_bytes + %s, summary = coalesce(%s, summary), seen = now()
                    WHERE run = %s AND holder = %s RETURNING event_bytes
                    """,
                    (len(line), summary, event.run, self._holder),
                ).fetchone()
                if row is None:  # it made room, or another server works on it now
                    raise no_run(event.run)
                if row["event_bytes"] <= MAX_EVENTS_BYTES or event.kind == "finished":
                    connection.execute(
                        "INSERT INTO run_event (run, number, line) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
                        (event.run, event.number, line),
                    )

        _persist(append)

    def write_file(self, run: str, name: str, data: bytes) -> None:
        """As `RunFolders` says; waits for a database that is away."""

        def write() -> None:
            with self._database.transaction() as connection:
                connection.execute(
                    """
                    INSERT INTO run_file (run, name, content) SELECT run, %s, %s FROM run WHERE run = %s AND holder = %s
                    ON CONFLICT (run, name) DO UPDATE SET content = excluded.content
                    """,
                    (_encode_name(name), data, run, self._holder),
                )

        _persist(write)

    def find(self, run: str) -> StoredRun | None:
        """As `RunFolders` says."""
        return next(iter(self._select("WHERE run = %s", run)), None)

    def newest(self, owner: str | None, limit: int | None = None) -> Sequence[StoredRun]:
        """As `RunFolders` says."""
        return self._select("WHERE owner = coalesce(%s, owner) ORDER BY began DESC LIMIT %s", owner, limit)

    def read_events(self, run: str) -> list[TaskEvent]:
        """As `RunFolders` says."""
        rows = self._fetch("SELECT line FROM run_event WHERE run = %s", run)
        return decode_events([row["line"] for row in rows])

    def file_sizes(self, run: str) -> dict[str, int]:
        """As `RunFolders` says."""
        rows = self._fetch(
            "SELECT name, octet_length(content) AS bytes FROM run_file WHERE run = %s ORDER BY name", run
        )
        return {row["name"].decode(): row["bytes"] for row in rows}

    def read_file(self, run: str, name: str) -> bytes | None:
        """As `RunFolders` says."""
        rows = self._fetch(
            "SELECT content FROM run_file WHERE run = %s AND name = %s", run, _encode_name(name)
        )
        return rows[0]["content"] if rows else None

    def _select(self, where: str, *values: Any) -> list[StoredRun]:
        query = f"""
            SELECT run, request, summary, summary IS NULL AND seen >= now() - %s * interval '1 s' AS is_under_way
            FROM run {where}
        """  # noqa: S608 - written above
        rows = self._fetch(query, DEAD_AFTER_S, *values)
        return [
            StoredRun(run, json.loads(request), decode_summary(summary or b""), is_under_way)
            for run, request, summary, is_under_way in map(dict.values, rows)
        ]

    def _fetch(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with self._database.transaction() as connection:
            return connection.execute(query, values).fetchall()

    def _beat(self, _notice: str | None) -> None:
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE run SET seen = now() WHERE holder = %s AND summary IS NULL", (self._holder,)
            )


def _persist(work: Callable[[], T]) -> T:
    """Work that writes what a run did, tried again while the database is away: a task may have cost much."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return work()
        except LibraryError:
            if time.monotonic() > until:
                raise
            time.sleep(RETRY_S)


def _encode_name(name: str) -> bytes:
    return name.encode("utf-8", "replace")
