"""Background jobs for long calls: each outlives the call that started it, but not the process.

So many syntheses run at once, more wait; the same request again finds the job that is under way or was
missed. Runs of code take no slot, since the sandbox has a queue of its own.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import anyio
from anyio.abc import TaskGroup
from pydantic import Field

from alita_mcp.errors import Cancelled, LibraryError, SandboxBusy, TooMany, UsageError
from alita_mcp.owners import USER, choose_surplus
from alita_mcp.progress import ReportStage
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.toolsmith.requests.outcomes import Outcome, Working
from alita_mcp.values import Value

T = TypeVar("T")
Wait = Callable[[], Awaitable[object]]
GoesOn = Callable[[], Awaitable[bool]]
"""Whether a job goes on without the caller that was just cancelled."""
Tool = Literal["synthesize_tool", "run_code", "solve_task"]
"""The fixed tools whose calls are jobs."""

MAX_TASKS = 8
"""How many tasks may be under way: each asks models and runs code."""
MAX_RUNS = 256
"""How many runs of code may be under way or wait."""
KEPT_RUNS = 20
"""Of ended runs; they may hold pictures."""
AT_ONCE = 4
"""Syntheses that run at once."""
MAX_QUEUED = 32
"""How many syntheses may wait for a slot."""
MAX_PARKED = 16
"""How many approvals may wait for people at once; they take no slot from the syntheses."""
MAX_LEFT = 8
"""How many jobs go on though their callers gave up; one more ends the oldest of them."""
KEPT_SECONDS = 3_600.0
KEPT_FINISHED = 200
CANCELLED = {
    "synthesize_tool": "The synthesis was cancelled; nothing was published.",
    "run_code": "The run was cancelled; it left nothing behind.",
    "solve_task": "The task was cancelled; what it did so far is in its log.",
}


class Order(Value):
    """What a job is to do, as a value: any server of a shared library can do it."""

    id: str = Field(default_factory=lambda: secrets.token_urlsafe(12))
    tool: Tool
    owner: str
    key: str = ""
    request: dict[str, Any]
    """In JSON."""
    is_bound: bool = False
    """Whether it names files of this machine, so that no other can do it."""


Perform = Callable[[Order, PendingQuestions | None, ReportStage], Awaitable[Any]]
"""Does what an order asks for; with the questions to the person at its client, if one can be asked."""


@dataclass
class Job(Generic[T]):
    """One long call, under way or done."""

    tool: Tool = "synthesize_tool"
    """What is called with the job's id for its outcome."""
    key: str = ""
    """What was asked for; the same again while no caller has heard the outcome is this job."""
    owner: str = USER
    """To whom it belongs; nobody else finds it."""
    person: PendingQuestions | None = None
    """Its questions to the person at its client; None: it asks none."""
    parked: bool = False
    """Whether it only waits for that person, and takes no slot."""
    has_timed_out: bool = False
    """Whether a client gave up waiting for it, so that its next answer should come soon."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    stage: str = "queued"
    started: float = field(default_factory=time.monotonic)
    finished: float | None = None
    outcome: T | None = None
    failure: BaseException | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    listeners: list[ReportStage] = field(default_factory=list)
    waiting: int = 0
    """How many callers wait for the outcome."""
    is_delivered: bool = False
    """Whether the outcome was told to a caller."""
    left: bool = False
    """Whether its caller gave up, and no other caller has joined."""
    is_elsewhere: bool = False
    """Whether another server of a shared library works on it, or one will."""
    attempt: int = 0
    """Of this server, whose work other servers can follow or could; 0: they do not know of it, or it is elsewhere."""

    def end(self, outcome: T | None, failure: BaseException | None) -> None:
        """Ends it, for all that wait."""
        self.outcome, self.failure = outcome, failure
        self.finished = time.monotonic()
        self.done.set()

    @property
    def state(self) -> str:
        """`ended`, `waiting` for a person, `queued` or `running`."""
        if self.finished is not None:
            return "ended"
        return "waiting" if self.parked else "queued" if self.stage == "queued" else "running"

    async def enter(self, stage: str) -> None:
        """Notes the stage and tells all listeners."""
        self.stage = stage
        for listener in list(self.listeners):
            await listener(stage)


SynthesisJob = Job[Outcome]


class Jobs:
    """Registry of the running and the lately finished jobs of one process."""

    perform: Perform
    """Set by whoever opens the registry, before the first order."""

    def __init__(self, tasks: TaskGroup, at_once: int) -> None:
        self._tasks = tasks
        self._slots = anyio.CapacityLimiter(at_once)
        self._jobs: dict[str, Job[Any]] = {}

    async def begin(
        self,
        order: Order,
        person: PendingQuestions | None = None,
        holds: Callable[[Any], bool] = lambda _outcome: True,
    ) -> Job[Any]:
        """Starts what an order asks for, or finds the owner's job of the same key that is under way or was missed.

        Raises:
            UsageError: too many are under way.
        """
        work = partial(self.perform, order, person)
        return self.start(work, order.key, holds, person, owner=order.owner, tool=order.tool, job_id=order.id)

    def start(
        self,
        work: Callable[[ReportStage], Awaitable[T]],
        key: str = "",
        holds: Callable[[T], bool] = lambda _outcome: True,
        person: PendingQuestions | None = None,
        *,
        owner: str = USER,
        tool: Tool = "synthesize_tool",
        parked: bool = False,
        job_id: str = "",
    ) -> Job[T]:
        """Starts work in the background, or finds the owner's job of the same key that is under way or was missed.

        `holds` says whether an outcome from before is still true; a `parked` job only waits for its `person`.

        Raises:
            TooMany: too many jobs are under way already.
            SandboxBusy: too many runs of code are.
        """
        found = self.find_by_key(key, owner, holds)
        if found is not None:
            return found
        most, what = {
            "synthesize_tool": (self._slots.total_tokens + MAX_QUEUED, "syntheses are running or waiting"),
            "run_code": (MAX_RUNS, "runs of code are running or waiting"),
            "solve_task": (MAX_TASKS, "tasks are running"),
        }[tool]
        if parked:
            most, what = MAX_PARKED, "approvals are waiting for people"
        here = (job for job in self._jobs.values() if job.finished is None and not job.is_elsewhere)
        if sum((job.tool, job.parked) == (tool, parked) for job in here) >= most:
            if tool == "run_code":
                raise SandboxBusy(f"Busy: {most} {what}.")
            raise TooMany(f"Busy: {most} {what}.", hint="Try again when one has ended.")
        job = Job[T](tool, key, owner, person, parked, id=job_id or secrets.token_urlsafe(12))
        return self._begin(job, work, self._slots if tool == "synthesize_tool" and not parked else None)

    def find_by_key(
        self, key: str, owner: str, holds: Callable[[T], bool] = lambda _outcome: True
    ) -> Job[T] | None:
        """An owner's job of a key that is under way or was missed; None for an empty key."""
        self._forget_old()
        jobs = self._jobs.values() if key else ()
        own = (job for job in jobs if (job.key, job.owner) == (key, owner))
        # A job (1) that is being cancelled is none, (2) that runs is one, and (3) one that ended counts until a caller
        # has heard its outcome, if it has one that still holds.
        for job in own:
            if not job.scope.cancel_called and (
                job.finished is None
                or (job.outcome is not None and holds(job.outcome) and not job.is_delivered)
            ):
                return job
        return None

    def _begin(
        self, job: Job[T], work: Callable[[ReportStage], Awaitable[T]], slots: anyio.CapacityLimiter | None
    ) -> Job[T]:
        self._jobs[job.id] = job
        self._tasks.start_soon(self._run, job, work, slots)
        return job

    @property
    def is_busy(self) -> bool:
        """Whether work is under way that nobody has to wait for: a job that only waits for a person is none."""
        jobs = self._jobs.values()
        return any(job.finished is None and not job.parked and not job.is_elsewhere for job in jobs)

    def count_by_state(self) -> Counter[tuple[Tool, str]]:
        """How many jobs of each tool are in each state."""
        return Counter((job.tool, job.state) for job in self._jobs.values() if not job.is_elsewhere)

    def take_jobs(self) -> None:
        """Begins to work on what other servers of a shared library have to do."""

    def take_no_more(self) -> None:
        """Ends that."""

    async def show_questions(self, job: Job[Any]) -> None:
        """Sees to it that the other servers know what a job asks before a client does, who may answer there."""

    async def find_job(self, job_id: str, tool: Tool | None = "synthesize_tool", *, owner: str) -> Job[Any]:
        """The owner's job of that id; with None whichever tool's it is.

        Raises:
            UsageError: the owner has no such job in this process, it ended more than an hour ago, or it is another
                tool's.
        """
        self._forget_old()
        job = self._jobs.get(job_id)
        if job is None or job.owner != owner:
            raise UsageError(
                f"There is no job {job_id[:80]!r}.",
                hint=f"Jobs end with the server; call {tool} again with the whole request.",
            )
        if tool is not None and job.tool != tool:
            raise UsageError(f"{job_id[:80]!r} is a job of {job.tool}.", hint=f"Call {job.tool} with it.")
        return job

    async def wait_for_outcome(
        self,
        job: Job[T],
        within_s: float,
        on_stage: ReportStage,
        until: Wait | None = None,
        goes_on: GoesOn | None = None,
    ) -> T | Working:
        """The job's outcome, or `working` when it is not there within `within_s` seconds or before `until` returns.

        Cancelling this call cancels the job, unless `goes_on` or others wait for it too, and waits until nothing of
        it runs.
        """
        job.listeners.append(on_stage)
        job.left = False
        await self._count_caller(job, 1)
        try:
            with anyio.move_on_after(within_s):
                async with anyio.create_task_group() as waits:

                    async def stop_waiting(until: Wait) -> None:
                        await until()
                        waits.cancel_scope.cancel()

                    if until is not None:
                        waits.start_soon(stop_waiting, until)
                    await job.done.wait()
                    waits.cancel_scope.cancel()
            job.is_delivered = job.is_delivered or job.finished is not None
            await self._count_caller(job, -1)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                goes_on_alone = goes_on is not None and await goes_on()
                is_awaited = await self._count_caller(job, -1)
                # The job (1) has other callers, (2) ends with its caller, or (3) goes on without one, as few others do.
                if not is_awaited and not goes_on_alone:
                    with suppress(LibraryError):
                        await self.cancel(job)
                elif not is_awaited:
                    job.left = True
                    left = [each for each in self._jobs.values() if each.left and each.finished is None]
                    for surplus in choose_surplus(
                        [(each, each.owner, 1) for each in left], job.owner, MAX_LEFT
                    ):
                        self._tasks.start_soon(self.cancel, surplus)
            raise
        finally:
            job.listeners.remove(on_stage)
        if job.failure is not None:
            raise job.failure
        if job.outcome is not None:
            return job.outcome
        elapsed = round(time.monotonic() - job.started, 1)
        return Working(
            job_id=job.id, elapsed_s=elapsed, stage=job.stage, next=f"call {job.tool} with this job_id"
        )

    async def _count_caller(self, job: Job[Any], change: int) -> bool:
        """Notes that a caller waits, or one less; whether any waits for the job still, here or at another server."""
        job.waiting += change
        return job.waiting > 0

    async def cancel(self, job: Job[Any]) -> None:
        """Stops a job; returns when its clean-up is done."""
        job.scope.cancel()
        with anyio.move_on_after(10, shield=True):
            await job.done.wait()

    async def _run(
        self, job: Job[T], work: Callable[[ReportStage], Awaitable[T]], slots: anyio.CapacityLimiter | None
    ) -> None:
        outcome: T | None = None
        failure: Exception | None = Cancelled(CANCELLED[job.tool])
        try:
            with job.scope:
                async with slots or nullcontext():
                    outcome = await work(job.enter)
                    failure = None
        except Exception as raised:  # noqa: BLE001 - the callers that wait must get it, not the task group
            failure = raised
        except BaseException:  # this process ends
            job.end(None, failure)
            raise
        if job.attempt:
            await self._write_end(job, outcome, failure)
        else:
            job.end(outcome, failure)

    async def _write_end(self, job: Job[T], outcome: T | None, failure: BaseException | None) -> None:
        """Ends a job whose work other servers can follow."""
        job.end(outcome, failure)

    def _forget_old(self) -> None:
        now = time.monotonic()
        ended = [job for job in self._jobs.values() if job.finished is not None]
        ended.sort(key=lambda job: job.finished or 0)
        runs = [(job.id, job.owner, 1) for job in ended if job.tool == "run_code"]
        others = [(job.id, job.owner, 1) for job in ended if job.tool != "run_code"]
        surplus = [*choose_surplus(runs, "", KEPT_RUNS), *choose_surplus(others, "", KEPT_FINISHED)]
        for job in ended:
            if job.id in surplus or now - (job.finished or now) > KEPT_SECONDS:
                del self._jobs[job.id]


@asynccontextmanager
async def open_jobs(at_once: int = AT_ONCE) -> AsyncIterator[Jobs]:
    """Opens a job registry; leaving it cancels the jobs that still run."""
    async with anyio.create_task_group() as tasks:
        yield Jobs(tasks, at_once)
        tasks.cancel_scope.cancel()
