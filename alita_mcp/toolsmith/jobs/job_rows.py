"""Rows of the jobs that the servers of a shared library work on together, and what they write there for one another.

Who works on a job has its row's attempt: with a lower one nothing is written any longer. Times are the database's.
Whatever is asked here raises LibraryError while the database is away.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import anyio.to_thread

from alita_mcp import errors
from alita_mcp.errors import AlitaError, ModelError
from alita_mcp.postgres.database import Database
from alita_mcp.toolsmith.jobs.jobs import KEPT_SECONDS, MAX_QUEUED, Job, Order
from alita_mcp.toolsmith.jobs.person_questions import (
    Decision,
    FilledForm,
    FormField,
    PersonAnswer,
    Question,
    Refused,
)  # fmt: skip

CHANNEL = "alita_jobs"
DEAD_AFTER_S = 12
"""Without a heartbeat; a server says every two seconds that it lives."""
ID = re.compile(r"[\w-]{1,64}", re.ASCII)
MAX_STAGE = 2_000
Row = dict[str, Any]
_ROW = "*, extract(epoch FROM now() - started) AS age"
_IS_FREE = f"(server = '' OR heartbeat < now() - interval '{DEAD_AFTER_S - 2} s')"


class JobRows:
    """The table `job`, as one server uses it."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    async def find_same(self, order: Order) -> Sequence[Row]:
        """Rows of the same order: the one under way, and those whose outcome no caller has heard."""
        query = f"""
            SELECT {_ROW} FROM job WHERE owner = %(owner)s AND tool = %(tool)s AND key = %(key)s AND key <> ''
            AND (finished IS NULL AND NOT cancelled OR outcome IS NOT NULL AND NOT delivered)
            ORDER BY finished DESC NULLS FIRST
        """  # noqa: S608 - here and below: made of what stands in this file
        return await self._ask(query, **_columns(order))

    async def insert(self, order: Order, *, asks: bool) -> Row | None:
        """A new row; None where the same order is under way, or too many of its tool wait."""
        query = f"""
            INSERT INTO job (id, tool, owner, key, request, asks, waiting)
            SELECT %(id)s, %(tool)s, %(owner)s, %(key)s, %(request)s, %(asks)s, '{{}}' WHERE {MAX_QUEUED} >
                (SELECT count(*) FROM job WHERE tool = %(tool)s AND server = '' AND finished IS NULL)
            ON CONFLICT DO NOTHING RETURNING {_ROW}
        """  # noqa: S608
        rows = await self._ask(query, asks=asks, **_columns(order))
        return rows[0] if rows else None

    async def insert_begun(self, job: Job[Any]) -> None:
        """Adds a job that is under way here, and can be nowhere else."""
        columns = "id, tool, owner, key, asks, parked, waiting, server, attempt"
        query = f"INSERT INTO job ({columns}) VALUES (%(id)s, %(tool)s, %(owner)s, '', %(asks)s, %(parked)s, '{{}}', %(server)s, 1) RETURNING id"  # noqa: E501, S608
        asks = job.person is not None
        await self._ask(query, id=job.id, tool=job.tool, owner=job.owner, asks=asks, parked=job.parked)

    async def read(self, ids: Collection[str]) -> Sequence[Row]:
        """The rows of these jobs."""
        return await self._ask(f"SELECT {_ROW} FROM job WHERE id = ANY(%(ids)s)", ids=list(ids))  # noqa: S608

    async def claim(self, job_id: str, cancelled: str) -> Row | None:
        """Takes a job that nobody works on; None where there is nothing to do. One that is to be stopped ends so."""
        where = f"id = %(id)s AND finished IS NULL AND request IS NOT NULL AND {_IS_FREE}"
        sets = """
            server = %(server)s, attempt = attempt + 1, heartbeat = now(), questions = '[]', round = '',
            finished = CASE WHEN cancelled THEN now() END, failure = CASE WHEN cancelled THEN %(why)s END
        """
        row = await self._update(where, sets, id=job_id, why=cancelled)
        return row if row and row["finished"] is None else None

    async def write(self, job_id: str, attempt: int, columns: Mapping[str, str | None]) -> bool:
        """Writes how a job stands, or how it ended; False where another server has it now."""
        sets = [f"{name} = %({name})s" for name in columns]
        sets += ["finished = now()"] if "outcome" in columns else []
        where = "id = %(id)s AND attempt = %(attempt)s AND finished IS NULL"
        return bool(await self._update(where, ", ".join(sets), id=job_id, attempt=attempt, **columns))

    async def cancel(self, job_id: str, cancelled: str) -> None:
        """Asks whoever works on a job to stop it; one that nobody has begun ends at once."""
        at_once = "finished = CASE WHEN server = '' THEN now() END, failure = CASE WHEN server = '' THEN %(why)s END"
        where = "id = %(id)s AND finished IS NULL"
        await self._update(where, f"cancelled = true, {at_once}", id=job_id, why=cancelled)

    async def note_callers(self, job_id: str, *, wait: bool, delivered: bool = False) -> bool:
        """Notes whether callers here wait for the outcome, or one has heard it; whether callers elsewhere wait."""
        others = "array_remove(waiting, %(server)s)"
        here = "CASE WHEN %(wait)s THEN ARRAY[%(server)s] ELSE '{}' END"
        query = f"UPDATE job SET waiting = {others} || {here}, delivered = delivered OR %(delivered)s WHERE id = %(id)s"  # noqa: S608
        query += f" RETURNING cardinality({others}) AS others"
        rows = await self._ask(query, id=job_id, wait=wait, delivered=delivered)
        return bool(rows and rows[0]["others"])

    async def beat(self, ids: Collection[str]) -> None:
        """Says that this server lives and works on these jobs."""
        query = "UPDATE job SET heartbeat = now() WHERE id = ANY(%(ids)s) AND server = %(server)s"
        await self._ask(f"{query} RETURNING id", ids=list(ids))

    async def end_lost(self, failure: str) -> None:
        """Ends the jobs that could only be done on a server that is gone, and forgets those that ended long ago."""
        is_dead = f"finished IS NULL AND request IS NULL AND heartbeat < now() - interval '{DEAD_AFTER_S} s'"
        await self._update(is_dead, "finished = now(), failure = %(failure)s", failure=failure)
        await self._ask(f"DELETE FROM job WHERE finished < now() - interval '{KEPT_SECONDS} s' RETURNING id")  # noqa: S608

    async def find_unqueued(self, *, of_dead: bool) -> Sequence[Row]:
        """Jobs that stand in no queue and that no server works on, or only one that is dead."""
        queued = "SELECT FROM alita_queue.procrastinate_jobs WHERE lock = job.id AND status < 'succeeded'"
        is_free = f"(server = '' OR (%(of_dead)s AND {_IS_FREE}))"
        query = f"SELECT id, tool FROM job WHERE finished IS NULL AND request IS NOT NULL AND {is_free} AND NOT EXISTS ({queued})"  # noqa: E501, S608
        return await self._ask(query, of_dead=of_dead)

    async def save_round(self, job_id: str, token: str) -> None:
        """As `QuestionStore` says."""
        await self._update("id = %(id)s", "round = %(token)s", id=job_id, token=token)

    async def take_round(self, job_id: str, token: str) -> bool:
        """As `QuestionStore` says."""
        where = "id = %(id)s AND round = %(token)s"
        return bool(ID.fullmatch(token) and await self._update(where, "round = ''", id=job_id, token=token))

    async def save_answers(self, job_id: str, answers: Mapping[str, tuple[str, PersonAnswer]]) -> None:
        """As `QuestionStore` says; the first answer to a question counts."""
        said = {key: [text, *_encode_answer(answer)] for key, (text, answer) in answers.items()}
        text = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace").decode()
        text = text.replace("\\u0000", "\\ufffd")  # which jsonb cannot hold
        await self._update("id = %(id)s", "answers = %(said)s::jsonb || answers", id=job_id, said=text)

    async def _update(self, where: str, sets: str, **values: Any) -> Row | None:
        """The first row that was changed; all servers hear of each."""
        query = f"UPDATE job SET {sets} WHERE {where} RETURNING {_ROW}, pg_notify('{CHANNEL}', id)"  # noqa: S608
        rows = await self._ask(query, **values)
        return rows[0] if rows else None

    async def _ask(self, query: str, **values: Any) -> Sequence[Row]:
        def execute() -> Sequence[Row]:
            with self._database.transaction() as connection:
                return connection.execute(query, {"server": self._server, **values}).fetchall()

        return await anyio.to_thread.run_sync(execute)


