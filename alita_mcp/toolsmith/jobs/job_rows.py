"""Rows of the jobs that the servers of a shared library work on together. All of it blocks.

Who works on a job has its row's attempt: with a lower one nothing is written any longer. Times are the database's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alita_mcp.errors import TooMany
from alita_mcp.toolsmith.jobs.jobs import KEPT_SECONDS, MAX_QUEUED, Job, Order

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Connection, Database

CHANNEL = "alita_jobs"
DEAD_AFTER_S = 12
"""Without a heartbeat; a server says every two seconds that it lives."""
Row = dict[str, Any]


class JobRows:
    """The table `job`, as one server uses it."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    def insert(self, order: Order, *, asks: bool) -> Row:
        """The row of an order, with a caller here that waits: a new one, or that of the same order under way.

        Raises:
            TooMany: as many of this tool wait as may.
        """
        key = _digest(order.key)
        with self._database.transaction() as connection:
            if found := self._join(connection, order.owner, order.tool, key):
                return found
            waiting = connection.execute(
                "SELECT count(*) AS jobs FROM job WHERE tool = %s AND server = '' AND finished IS NULL",
                (order.tool,),
            ).fetchall()
            if waiting[0]["jobs"] >= MAX_QUEUED:
                raise TooMany(
                    f"Busy: {MAX_QUEUED} jobs of {order.tool} are waiting.",
                    hint="Try again when one has ended.",
                )
            made = connection.execute(
                """
                INSERT INTO job (id, tool, owner, key, request, asks, waiting)
                VALUES (%s, %s, %s, %s, %s, %s, ARRAY[%s])
                ON CONFLICT DO NOTHING RETURNING *, 0 AS age
                """,
                (order.id, order.tool, order.owner, key, json.dumps(order.request), asks, self._server),
            ).fetchall()
            # Another server inserted the same order a moment ago: by now that is committed.
            return made[0] if made else self._join(connection, order.owner, order.tool, key) or {}

    def _join(self, connection: Connection, owner: str, tool: str, key: str) -> Row | None:
        rows = connection.execute(
            """
            UPDATE job SET waiting = array_append(array_remove(waiting, %s), %s)
            WHERE owner = %s AND tool = %s AND key = %s AND key <> '' AND finished IS NULL AND NOT cancelled
            RETURNING *, extract(epoch FROM now() - started) AS age
            """,
            (self._server, self._server, owner, tool, key),
        ).fetchall()
        return rows[0] if rows else None

    def find_missed(self, owner: str, tool: str, key: str) -> Sequence[Row]:
        """Ended jobs of a key whose outcome no caller has heard, the last one first."""
        return self._fetch(
            """
            SELECT *, extract(epoch FROM now() - started) AS age FROM job
            WHERE owner = %s AND tool = %s AND key = %s AND key <> '' AND outcome IS NOT NULL AND NOT delivered
            ORDER BY finished DESC
            """,
            owner, tool, _digest(key),
        )  # fmt: skip

    def insert_begun(self, job: Job[Any], state: Mapping[str, str]) -> None:
        """Adds a job that is under way here, and can be nowhere else."""
        self._change(
            """
            INSERT INTO job (id, tool, owner, key, asks, parked, stage, questions, waiting, server, attempt)
            VALUES (
                %(id)s, %(tool)s, %(owner)s, '', %(asks)s, %(parked)s, %(stage)s, %(questions)s, '{}', %(server)s, 1
            )
            ON CONFLICT DO NOTHING RETURNING id
            """,
            id=job.id, tool=job.tool, owner=job.owner, asks=job.person is not None, parked=job.parked,
            server=self._server, **state,
        )  # fmt: skip

    def read(self, ids: Collection[str]) -> Sequence[Row]:
        """The rows of these jobs."""
        query = "SELECT *, extract(epoch FROM now() - started) AS age FROM job WHERE id = ANY(%s)"
        return self._fetch(query, list(ids))

    def claim(self, job_id: str, cancelled: str) -> Row | None:
        """Takes a job that nobody works on; None where there is nothing to do. One that is to be stopped ends so."""
        if self._change(
            f"""
            UPDATE job SET finished = now(), failure = %(failure)s
            WHERE id = %(id)s AND finished IS NULL AND cancelled AND {_IS_FREE} RETURNING id
            """,  # noqa: S608 - written below
            id=job_id, failure=cancelled,
        ):  # fmt: skip
            return None
        rows = self._change(
            f"""
            UPDATE job SET server = %(server)s, attempt = attempt + 1, heartbeat = now(), questions = '[]', round = ''
            WHERE id = %(id)s AND finished IS NULL AND request IS NOT NULL AND {_IS_FREE}
            RETURNING *, extract(epoch FROM now() - started) AS age
            """,  # noqa: S608
            id=job_id, server=self._server,
        )  # fmt: skip
        return rows[0] if rows else None

    def write_state(self, job_id: str, attempt: int, state: Mapping[str, str]) -> bool:
        """Writes stage and questions; False where another server has the job now."""
        return bool(
            self._change(
                """
                UPDATE job SET stage = %(stage)s, questions = %(questions)s, heartbeat = now()
                WHERE id = %(id)s AND attempt = %(attempt)s AND finished IS NULL RETURNING id
                """,
                id=job_id, attempt=attempt, **state,
            )
        )  # fmt: skip

    def finish(self, job_id: str, attempt: int, outcome: str | None, failure: str | None) -> bool:
        """Writes how a job ended; False where another server has it now."""
        return bool(
            self._change(
                """
                UPDATE job SET finished = now(), outcome = %(outcome)s, failure = %(failure)s, questions = '[]'
                WHERE id = %(id)s AND attempt = %(attempt)s AND finished IS NULL RETURNING id
                """,
                id=job_id, attempt=attempt, outcome=outcome, failure=failure,
            )
        )  # fmt: skip

    def release(self, job_id: str, attempt: int) -> None:
        """Leaves a job to other servers."""
        self._change(
            "UPDATE job SET server = '' WHERE id = %(id)s AND attempt = %(attempt)s AND finished IS NULL RETURNING id",
            id=job_id, attempt=attempt,
        )  # fmt: skip

    def cancel(self, job_id: str, cancelled: str) -> None:
        """Asks whoever works on a job to stop it; one that nobody has begun ends at once."""
        self._change(
            """
            UPDATE job SET cancelled = true, finished = CASE WHEN server = '' THEN now() END,
                failure = CASE WHEN server = '' THEN %(failure)s END
            WHERE id = %(id)s AND finished IS NULL RETURNING id
            """,
            id=job_id, failure=cancelled,
        )  # fmt: skip

    def wait(self, job_id: str) -> None:
        """Notes that callers here wait for the outcome."""
        query = (
            "UPDATE job SET waiting = array_append(array_remove(waiting, %s), %s) WHERE id = %s RETURNING id"
        )
        self._fetch(query, self._server, self._server, job_id)

    def leave(self, job_id: str, *, delivered: bool) -> bool:
        """Notes that no caller here waits any longer, and whether one heard the outcome; whether others wait."""
        rows = self._fetch(
            """
            UPDATE job SET waiting = array_remove(waiting, %s), delivered = delivered OR %s WHERE id = %s
            RETURNING cardinality(waiting) AS others
            """,
            self._server, delivered, job_id,
        )  # fmt: skip
        return bool(rows and rows[0]["others"])

    def link(self, job_id: str, successor: str) -> str:
        """Notes which job goes on where one ended; the first one that is noted, or this one."""
        query = (
            "UPDATE job SET successor = coalesce(nullif(successor, ''), %s) WHERE id = %s RETURNING successor"
        )
        rows = self._fetch(query, successor, job_id)
        return str(rows[0]["successor"]) if rows else successor

    def save_round(self, job_id: str, token: str, rounds: Mapping[str, int]) -> None:
        """As `QuestionStore` says."""
        query = "UPDATE job SET round = %(token)s, rounds = %(rounds)s WHERE id = %(id)s RETURNING id"
        self._change(query, id=job_id, token=token, rounds=json.dumps(rounds))

    def take_round(self, job_id: str, token: str) -> Mapping[str, int] | None:
        """As `QuestionStore` says."""
        query = "UPDATE job SET round = '' WHERE id = %(id)s AND round = %(token)s AND round <> '' RETURNING rounds"
        rows = self._change(query, id=job_id, token=json.dumps(token)[1:-1])
        return json.loads(rows[0]["rounds"]) if rows else None

    def save_answers(self, job_id: str, answers: Mapping[str, Any]) -> None:
        """As `QuestionStore` says; the first answer to a question counts."""
        query = "UPDATE job SET answers = %(answers)s::jsonb || answers WHERE id = %(id)s RETURNING id"
        self._change(query, id=job_id, answers=json.dumps(answers).replace("\\u0000", "\\ufffd"))

    def beat(self, ids: Collection[str]) -> None:
        """Says that this server lives and works on these jobs."""
        query = "UPDATE job SET heartbeat = now() WHERE id = ANY(%s) AND server = %s AND finished IS NULL RETURNING id"
        self._fetch(query, list(ids), self._server)

    def end_lost(self, failure: str) -> None:
        """Ends the jobs that could only be done on a server that is gone, and forgets those that ended long ago."""
        self._change(
            """
            UPDATE job SET finished = now(), failure = %(failure)s WHERE finished IS NULL AND request IS NULL
            AND heartbeat < now() - %(dead)s * interval '1 s' RETURNING id
            """,
            failure=failure, dead=DEAD_AFTER_S,
        )  # fmt: skip
        query = "DELETE FROM job WHERE finished < now() - %s * interval '1 s' RETURNING id"
        self._fetch(query, KEPT_SECONDS)

    def find_unqueued(self) -> Sequence[Row]:
        """Jobs that no server works on and that stand in no queue."""
        return self._fetch(
            f"""
            SELECT id, tool FROM job WHERE finished IS NULL AND request IS NOT NULL AND {_IS_FREE} AND NOT EXISTS (
                SELECT FROM alita_queue.procrastinate_jobs queued
                WHERE queued.lock = job.id AND queued.status < 'succeeded'
            )
            """  # noqa: S608
        )

    def _change(self, query: str, **values: Any) -> Sequence[Row]:
        """Rows that a statement changed; all servers hear of them."""
        with self._database.transaction() as connection:
            rows = connection.execute(query, values).fetchall()
            for job_id in {row["id"] for row in rows if "id" in row} or ({values["id"]} if rows else set()):
                self._database.notify(connection, CHANNEL, job_id)
        return rows

    def _fetch(self, query: str, *values: Any) -> Sequence[Row]:
        with self._database.transaction() as connection:
            return connection.execute(query, values).fetchall()


_IS_FREE = f"(server = '' OR heartbeat < now() - interval '{DEAD_AFTER_S - 2} s')"


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest() if key else ""
