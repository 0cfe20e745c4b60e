"""Jobs of the servers of a shared library: begun on one, asked for and stopped on any, done again when one is gone.

The row of a job is the truth. Who works on it writes there how it stands; on all other servers that were asked about it
a `Job` follows the row.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal

from alita_mcp.errors import Cancelled, LibraryError, UsageError
from alita_mcp.postgres.database import Database
from alita_mcp.postgres.queue import HEARTBEAT_S, JobQueue, migrate_queue
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.job_rows import CHANNEL, DEAD_AFTER_S, JobRows, Row
from alita_mcp.toolsmith.jobs.job_values import (
    ReadOutcome,
    decode_answer,
    decode_failure,
    decode_questions,
    encode_answer,
    encode_failure,
    encode_state,
)
from alita_mcp.toolsmith.jobs.jobs import (
    AT_ONCE,
    CANCELLED,
    MAX_TASKS,
    GoesOn,
    Job,
    Jobs,
    Order,
    T,
    Tool,
    Wait,
)
from alita_mcp.toolsmith.jobs.person_questions import FilledForm, PendingQuestions, PersonAnswer
from alita_mcp.toolsmith.requests.outcomes import Working
from alita_mcp.tracing import continue_trace, current_trace

WRITE_EVERY_S = 0.25
"""How often a server writes how its jobs stand, where that has changed."""
CLOSE_S = 1.0
"""How long a server that ends may take to leave a job to others."""
_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_LOST = LibraryError(
    "The server that worked on this job is gone, and what it did with it.",
    hint="Make the call again with the whole request.",
)


class SharedJobs(Jobs):
    """Registry of the jobs that this server works on, and of those of others that it was asked about."""

    def __init__(
        self, tasks: TaskGroup, rows: JobRows, url: str, read_outcome: ReadOutcome, portal: BlockingPortal
    ) -> None:
        """Made by `open_shared_jobs`."""
        super().__init__(tasks, AT_ONCE)
        self._rows = rows
        self._read_outcome = read_outcome
        self._portal = portal
        self._queue = JobQueue(url, self._work)
        self._attempts: dict[str, int] = {}
        """Of the jobs with a row that this server works on."""
        self._working = anyio.CancelScope()

    def take_jobs(self) -> None:
        """Begins to work on the jobs of all servers."""
        self._tasks.start_soon(self._take_jobs)

    async def _take_jobs(self) -> None:
        with self._working:
            await self._queue.work({"synthesize_tool": AT_ONCE, "solve_task": MAX_TASKS})

    def take_no_more(self) -> None:
        """As `Jobs` says."""
        self._working.cancel()

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
        for row in await _in_thread(self._rows.find_missed, order.owner, order.tool, order.key):
            missed = await self._follow(row)
            if missed.outcome is not None and holds(missed.outcome):
                return missed
        sent = order.model_copy(update={"request": {**order.request, "trace": current_trace()}})
        row = await _in_thread(partial(self._rows.insert, sent, asks=person is not None))
        job = await self._follow(row, person)
        if row["id"] == order.id:
            with suppress(LibraryError):  # it is noticed in two seconds that the job stands in no queue
                await self._queue.add(order.tool, order.id)
        return job

    async def find_job(self, job_id: str, tool: Tool = "synthesize_tool", *, owner: str) -> Job[Any]:
        """As `Jobs` says, on whichever server it is."""
        await self._look_up(job_id, owner)
        return await super().find_job(job_id, tool, owner=owner)

    async def find_any(self, job_id: str, *, owner: str) -> Job[Any] | None:
        """As `Jobs` says."""
        await self._look_up(job_id, owner)
        return await super().find_any(job_id, owner=owner)

    async def _look_up(self, job_id: str, owner: str) -> None:
        known = self._jobs.get(job_id)
        if _ID.fullmatch(job_id) and (known is None or known.is_elsewhere):
            for row in await _in_thread(self._rows.read, [job_id]):
                if row["owner"] == owner:
                    await self._follow(row)

    async def wait_for_outcome(
        self,
        job: Job[T],
        within_s: float,
        on_stage: ReportStage,
        until: Wait | None = None,
        goes_on: GoesOn | None = None,
    ) -> T | Working:
        """As `Jobs` says; a job that outlives the call can be asked for on all servers."""
        has_row = job.is_elsewhere or job.id in self._attempts
        if has_row and job.waiting == 0 and job.finished is None:
            with suppress(LibraryError):
                await _in_thread(self._rows.wait, job.id)
        try:
            outcome = await super().wait_for_outcome(job, within_s, on_stage, until, goes_on)
        finally:
            if has_row and job.waiting == 0:
                with anyio.CancelScope(shield=True), suppress(LibraryError):
                    await _in_thread(partial(self._rows.leave, job.id, delivered=job.is_delivered))
        if isinstance(outcome, Working) and not has_row:
            await self._share(job)
        return outcome

    async def link(self, job: Job[Any], successor: Job[Any]) -> Job[Any]:
        """As `Jobs` says."""
        await self._share(successor)
        with suppress(LibraryError, UsageError):
            first = await _in_thread(self._rows.link, job.id, successor.id)
            if first != successor.id:
                found = await self.find_job(first, job.tool, owner=job.owner)
                await self.cancel(successor)
                return found
        return successor

    async def cancel(self, job: Job[Any]) -> None:
        """As `Jobs` says."""
        if not job.is_elsewhere:
            await super().cancel(job)
            return
        with anyio.CancelScope(shield=True):
            await _in_thread(self._rows.cancel, job.id, encode_failure(Cancelled(CANCELLED[job.tool])))
            await self._refresh([job.id])
            with anyio.move_on_after(10):
                await job.done.wait()

    def _stop(self, job: Job[Any]) -> None:
        if job.is_elsewhere:
            self._tasks.start_soon(self.cancel, job)
        else:
            super()._stop(job)

    async def _leave(self, job: Job[Any]) -> None:
        """Stops a job that no caller here waits for any longer, unless one of another server does or will."""
        if self._working.cancel_called:
            return
        if job.is_elsewhere or job.id in self._attempts:
            with anyio.CancelScope(shield=True), suppress(LibraryError):
                if await _in_thread(partial(self._rows.leave, job.id, delivered=False)):
                    return
        with suppress(LibraryError):
            await self.cancel(job)

    # Jobs that follow their rows.

    async def _follow(self, row: Row, person: PendingQuestions | None = None) -> Job[Any]:
        job = self._jobs.get(row["id"])
        if job is None:
            if row["asks"] and person is None:
                person = PendingQuestions()
            job = self._jobs[row["id"]] = Job(
                tool=row["tool"],
                owner=row["owner"],
                person=person if row["asks"] else None,
                parked=row["parked"],
                id=row["id"],
                started=time.monotonic() - float(row["age"]),
                is_elsewhere=True,
            )
            self._keep_questions(job)
        await self._take_in(job, row)
        return job

    def hear(self, job_id: str | None) -> None:
        """Takes in that the row of a job changed, or perhaps any; called by the thread that listens."""
        if job_id is None or job_id in self._jobs:
            with suppress(RuntimeError):  # it is closed
                self._portal.start_task_soon(self._refresh, None if job_id is None else [job_id])

    async def _refresh(self, ids: Collection[str] | None) -> None:
        if ids is None:
            ids = [
                job.id
                for job in self._jobs.values()
                if job.finished is None and (job.is_elsewhere or job.id in self._attempts)
            ]
        with suppress(LibraryError):  # the next look comes in five seconds
            found = {row["id"]: row for row in await _in_thread(self._rows.read, ids)} if ids else {}
            for job in [self._jobs[job_id] for job_id in ids if job_id in self._jobs]:
                if job.id in found:
                    await self._take_in(job, found[job.id])
                elif job.is_elsewhere and job.finished is None:
                    job.end(None, _LOST)

    async def _take_in(self, job: Job[Any], row: Row) -> None:
        """Takes in what other servers wrote into a row."""
        # 1. The work is done here: others answer its questions, wish its end, or have taken it away.
        # 2. Another server does it.
        if not job.is_elsewhere:
            if row["cancelled"] or row["attempt"] != self._attempts.get(job.id, row["attempt"]):
                job.scope.cancel()
            elif job.person is not None:
                job.person.hear_answers(_decode_answers(row["answers"]))
            return
        if job.finished is not None:
            return
        state = decode_questions(row)
        if job.person is not None:
            for question in job.person.hear_questions(state.questions):
                self._tasks.start_soon(job.person.pass_on, question)
            job.person.hear_answers(_decode_answers(row["answers"]))
        if state.stage != job.stage:
            await job.enter(state.stage)
        if row["finished"] is not None:
            job.is_delivered = row["delivered"]
            try:
                outcome = None if row["outcome"] is None else self._read_outcome(job.tool, row["outcome"])
            except ValueError:
                problem = f"The outcome of job {job.id!r} was written by another version of alita."
                unread = LibraryError(problem, hint="Ask a server of that version, or upgrade this one.")
                job.end(None, unread)
                return
            job.end(outcome, None if row["failure"] is None else decode_failure(row["failure"]))

    # Work that is done here.

    async def _work(self, job_id: str) -> None:
        """Does a job that the queue gave to this server; returns when nothing of it runs here."""
        row = await _in_thread(self._rows.claim, job_id, encode_failure(Cancelled(CANCELLED["solve_task"])))
        if row is None:
            return
        job = await self._follow(row)
        job.is_elsewhere, job.scope = False, anyio.CancelScope()
        self._attempts[job.id] = row["attempt"]
        forms = {
            each["text"]: answer
            for each in row["answers"].values()
            if isinstance(answer := decode_answer(each["answer"]), FilledForm)
        }
        if job.person is not None:
            job.person.hear_questions([])
            job.person.remember_forms(forms)
        ended = anyio.Event()
        self._tasks.start_soon(self._perform_claimed, job, row, ended)
        self._tasks.start_soon(self._write_states, job)
        await ended.wait()

    async def _perform_claimed(self, job: Job[Any], row: Row, ended: anyio.Event) -> None:
        attempt: int = row["attempt"]
        outcome: Any = None
        failure: Exception | None = None
        try:
            request = json.loads(row["request"])
            order = Order(id=job.id, tool=job.tool, owner=job.owner, request=request)
            with continue_trace(request.pop("trace")), job.scope:
                outcome = await self.perform(order, job.person, job.enter)
            if outcome is None:
                failure = Cancelled(CANCELLED[job.tool])
        except Exception as raised:  # noqa: BLE001 - the callers that wait must get it, not the task group
            failure = raised
        except BaseException:
            with anyio.move_on_after(CLOSE_S, shield=True), suppress(LibraryError):
                await _in_thread(self._rows.release, job.id, attempt)
            raise
        finally:
            ended.set()
            if outcome is None and failure is None:
                self._attempts.pop(job.id, None)
        if await self._write_end(job, attempt, outcome, failure):
            job.end(outcome, failure)
        else:  # another server does it now
            job.is_elsewhere = True
            await self._refresh([job.id])

    async def _run(self, job: Job[T], work: Callable[[ReportStage], Awaitable[T]], slots: Any) -> None:
        """As `Jobs` says, and writes the end of a job that outlived its call."""
        try:
            await super()._run(job, work, slots)
        finally:
            if attempt := self._attempts.get(job.id):
                closes = job.outcome is None and job.failure is None
                with anyio.move_on_after(CLOSE_S if closes else None, shield=closes):
                    await self._write_end(job, attempt, job.outcome, _LOST if closes else job.failure)

    async def _write_end(
        self, job: Job[Any], attempt: int, outcome: Any, failure: BaseException | None
    ) -> bool:
        """Writes how a job ended, as soon as the database is there; False where another server has it now."""
        said = None if outcome is None else outcome.model_dump_json()
        why = None if failure is None else encode_failure(failure)
        while True:
            with suppress(LibraryError):
                is_written = await _in_thread(self._rows.finish, job.id, attempt, said, why)
                self._attempts.pop(job.id, None)
                return is_written
            await anyio.sleep(1.0)

    async def _share(self, job: Job[Any]) -> None:
        """Gives a row to a job that is done here and by nobody else."""
        if job.finished is None and not job.is_elsewhere and job.id not in self._attempts:
            self._attempts[job.id] = 1
            self._keep_questions(job)
            with suppress(LibraryError):  # it goes on; other servers do not know it
                await _in_thread(self._rows.insert_begun, job, encode_state(job))
            self._tasks.start_soon(self._write_states, job)

    async def _write_states(self, job: Job[Any]) -> None:
        """Writes how a job stands while it is done here."""
        attempt, written = self._attempts.get(job.id), dict[str, str]()
        while attempt is not None and self._attempts.get(job.id) == attempt:
            state = encode_state(job)
            if state != written:
                with suppress(LibraryError):
                    if not await _in_thread(self._rows.write_state, job.id, attempt, state):
                        await self._refresh([job.id])
                    written = state
            await anyio.sleep(WRITE_EVERY_S)

    def _keep_questions(self, job: Job[Any]) -> None:
        if job.person is not None:
            job.person.store = _Questions(self._rows, job.id)

    async def keep_alive(self) -> None:
        """Says that this server lives, and sees to the jobs of those that do not."""
        lived = time.monotonic()
        while True:
            with suppress(LibraryError):
                await _in_thread(self._rows.beat, list(self._attempts))
                # A database that was away has no heartbeat of anybody: all others may say first that they live.
                if time.monotonic() - lived < DEAD_AFTER_S / 2:
                    await _in_thread(self._rows.end_lost, encode_failure(_LOST))
                    await self._queue.retry_stalled(DEAD_AFTER_S)
                    for row in await _in_thread(self._rows.find_unqueued):
                        await self._queue.add(row["tool"], row["id"])
                lived = time.monotonic()
            await anyio.sleep(HEARTBEAT_S)


class _Questions:
    """The `QuestionStore` of one job."""

    def __init__(self, rows: JobRows, job_id: str) -> None:
        self._rows = rows
        self._job = job_id

    async def save_round(self, token: str, rounds: Mapping[str, int]) -> None:
        await _in_thread(self._rows.save_round, self._job, token, rounds)

    async def take_round(self, token: str) -> Mapping[str, int] | None:
        return await _in_thread(self._rows.take_round, self._job, token) if _ID.fullmatch(token) else None

    async def save_answers(self, answers: Mapping[str, tuple[str, PersonAnswer]]) -> None:
        said = {
            key: {"text": text, "answer": encode_answer(answer)} for key, (text, answer) in answers.items()
        }
        await _in_thread(self._rows.save_answers, self._job, said)


@asynccontextmanager
async def open_shared_jobs(
    database: Database, url: str, read_outcome: ReadOutcome
) -> AsyncIterator[SharedJobs]:
    """Opens the registry of one server; leaving it leaves what still runs to the others."""
    rows = JobRows(database, secrets.token_hex(8))
    async with BlockingPortal() as portal, anyio.create_task_group() as tasks:
        jobs = SharedJobs(tasks, rows, url, read_outcome, portal)
        tasks.start_soon(_migrate, database)
        database.listen(CHANNEL, jobs.hear)
        tasks.start_soon(jobs.keep_alive)
        yield jobs
        tasks.cancel_scope.cancel()


async def _migrate(database: Database) -> None:
    """Makes the queue's schema once the library's is there."""
    while True:
        with suppress(LibraryError):
            await _in_thread(migrate_queue, database)
            return
        await anyio.sleep(1.0)


def _decode_answers(answers: Mapping[str, Any]) -> dict[str, PersonAnswer]:
    return {key: decode_answer(each["answer"]) for key, each in answers.items()}


async def _in_thread(work: Callable[..., T], *values: Any) -> T:
    return await anyio.to_thread.run_sync(partial(work, *values))