def _columns(order: Order) -> Row:
    key = hashlib.sha256(order.key.encode("utf-8", "surrogatepass")).hexdigest() if order.key else ""
    request = json.dumps(order.request)
    return {"id": order.id, "tool": order.tool, "owner": order.owner, "key": key, "request": request}


def encode_state(job: Job[Any]) -> dict[str, str | None]:
    """Stage and open questions of a job, as columns of its row."""
    questions = [
        [each.key, each.text, *(list(vars(field).values()) for field in each.fields)]
        for each in (job.person.open_questions if job.person else ())
    ]
    return {"stage": json.dumps(job.stage[:MAX_STAGE]), "questions": json.dumps(questions)}


def decode_questions(row: Row) -> list[Question]:
    """The open questions of a job."""
    questions = json.loads(row["questions"])
    return [
        Question(key, text, tuple(FormField(*each) for each in fields)) for key, text, *fields in questions
    ]


def _encode_answer(answer: PersonAnswer) -> tuple[str, Any]:
    said = (
        answer.texts
        if isinstance(answer, FilledForm)
        else answer.value
        if isinstance(answer, Decision)
        else str(answer)
    )
    return type(answer).__name__, said


def decode_answers(row: Row) -> dict[str, tuple[str, PersonAnswer]]:
    """Text of the question and answer of each question that was answered, by its key."""
    kinds: dict[str, Any] = {each.__name__: each for each in (Decision, FilledForm, Refused)}
    return {
        key: (text, kinds.get(kind, ModelError)(said)) for key, (text, kind, said) in row["answers"].items()
    }


def encode_failure(failure: BaseException) -> str:
    """Why a job failed; of what is no error of ours only that it was one."""
    said = {"kind": type(failure).__name__, **vars(failure)} if isinstance(failure, AlitaError) else None
    return json.dumps(said, default=str)


def decode_failure(text: str) -> Exception:
    """The reverse; a kind of error that this version does not know is a plain one."""
    said = json.loads(text)
    if said is None:
        return RuntimeError("a job failed on another server")
    failure: AlitaError = getattr(errors, said.pop("kind"), AlitaError)(said["message"])
    vars(failure).update(said)
    return failure
