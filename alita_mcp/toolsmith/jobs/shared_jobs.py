"""Jobs of the servers of a shared library: begun on one, asked for and stopped on any, done again when one is gone.

The row of a job is the truth. Who works on it has the row's attempt, and writes there how it stands; with a lower one
nothing is written any longer. On all other servers that were asked about it a `Job` follows the row. A server lives
while it has a connection to the database.
"""
# ruff: noqa: S608 - the queries are made of what stands in this file

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal
from pydantic import ValidationError

from alita_mcp.errors import Cancelled, LibraryError, TooMany
from alita_mcp.postgres.database import Database
from alita_mcp.postgres.queue import HEARTBEAT_S, JobQueue, migrate_queue
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.job_rows import (
    Row,
    decode_answers,
    decode_failure,
    decode_questions,
    encode_answers,
    encode_failure,
    encode_state,
)
from alita_mcp.toolsmith.jobs.jobs import (
    AT_ONCE,
    CANCELLED,
    KEPT_SECONDS,
    MAX_QUEUED,
    MAX_TASKS,
    Job,
    Jobs,
    Order,
    T,
    Tool,
)  # fmt: skip
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions, PersonAnswer
from alita_mcp.tracing import continue_trace, current_trace

ReadOutcome = Callable[[Tool, str], Any]
"""Reads the outcome of a job of a tool; raises ValueError for one that this version does not know."""
CHANNEL = "alita_jobs"
WRITE_EVERY_S = 0.25
"""How often a server writes how its jobs stand, where that has changed."""
LOOKS = 5
"""So often in a row a server must be seen without a connection before its jobs are done by others."""
CLOSE_S = 1.0
"""How long a server that ends may take to leave its jobs to others."""
ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_ROW = "*, extract(epoch FROM now() - started) AS age"
_OURS = "id = %(id)s AND attempt = %(attempt)s AND finished IS NULL"
_LIVES = "SELECT FROM pg_stat_activity WHERE server <> '' AND application_name = server"
_IS_FREE = f"finished IS NULL AND NOT EXISTS ({_LIVES})"
_LOST = LibraryError(
    "The server that worked on this job is gone.", hint="Make the call again, with the whole request."
)


