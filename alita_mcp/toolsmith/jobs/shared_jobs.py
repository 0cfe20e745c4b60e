"""Jobs of the servers of a shared library: begun on one, asked for and stopped on any, done again when one is gone.

The row of a job is the truth. Who works on it writes there how it stands; on all other servers that were asked about it
a `Job` follows the row.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, nullcontext, suppress
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
from alita_mcp.toolsmith.jobs import job_rows
from alita_mcp.toolsmith.jobs.job_rows import DEAD_AFTER_S, JobRows, Row
from alita_mcp.toolsmith.jobs.jobs import AT_ONCE, CANCELLED, MAX_TASKS, Job, Jobs, Order, T, Tool
from alita_mcp.toolsmith.jobs.person_questions import FilledForm, PendingQuestions
from alita_mcp.tracing import continue_trace, current_trace

ReadOutcome = Callable[[Tool, str], Any]
"""Reads the outcome of a job of a tool; raises ValueError for one that this version does not know."""
WRITE_EVERY_S = 0.25
"""How often a server writes how its jobs stand, where that has changed."""
CLOSE_S = 1.0
"""How long a server that ends may take to leave a job to others."""
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
        self._rows, self._database = JobRows(database, secrets.token_hex(8)), database
        self._read_outcome = read_outcome
        self._portal = portal
        self._queue = JobQueue(url, self._work)
        self._attempts: dict[str, int] = {}
        """Of the jobs with a row that this server works on."""

    def take_jobs(self) -> None:
        """As `Jobs` says."""
        self._tasks.start_soon(self._queue.work, {"synthesize_tool": AT_ONCE, "solve_task": MAX_TASKS})

    def take_no_more(self) -> None:
        """As `Jobs` says."""
        self._queue.take_no_more()

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
        sent = order.model_copy(update={"request": {**order.request, "trace": current_trace()}})
        for _ in range(2):  # at first another server may be a moment before
            for row in await self._rows.find_same(order):
                job = await self._follow(row)
                if job.finished is None or (job.outcome is not None and holds(job.outcome)):
                    return job
            if new := await self._rows.insert(sent, asks=person is not None):
                job = await self._follow(new, person)
                await self._queue.add(order.tool, order.id)
                return job
        raise TooMany(f"Busy: many jobs of {order.tool} are waiting.", hint="Try again when one has ended.")

    async def find_job(self, job_id: str, tool: Tool | None = "synthesize_tool", *, owner: str) -> Job[Any]:
        """As `Jobs` says, on whichever server it is."""
        known = self._jobs.get(job_id)
        if job_rows.ID.fullmatch(job_id) and (
            known is None or (known.is_elsewhere and known.finished is None)
        ):
            for row in await self._rows.read([job_id]):
                if row["owner"] == owner:
                    await self._follow(row)
        return await super().find_job(job_id, tool, owner=owner)

    async def _note_callers(self, job: Job[Any]) -> None:
        """As `Jobs` says; a job that outlives its call can be asked for on all servers."""
        with anyio.CancelScope(shield=True), suppress(LibraryError):
            if job.is_elsewhere or job.id in self._attempts:
                await self._rows.note_callers(job.id, wait=job.waiting > 0, delivered=job.is_delivered)
            elif job.waiting == 0:
                await self._share(job)

    async def cancel(self, job: Job[Any]) -> None:
        """As `Jobs` says."""
        if not job.is_elsewhere:
            await super().cancel(job)
            return
        with anyio.CancelScope(shield=True):
            await self._rows.cancel(job.id, job_rows.encode_failure(Cancelled(CANCELLED[job.tool])))
            await self._refresh([job.id])
            with anyio.move_on_after(10):
                await job.done.wait()

    async def _leave(self, job: Job[Any]) -> None:
        """Stops a job that no caller here waits for any longer, unless one of another server does or will."""
        with anyio.CancelScope(shield=True), suppress(LibraryError):
            if self._queue.is_stopping or (
                (job.is_elsewhere or job.id in self._attempts)
                and await self._rows.note_callers(job.id, wait=False)
            ):
                return
            await self.cancel(job)

    # Jobs that follow their rows.

    async def _follow(self, row: Row, person: PendingQuestions | None = None) -> Job[Any]:
        job = self._jobs.get(row["id"])
        if job is None:
            person = person or PendingQuestions()
            job = self._jobs[row["id"]] = Job(
                tool=row["tool"], owner=row["owner"], person=person if row["asks"] else None, parked=row["parked"],
                id=row["id"], started=time.monotonic() - float(row["age"]), is_elsewhere=True,
            )  # fmt: skip
            person.store = self._rows, job.id
        await self._take_in(job, row)
        return job

    def hear(self, job_id: str | None) -> None:
        """Takes in that the row of a job changed, or perhaps any; called by the thread that listens."""
        if job_id is None or job_id in self._jobs:
            with suppress(RuntimeError):  # it is closed
                self._portal.start_task_soon(self._refresh, None if job_id is None else [job_id])

    async def _refresh(self, ids: Collection[str] | None) -> None:
        known = [job for job in self._jobs.values() if ids is None or job.id in ids]
        followed = [
            job for job in known if job.finished is None and (job.is_elsewhere or job.id in self._attempts)
        ]
        with suppress(LibraryError):  # the next look comes in five seconds
            found = {row["id"]: row for row in await self._rows.read([job.id for job in followed])}
            for job in followed:
                if job.id in found:
                    await self._take_in(job, found[job.id])
                elif job.is_elsewhere:
                    job.end(None, _LOST)

    async def _take_in(self, job: Job[Any], row: Row) -> None:
        """Takes in what other servers wrote into a row."""
        answers = {key: answer for key, (_, answer) in job_rows.decode_answers(row).items()}
        # 1. The work is done here: others answer its questions, wish its end, or have taken it away.
        if not job.is_elsewhere:
            if row["cancelled"] or row["attempt"] > self._attempts.get(job.id, row["attempt"]):
                job.scope.cancel()
            elif job.person is not None:
                job.person.hear_answers(answers)
            return
        # 2. Another server does it.
        if job.person is not None:
            for question in job.person.hear_questions(job_rows.decode_questions(row)):
                self._tasks.start_soon(job.person.pass_on, question)
            job.person.hear_answers(answers)
        if (stage := json.loads(row["stage"])) != job.stage:
            await job.enter(stage)
        if row["finished"] is None or job.finished is not None:
            return
        try:
            outcome = None if row["outcome"] is None else self._read_outcome(job.tool, row["outcome"])
            job.end(outcome, None if row["failure"] is None else job_rows.decode_failure(row["failure"]))
        except ValueError:
            job.end(None, _of_another_version(f"The outcome of job {job.id!r}"))

    # Work that is done here.

    async def _work(self, job_id: str) -> None:
        """Does a job that the queue gave to this server; returns when it has ended."""
        row = await self._rows.claim(job_id, job_rows.encode_failure(Cancelled(CANCELLED["solve_task"])))
        if row is None:
            return
        job = await self._follow(row)
        job.is_elsewhere, job.scope = False, anyio.CancelScope()
        self._attempts[job.id] = row["attempt"]
        if job.person is not None:
            said = job_rows.decode_answers(row).values()
            job.person.begin_anew({text: form for text, form in said if isinstance(form, FilledForm)})
        request = json.loads(row["request"])
        order = Order(id=job.id, tool=job.tool, owner=job.owner, request=request)

        async def work(on_stage: ReportStage) -> Any:
            try:
                with continue_trace(request.pop("trace")):
                    return await self.perform(order, job.person, on_stage)
            except ValidationError:
                raise _of_another_version(f"The request of job {job.id!r}") from None

        self._begin(job, work, None)
        self._tasks.start_soon(self._write_states, job)
        await job.done.wait()

    async def _run(
        self, job: Job[T], work: Callable[[ReportStage], Awaitable[T]], slots: anyio.CapacityLimiter | None
    ) -> None:
        """As `Jobs` says; a job with a row has ended once that is written."""
        outcome: T | None = None
        failure: Exception | None = None
        try:
            with job.scope:
                async with slots or nullcontext():
                    outcome = await work(job.enter)
            failure = Cancelled(CANCELLED[job.tool]) if outcome is None else None
        except Exception as raised:  # noqa: BLE001 - the callers that wait must get it, not the task group
            failure = raised
        except BaseException:  # this server ends
            if attempt := self._attempts.pop(job.id, 0):
                with anyio.move_on_after(CLOSE_S, shield=True), suppress(LibraryError):
                    await self._rows.write(job.id, attempt, {"server": ""})
            job.end(None, _LOST)
            raise
        if await self._write_end(job, outcome, failure):
            job.end(outcome, failure)
        else:  # another server does it now
            job.is_elsewhere = True
            await self._refresh([job.id])

    async def _write_end(self, job: Job[Any], outcome: Any, failure: Exception | None) -> bool:
        """Writes how a job ended, as soon as the database is there; False where another server has it now."""
        said = None if outcome is None else outcome.model_dump_json()
        end = {"outcome": said, "failure": None if failure is None else job_rows.encode_failure(failure)}
        while job.id in self._attempts:
            with suppress(LibraryError):
                is_written = await self._rows.write(job.id, self._attempts[job.id], end)
                del self._attempts[job.id]
                return is_written
            await anyio.sleep(1.0)
        return True

    async def _share(self, job: Job[Any]) -> None:
        """Gives a row to a job that is done here and by nobody else."""
        if job.finished is None and not job.is_elsewhere and job.id not in self._attempts:
            self._attempts[job.id] = 1
            if job.person is not None:
                job.person.store = self._rows, job.id
            with suppress(LibraryError):  # it goes on; other servers do not know it
                await self._rows.insert_begun(job)
            self._tasks.start_soon(self._write_states, job)

    async def _write_states(self, job: Job[Any]) -> None:
        """Writes how a job stands while it is done here."""
        attempt, written = self._attempts.get(job.id), dict[str, str | None]()
        while attempt is not None and self._attempts.get(job.id) == attempt:
            state = job_rows.encode_state(job)
            if state != written:
                with suppress(LibraryError):
                    if not await self._rows.write(job.id, attempt, state):
                        await self._refresh([job.id])
                    written = state
            await anyio.sleep(WRITE_EVERY_S)

    async def keep_alive(self) -> None:
        """Says that this server lives, and sees to the jobs of those that do not."""
        began = lived = time.monotonic()
        is_migrated = False
        while True:
            with suppress(LibraryError):
                if not is_migrated:
                    await anyio.to_thread.run_sync(migrate_queue, self._database)
                    is_migrated = True
                await self._rows.beat(list(self._attempts))
                now = time.monotonic()
                # While the database is away nobody can say that they live: for as long as that nobody counts as dead.
                began = now if now - lived > DEAD_AFTER_S / 2 else began
                lived = now
                may_judge = now - began > DEAD_AFTER_S
                if may_judge:
                    await self._rows.end_lost(job_rows.encode_failure(_LOST))
                    await self._queue.drop_stalled(DEAD_AFTER_S)
                for row in await self._rows.find_unqueued(of_dead=may_judge):
                    await self._queue.add(row["tool"], row["id"])
            await anyio.sleep(HEARTBEAT_S)


@asynccontextmanager
async def open_shared_jobs(
    database: Database, url: str, read_outcome: ReadOutcome
) -> AsyncIterator[SharedJobs]:
    """Opens the registry of one server; leaving it leaves what still runs to the others."""
    async with BlockingPortal() as portal, anyio.create_task_group() as tasks:
        jobs = SharedJobs(tasks, database, url, read_outcome, portal)
        database.listen(job_rows.CHANNEL, jobs.hear)
        tasks.start_soon(jobs.keep_alive)
        yield jobs
        tasks.cancel_scope.cancel()


def _of_another_version(what: str) -> LibraryError:
    return LibraryError(f"{what} was written by another version of alita.", hint="Upgrade all servers.")
