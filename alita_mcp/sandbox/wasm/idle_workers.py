"""Pool of idle worker processes; nothing of a call is left in them, so any tool may have them next."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.wire.link import Worker
from alita_mcp.sandbox.workers.pooled import PooledWorker
from alita_mcp.values import Limits

MOST_IDLE = 4
"""So many wait for another tool; one more is ended."""
_SETTLE_SECONDS = 5.0


class IdleWorker(NamedTuple):
    """An idle worker process."""

    worker: Worker
    process: AsyncExitStack
    since: float


class IdleWorkers:
    """Pool of idle worker processes, the last used first."""

    def __init__(self, start: Callable[[Limits], Awaitable[tuple[Worker, AsyncExitStack]]]) -> None:
        self._start = start
        self._waiting: list[IdleWorker] = []
        self._closed = False

    @property
    def is_empty(self) -> bool:
        """Whether the next one who takes a process has to start it."""
        return not self._waiting

    async def lease(self, limits: Limits) -> Lease:
        """A worker process, one that waits or a new one."""
        while self._waiting:
            worker, process, _since = self._waiting.pop()
            if worker.transport.is_silent():
                worker.take_over(limits)
                return Lease(worker, process, self)
            await process.aclose()
        worker, process = await self._start(limits)
        return Lease(worker, process, self)

    async def put_back(self, worker: Worker, process: AsyncExitStack) -> None:
        """Takes back a worker process, or ends it: there are enough, or what the call left cannot be told."""
        try:
            with anyio.fail_after(_SETTLE_SECONDS):
                await worker.settle()
        except (SandboxError, TimeoutError):
            await process.aclose()
            return
        if self._closed or len(self._waiting) >= MOST_IDLE:
            await process.aclose()
        else:
            self._waiting.append(IdleWorker(worker, process, time.monotonic()))

    async def tend(self, idle_seconds: float) -> None:
        """Ends processes that were idle for so long, until it is cancelled."""
        while True:
            await anyio.sleep(idle_seconds)
            due = time.monotonic() - idle_seconds
            for waiting in [each for each in self._waiting if each.since <= due]:
                self._waiting.remove(waiting)
                with anyio.CancelScope(shield=True):
                    await waiting.process.aclose()

    async def aclose(self) -> None:
        """Ends all that wait, and those that come back later."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            while self._waiting:
                await self._waiting.pop().process.aclose()


class Lease(PooledWorker):
    """Lease of a worker process by one tool."""

    def __init__(self, worker: Worker, process: AsyncExitStack, idle: IdleWorkers) -> None:
        super().__init__(worker, process)
        self.at_end = AsyncExitStack()
        """What else ends with it."""
        self._idle = idle

    async def aclose(self) -> None:
        """Gives the process back where nothing went wrong; else ends it."""
        with anyio.CancelScope(shield=True):
            async with self.at_end:
                if not self.usable:
                    await super().aclose()
                    return
                self._usable = False
                await self._idle.put_back(self.worker, self._stack)
