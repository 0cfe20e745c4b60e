"""Base class of the back ends: calls run in workers from a bounded pool."""

from __future__ import annotations

from abc import ABC, abstractmethod

from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.sandbox.wire.link import WorkerStale
from alita_mcp.sandbox.workers.bounds import Bounds, PoolFigures
from alita_mcp.sandbox.workers.pool import Pool
from alita_mcp.sandbox.workers.pooled_worker import PooledWorker, WorkerKey, key_of
from alita_mcp.settings import Settings
from alita_mcp.values import Grants

_TRIES = 3


class PooledSandbox(ABC):
    """Sandbox whose calls run in workers from a bounded pool."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        bounds = Bounds(workers=settings.max_workers, memory_bytes=settings.sandbox_memory_bytes)
        self._pool: Pool[WorkerKey, PooledWorker] = Pool(self._start, bounds)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call in a pooled worker; see the interface."""
        if broker is None and not job.grants.is_pure:
            job = job.model_copy(update={"grants": Grants()})
        key = key_of(job)
        for attempt in range(_TRIES):
            fresh = job.fresh or attempt == _TRIES - 1
            place = self._pool.worker(key, memory_bytes=job.limits.memory_bytes, fresh=fresh, depth=job.depth)
            try:
                async with place as kept:
                    return await kept.call(job, broker)
            except WorkerStale:
                if fresh:
                    raise
        raise AssertionError  # the last attempt raises or returns

    def figures(self) -> PoolFigures:
        """Figures of the pool of workers."""
        return self._pool.figures()

    async def aclose(self) -> None:
        """Ends every worker."""
        await self._pool.aclose()

    @abstractmethod
    async def _start(self, key: WorkerKey) -> PooledWorker:
        """A worker for such jobs; leaves no task group and no cancel scope open."""