class SharedJobs(Jobs):
    """Registry of the jobs that this server works on, and of those of others that it was asked about."""

    def __init__(
        self,
        tasks: TaskGroup,
        database: Database,
        url: str,
        read_outcome: ReadOutcome,
        portal: BlockingPortal,
    ) -> None:
        """Made by `open_shared_jobs`."""
        super().__init__(tasks, AT_ONCE)
        self._database, self._portal = database, portal
        self._read_outcome = read_outcome
        self._queue = JobQueue(url, self._work)

    def take_jobs(self) -> None:
        """As `Jobs` says."""
        self._tasks.start_soon(self._queue.work, {"synthesize_tool": AT_ONCE, "solve_task": MAX_TASKS})

    def take_no_more(self) -> None:
        """As `Jobs` says."""
        self._queue.take_no_more()

    async def _query(self, query: str, **values: Any) -> Sequence[Row]:
        """The rows that a statement returns; raises LibraryError while the database is away."""

        def execute() -> Sequence[Row]:
            with self._database.transaction() as connection:
                found = connection.execute(query, {"server": self._database.server, **values})
                return found.fetchall() if found.description else ()

        return await anyio.to_thread.run_sync(execute)

    async def _update(self, where: str, sets: str, **values: Any) -> Sequence[Row]:
        """The rows that were changed; all servers hear of each."""
        query = f"UPDATE job SET {sets} WHERE {where} RETURNING {_ROW}, pg_notify('{CHANNEL}', id)"
        return await self._query(query, **values)

    async def _read(self, ids: Sequence[str]) -> Sequence[Row]:
        return await self._query(f"SELECT {_ROW} FROM job WHERE id = ANY(%(ids)s)", ids=ids)

    # What callers do.

    async def begin(
        self,
        order: Order,
        person: PendingQuestions | None = None,
        holds: Callable[[Any], bool] = lambda _outcome: True,
    ) -> Job[Any]:
        """As `Jobs` says; whichever server has a place for it works on it."""
        if order.is_bound:
            return await super().begin(order, person, holds)
        columns = {
            **order.model_dump(),
            "key": hashlib.sha256(order.key.encode("utf-8", "surrogatepass")).hexdigest()
            if order.key
            else "",
            "request": json.dumps({**order.request, "trace": current_trace()}),
            "asks": person is not None,
        }
        # The same request that is under way or was missed is this job; at first another server may be a moment before.
        find = f"""
            SELECT {_ROW} FROM job WHERE owner = %(owner)s AND tool = %(tool)s AND key = %(key)s AND key <> ''
            AND (finished IS NULL AND NOT cancelled OR outcome IS NOT NULL AND NOT delivered)
            ORDER BY finished DESC NULLS FIRST
        """
        insert = f"""
            INSERT INTO job (id, tool, owner, key, request, asks, waiting)
            SELECT %(id)s, %(tool)s, %(owner)s, %(key)s, %(request)s, %(asks)s, '{{}}' WHERE {MAX_QUEUED} >
                (SELECT count(*) FROM job WHERE tool = %(tool)s AND server = '' AND finished IS NULL)
            ON CONFLICT DO NOTHING RETURNING {_ROW}
        """
        for _ in range(2):
            for row in await self._query(find, **columns):
                job = await self._follow(row)
                if job.finished is None or (job.outcome is not None and holds(job.outcome)):
                    return job
            for row in await self._query(insert, **columns):
                job = await self._follow(row, person)
                await self._queue.add(order.tool, order.id)
                return job
        raise TooMany(f"Busy: many jobs of {order.tool} are waiting.", hint="Try again when one has ended.")

    async def find_job(self, job_id: str, tool: Tool | None = "synthesize_tool", *, owner: str) -> Job[Any]:
        """As `Jobs` says, on whichever server it is."""
        known = self._jobs.get(job_id)
        if ID.fullmatch(job_id) and (known is None or (known.is_elsewhere and known.finished is None)):
            for row in await self._read([job_id]):
                if row["owner"] == owner:
                    await self._follow(row)
        return await super().find_job(job_id, tool, owner=owner)

    async def _count_caller(self, job: Job[Any], change: int) -> bool:
        """As `Jobs` says; a job that outlives its call can be asked for on all servers."""
        is_awaited = await super()._count_caller(job, change)
        with anyio.CancelScope(shield=True), suppress(LibraryError):
            if job.is_elsewhere or job.attempt:
                sets = "waiting = array_remove(waiting, %(server)s) || %(here)s, delivered = delivered OR %(heard)s"
                query = f"UPDATE job SET {sets} WHERE id = %(id)s RETURNING waiting"
                here = [self._database.server] if is_awaited else []
                rows = await self._query(query, id=job.id, here=here, heard=job.is_delivered)
                is_awaited = any(row["waiting"] for row in rows)
            elif not is_awaited and job.finished is None:
                await self._share(job)  # where that fails it goes on, and other servers do not know it
        return is_awaited or self._queue.is_stopping  # then others do what this server leaves

    async def show_questions(self, job: Job[Any]) -> None:
        """As `Jobs` says."""
        if attempt := job.attempt:
            with suppress(LibraryError):
                await self._write_state(job, attempt, encode_state(job))

    async def cancel(self, job: Job[Any]) -> None:
        """As `Jobs` says; one that nobody has begun ends at once."""
        if not job.is_elsewhere:
            await super().cancel(job)
            return
        at_once = "finished = CASE WHEN server = '' THEN now() END, failure = CASE WHEN server = '' THEN %(why)s END"
        why = encode_failure(Cancelled(CANCELLED[job.tool]))
        with anyio.CancelScope(shield=True):
            where = "id = %(id)s AND finished IS NULL"
            await self._update(where, f"cancelled = true, {at_once}", id=job.id, why=why)
            await self._refresh([job.id])
            with anyio.move_on_after(10):
                await job.done.wait()

    async def _publish_answers(self, job: Job[Any], answers: Mapping[str, PersonAnswer]) -> None:
        """Keeps answers for whichever server works on a job; the first to a question counts."""
        try:
            sets = "answers = %(said)s::jsonb || answers"
            await self._update("id = %(id)s", sets, id=job.id, said=encode_answers(answers))
        except LibraryError:
            if job.is_elsewhere:
                raise

    # Jobs that follow their rows.

    async def _follow(self, row: Row, person: PendingQuestions | None = None) -> Job[Any]:
        job = self._jobs.get(row["id"])
        if job is None:
            person = person or PendingQuestions()
            job = self._jobs[row["id"]] = Job(
                tool=row["tool"], owner=row["owner"], person=person if row["asks"] else None, parked=row["parked"],
                id=row["id"], started=time.monotonic() - float(row["age"]), is_elsewhere=True,
            )  # fmt: skip
            person.publish = partial(self._publish_answers, job)
        await self._take_in(job, row)
        return job

    def hear(self, job_id: str | None) -> None:
        """Takes in that the row of a job changed, or perhaps any; called by the thread that listens."""
        if job_id is None or job_id in self._jobs:
            with suppress(RuntimeError):  # it is closed
                self._portal.start_task_soon(self._refresh, None if job_id is None else [job_id])

    async def _refresh(self, ids: Collection[str] | None) -> None:
        known = [job for job in self._jobs.values() if ids is None or job.id in ids]
        followed = [job for job in known if job.finished is None and (job.is_elsewhere or job.attempt)]
        with suppress(LibraryError):  # the next look comes in five seconds
            found = {row["id"]: row for row in await self._read([job.id for job in followed])}
            for job in followed:
                if job.id in found:
                    await self._take_in(job, found[job.id])
                elif job.is_elsewhere:
                    job.end(None, _LOST)

    async def _take_in(self, job: Job[Any], row: Row) -> None:
        """Takes in what other servers wrote into a row."""
        if job.person is not None:
            job.person.hear_answers(decode_answers(row))
        # 1. The work is done here: others wish its end, or have taken it away.
        if not job.is_elsewhere:
            if row["cancelled"] or row["attempt"] > job.attempt > 0:
                job.scope.cancel()
            return
        # 2. Another server does it.
        if job.person is not None:
            for question in job.person.hear_questions(decode_questions(row)):
                self._tasks.start_soon(job.person.pass_on, question)
        if (stage := json.loads(row["stage"])) != job.stage:
            await job.enter(stage)
        if row["finished"] is None or job.finished is not None:
            return
        try:
            outcome = None if row["outcome"] is None else self._read_outcome(job.tool, row["outcome"])
            job.end(outcome, None if row["failure"] is None else decode_failure(row["failure"]))
        except ValueError:
            job.end(None, _of_another_version(f"The outcome of job {job.id!r}"))

    # Work that is done here.

    async def _work(self, job_id: str) -> None:
        """Does a job that the queue gave to this server, unless another works on it; returns when it has ended."""
        if (known := self._jobs.get(job_id)) is not None and known.attempt and known.finished is None:
            return  # it was silent, and goes on
        where = f"id = %(id)s AND request IS NOT NULL AND {_IS_FREE}"
        sets = "server = %(server)s, attempt = attempt + 1, questions = '[]'"
        for row in await self._update(where, sets, id=job_id):
            job = await self._follow(row)
            job.is_elsewhere, job.attempt, job.scope = False, row["attempt"], anyio.CancelScope()
            if row["cancelled"]:
                job.scope.cancel()
            if job.person is not None:
                job.person.begin_anew()
            request = json.loads(row["request"])
            trace = request.pop("trace")
            order = Order(id=job.id, tool=job.tool, owner=job.owner, request=request)
            self._begin(job, partial(self._perform, order, job.person, trace), None)
            self._tasks.start_soon(self._write_states, job)
            await job.done.wait()

    async def _perform(
        self, order: Order, person: PendingQuestions | None, trace: Mapping[str, str], on_stage: ReportStage
    ) -> Any:
        try:
            with continue_trace(trace):
                return await self.perform(order, person, on_stage)
        except ValidationError:
            raise _of_another_version(f"The request of job {order.id!r}") from None

    async def _share(self, job: Job[Any]) -> None:
        """Gives a row to a job that is done here and can be nowhere else."""
        await self._query(
            "INSERT INTO job (id, tool, owner, key, asks, parked, waiting, server, attempt)"
            " VALUES (%(id)s, %(tool)s, %(owner)s, '', %(asks)s, %(parked)s, '{}', %(server)s, 1)",
            id=job.id, tool=job.tool, owner=job.owner, asks=job.person is not None, parked=job.parked,
        )  # fmt: skip
        job.attempt = 1
        if job.person is not None:
            job.person.publish = partial(self._publish_answers, job)
        self._tasks.start_soon(self._write_states, job)
        if job.finished is not None:  # meanwhile
            await self._write_end(job, job.outcome, job.failure)

    async def _write_states(self, job: Job[Any]) -> None:
        """Writes how a job stands while it is done here."""
        written: Mapping[str, str] = {}
        while job.finished is None and (attempt := job.attempt):
            if (state := encode_state(job)) != written:
                with suppress(LibraryError):
                    if not await self._write_state(job, attempt, state):
                        await self._refresh([job.id])
                    written = state
            await anyio.sleep(WRITE_EVERY_S)

    async def _write_state(self, job: Job[Any], attempt: int, state: Mapping[str, str]) -> bool:
        """Writes how a job stands; False where it is another server's now."""
        sets = "stage = %(stage)s, questions = %(questions)s"
        return bool(await self._update(_OURS, sets, id=job.id, attempt=attempt, **state))

    async def _write_end(self, job: Job[T], outcome: T | None, failure: BaseException | None) -> None:
        """As `Jobs` says, once it is written, as soon as the database is there; unless another server does it now."""
        said: Any = outcome
        end = {
            "outcome": None if outcome is None else said.model_dump_json(),
            "failure": None if failure is None else encode_failure(failure),
        }
        sets = "outcome = %(outcome)s, failure = %(failure)s, finished = now()"
        while job.attempt:
            with suppress(LibraryError):
                is_written = await self._update(_OURS, sets, id=job.id, attempt=job.attempt, **end)
                if not is_written and await self._read([job.id]):
                    job.is_elsewhere, job.attempt = True, 0
                break
            await anyio.sleep(1.0)
        if job.is_elsewhere:
            await self._refresh([job.id])
        else:
            job.end(outcome, failure)

    async def see_to_free_jobs(self) -> None:
        """Has done again what servers that are gone were doing; ends what only they could do."""
        # What the queue counts as being done may be so though no server has it: the database went away between the two.
        stands = "FROM procrastinate_jobs q WHERE q.lock = job.id AND q.status"
        find = f"""
            SELECT id, tool, server, request IS NULL AS is_bound, ARRAY(SELECT q.id {stands} = 'doing') AS doing
            FROM job WHERE {_IS_FREE} AND (EXISTS (SELECT {stands} = 'doing') OR NOT EXISTS (SELECT {stands} < 'doing'))
        """
        forget = f"""
            WITH old AS (DELETE FROM job WHERE finished < now() - interval '{KEPT_SECONDS} s' RETURNING id)
            DELETE FROM procrastinate_jobs USING old WHERE lock = old.id
        """
        drop = "DELETE FROM procrastinate_jobs WHERE id = ANY(%(entries)s)"
        end, lost = "finished = now(), failure = %(why)s", encode_failure(_LOST)
        is_migrated, seen = False, dict[tuple[Any, ...], int]()
        while True:
            try:
                if not is_migrated:
                    await anyio.to_thread.run_sync(migrate_queue, self._database)
                    is_migrated = True
                found = {(row["id"], row["server"], *row["doing"]): row for row in await self._query(find)}
                seen = {begun: seen.get(begun, 0) + 1 for begun in found}
                free = [row for begun, row in found.items() if seen[begun] >= LOOKS or not any(begun[1:])]
                ids = [row["id"] for row in free]
                await self._query(drop, entries=[entry for row in free for entry in row["doing"]])
                await self._update(
                    f"id = ANY(%(ids)s) AND request IS NULL AND {_IS_FREE}", end, ids=ids, why=lost
                )
                for row in free:
                    if not row["is_bound"]:
                        await self._queue.add(row["tool"], row["id"])
                await self._query(forget)
            except LibraryError:  # while the database is away nobody has a connection, nor counts as gone
                seen.clear()
            await anyio.sleep(HEARTBEAT_S)

    async def leave_jobs(self) -> None:
        """Leaves what was done here, and has not ended, to others."""
        with anyio.move_on_after(CLOSE_S, shield=True), suppress(LibraryError):
            await self._update("server = %(server)s AND finished IS NULL", "server = ''")


@asynccontextmanager
async def open_shared_jobs(
    database: Database, url: str, read_outcome: ReadOutcome
) -> AsyncIterator[SharedJobs]:
    """Opens the registry of one server; leaving it leaves what still runs to the others."""
    async with BlockingPortal() as portal:
        async with anyio.create_task_group() as tasks:
            jobs = SharedJobs(tasks, database, url, read_outcome, portal)
            database.listen(CHANNEL, jobs.hear)
            tasks.start_soon(jobs.see_to_free_jobs)
            yield jobs
            tasks.cancel_scope.cancel()
        await jobs.leave_jobs()


def _of_another_version(what: str) -> LibraryError:
    return LibraryError(f"{what} was written by another version of alita.", hint="Upgrade all servers.")
