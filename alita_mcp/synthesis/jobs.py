"""Synthesis as a job: it outlives the call that started it, not the process; cancelled, it leaves nothing."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import AlitaError, Cancelled, UsageError
from alita_mcp.synthesis.outcomes import Outcome, Working

OnStage = Callable[[str], Awaitable[None]]
Work = Callable[[OnStage], Awaitable[Outcome]]

MAX_RUNNING = 16
KEPT_SECONDS = 3_600.0
KEPT_FINISHED = 200


@dataclass
class SynthesisJob:
    """One synthesis under way or done."""

    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    stage: str = "queued"
    started: float = field(default_factory=time.monotonic)
    finished: float | None = None
    outcome: Outcome | None = None
    failure: BaseException | None = None
    done: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    listeners: list[OnStage] = field(default_factory=list)

    async def enter(self, stage: str) -> None:
        """Notes the stage and tells whoever waits."""
        self.stage = stage
        for listener in list(self.listeners):
            await listener(stage)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, or from start to end."""
        return round((self.finished or time.monotonic()) - self.started, 1)


class Jobs:
    """The running and the lately finished jobs of one process."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._jobs: dict[str, SynthesisJob] = {}

    def start(self, work: Work) -> SynthesisJob:
        """Starts work in the background.

        Raises:
            UsageError: too many jobs are running.
        """
        self._forget_old()
        if sum(job.finished is None for job in self._jobs.values()) >= MAX_RUNNING:
            raise UsageError(
                f"{MAX_RUNNING} syntheses are running already.", hint="Wait for one to end, then try again."
            )
        job = SynthesisJob()
        self._jobs[job.id] = job
        self._tasks.start_soon(self._run, job, work)
        return job

    def find(self, job_id: str) -> SynthesisJob:
        """The job of that id.

        Raises:
            UsageError: no such job in this process, or it ended more than an hour ago.
        """
        self._forget_old()
        try:
            return self._jobs[job_id]
        except KeyError:
            raise UsageError(
                f"There is no job {job_id[:80]!r}.",
                hint="Jobs end with the server's process; call synthesize_tool again with the whole request.",
            ) from None

    async def answer(self, job: SynthesisJob, within_s: float, on_stage: OnStage) -> Outcome:
        """The job's outcome, or `working` when it is not there within `within_s` seconds.

        Cancelling this call cancels the job and waits until nothing of it runs any more.
        """
        job.listeners.append(on_stage)
        try:
            with anyio.move_on_after(within_s):
                await job.done.wait()
        except anyio.get_cancelled_exc_class():
            await self.cancel(job)
            raise
        finally:
            job.listeners.remove(on_stage)
        if job.failure is not None:
            raise job.failure
        return job.outcome or Working(job_id=job.id, elapsed_s=job.elapsed_s, stage=job.stage)

    async def cancel(self, job: SynthesisJob) -> None:
        """Stops a job; returns when its clean-up is done."""
        job.scope.cancel()
        with anyio.move_on_after(10, shield=True):
            await job.done.wait()

    async def _run(self, job: SynthesisJob, work: Work) -> None:
        try:
            with job.scope:
                job.outcome = await work(job.enter)
        except AlitaError as failure:
            job.failure = failure
        except Exception as failure:  # noqa: BLE001 - whoever waits for the job must get it, not the task group
            job.failure = failure
        finally:
            if job.scope.cancelled_caught:
                job.failure = Cancelled("The synthesis was cancelled; nothing was published.")
            job.finished = time.monotonic()
            job.done.set()

    def _forget_old(self) -> None:
        now = time.monotonic()
        ended = [job for job in self._jobs.values() if job.finished is not None]
        surplus = len(ended) - KEPT_FINISHED
        for place, job in enumerate(sorted(ended, key=lambda job: job.finished or 0)):
            if place < surplus or now - (job.finished or now) > KEPT_SECONDS:
                del self._jobs[job.id]


@asynccontextmanager
async def open_jobs() -> AsyncIterator[Jobs]:
    """A place for jobs; leaving it cancels what still runs."""
    async with anyio.create_task_group() as tasks:
        yield Jobs(tasks)
        tasks.cancel_scope.cancel()
