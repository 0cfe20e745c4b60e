"""Base class of the back ends: calls run in workers from a bounded pool, each shared by the jobs that may share it."""

from __future__ import annotations

import hashlib
import logging
import os
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from typing import NamedTuple

import anyio

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.interface import Broker, Environment, Job, RunResult
from alita_mcp.sandbox.wire.link import Worker, WorkerLost, WorkerStale
from alita_mcp.sandbox.workers.calls import call
from alita_mcp.sandbox.workers.pool import Bounds, Pool, PoolFigures
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits

_TRIES = 3
_log = logging.getLogger(__name__)


class WorkerKey(NamedTuple):
    """Key of a worker: jobs with the same key may use the same worker, one after the other."""

    limits: Limits
    environment: Environment | None = None
    code: str = ""
    """Digest of it."""
    function: str = ""
    grants: Grants = Grants()
    hash_seed: int | None = None
    clock_offset_s: int = 0
    moment: int | None = None
    random_seed: int | None = None

    def __eq__(self, other: object) -> bool:
        """Compares what differs most first: a pool compares keys all the time."""
        return isinstance(other, WorkerKey) and self.code == other.code and tuple.__eq__(self, other)

    def __hash__(self) -> int:
        """The hash of the code's digest, which a text keeps; nested values would be walked each time."""
        return hash(self.code)


def spare_of(key: WorkerKey) -> WorkerKey:
    """Key of a worker that has loaded nothing and may become one of this key; whether it has a network stays."""
    return key if key.grants.network else WorkerKey(key.limits, key.environment)


def key_of(job: Job) -> WorkerKey:
    """The key of a job's worker."""
    shared = {name: getattr(job, name) for name in WorkerKey._fields}
    digest = hashlib.sha256(job.code.encode("utf-8", "surrogatepass")).hexdigest()
    return WorkerKey(**shared | {"code": digest})


class PooledWorker:
    """Worker with the exit stack that ends it."""

    def __init__(self, worker: Worker, stack: AsyncExitStack) -> None:
        self.worker = worker
        self._usable = True
        self._stack = stack

    @property
    def usable(self) -> bool:
        """False from the start of a call until its result is there, and after any anomaly."""
        return self._usable and self.worker.transport.is_whole

    async def call(self, job: Job, broker: Broker | None) -> RunResult:
        """Runs one call; see `calls.call`. Its remains are removed after the caller has the result.

        A worker that waited may be dying already when the call comes. A call without grants changes nothing outside,
        so that it is asked for again; of any other call it is unknown how far it came.
        """
        waited = self.worker.loaded
        self._usable = False
        try:
            result = await call(self.worker, job, broker)
        except WorkerLost as lost:
            if waited and job.grants.is_pure:
                raise WorkerStale(str(lost)) from lost
            raise
        self._usable = self.worker.owes_clean
        return result

    async def aclose(self) -> None:
        """Kills it and everything in it; errors are logged."""
        self._usable = False
        with anyio.CancelScope(shield=True):
            try:
                await self._stack.aclose()
            except SandboxUnavailable as gone:  # it ended with its engine, or the next start removes it
                _log.debug("A sandbox could not be closed: %s", gone)
            except SandboxError as failure:
                _log.warning("A sandbox could not be closed: %s", failure)
            except Exception:  # noqa: BLE001 - the edge: its closer can do nothing about it
                _log.exception("a sandbox did not end as it should")


class PooledSandbox(ABC):
    """Sandbox whose calls run in workers from a bounded pool."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        bounds = Bounds(workers=settings.max_workers, memory_bytes=settings.sandbox_memory_bytes)
        self._pool: Pool[WorkerKey, PooledWorker] = Pool(self._start, bounds, spare_of)
        # more workers than processors that only compute are no faster together, and slower one by one
        self._pure_at_once = (os.cpu_count() or 1) + 1

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call in a pooled worker; see the interface."""
        if broker is None and not job.grants.is_pure:
            job = job.model_copy(update={"grants": Grants()})
        key = key_of(job)
        for attempt in range(_TRIES):
            fresh = job.fresh or attempt == _TRIES - 1
            at_once = self._pure_at_once if job.grants.is_pure and not fresh else None
            place = self._pool.worker(
                key, memory_bytes=job.limits.memory_bytes, fresh=fresh, depth=job.depth, at_once=at_once
            )
            try:
                async with place as kept:
                    return await kept.call(job, broker)
            except WorkerStale:
                if fresh:
                    raise
        raise AssertionError  # the last attempt raises or returns

    async def warm_up(self) -> None:
        """Starts a worker for the first call of any tool with the usual limits, where none runs."""
        figures, key = self.figures(), WorkerKey(Limits())
        if not figures.busy + figures.idle:
            async with self._pool.worker(key, memory_bytes=key.limits.memory_bytes):
                pass

    def figures(self) -> PoolFigures:
        """Figures of the pool of workers."""
        return self._pool.figures()

    async def aclose(self) -> None:
        """Ends every worker."""
        await self._pool.aclose()

    @abstractmethod
    async def _start(self, key: WorkerKey) -> PooledWorker:
        """A worker for such jobs; leaves no task group and no cancel scope open."""
