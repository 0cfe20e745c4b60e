"""Workers that only count: what a pool keeps in its tests, and the yard that starts and watches them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.workers.pool import Bounds, Pool

MEMORY = 100


async def at_once() -> None:
    """A step that takes no time."""
    await anyio.lowlevel.checkpoint()


async def never() -> None:
    await anyio.sleep_forever()


async def settled() -> None:
    """Returns when nothing moves any more: the end of a group of tasks takes turns in which all seem to wait."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    await anyio.wait_all_tasks_blocked()


class CountedWorker:
    """A worker that knows whether it is used by one caller at a time and closed once."""

    def __init__(self, yard: Yard, key: str) -> None:
        self.key = key
        self.usable = True
        self.users = 0
        self.calls = 0
        self.ended = anyio.Event()
        self._yard = yard

    @property
    def closed(self) -> bool:
        return self.ended.is_set()

    async def aclose(self) -> None:
        assert not self.closed, "closed twice"
        self.ended.set()
        await self._yard.closing()
        self._yard.alive.remove(self)

    async def serve(self, step: Callable[[], Awaitable[None]] = at_once) -> None:
        """One call."""
        assert self.users == 0, "used by two callers at once"
        assert self.usable
        self.users += 1
        self.calls += 1
        try:
            await step()
        finally:
            self.users -= 1


class Yard:
    """Starts workers, and knows all that live: from the beginning of their start to the end of their closing."""

    def __init__(self, memory: dict[str, int] | None = None) -> None:
        self.alive: list[CountedWorker] = []
        self.starting: list[str] = []
        self.started: list[CountedWorker] = []
        self.opening: Callable[[], Awaitable[None]] = at_once
        self.closing: Callable[[], Awaitable[None]] = at_once
        self.most_alive = 0
        self.most_memory = 0
        self._memory = memory or {}

    def memory_of(self, key: str) -> int:
        return self._memory.get(key, MEMORY)

    async def start(self, key: str) -> CountedWorker:
        self.starting.append(key)
        self._measure()
        try:
            await self.opening()
        finally:
            self.starting.remove(key)
        worker = CountedWorker(self, key)
        self.alive.append(worker)
        self.started.append(worker)
        self._measure()
        return worker

    def _measure(self) -> None:
        keys = [worker.key for worker in self.alive] + self.starting
        self.most_alive = max(self.most_alive, len(keys))
        self.most_memory = max(self.most_memory, sum(map(self.memory_of, keys)))


def bounds(**other: float) -> Bounds:
    """Bounds that matter only where a test says so."""
    usual = {
        "workers": 4, "per_key": 4, "waiting": 100, "idle_seconds": 600, "calls": 1000,
        "memory_bytes": 100 * MEMORY, "turn_seconds": 0,
    }  # fmt: skip
    return Bounds.model_validate(usual | other)


class Caller:
    """One call that holds its worker until it is told to go on."""

    def __init__(
        self,
        pool: Pool[str, CountedWorker],
        key: str,
        *,
        memory: int = MEMORY,
        fresh: bool = False,
        depth: int = 0,
    ) -> None:
        self.worker: CountedWorker | None = None
        self.error: BaseException | None = None
        self.done = False
        self._pool, self._key, self._memory, self._fresh, self._depth = pool, key, memory, fresh, depth
        self._release = anyio.Event()
        self._scope = anyio.CancelScope()

    @property
    def holds(self) -> bool:
        return self.worker is not None and not self.done

    def release(self) -> None:
        self._release.set()

    def cancel(self) -> None:
        self._scope.cancel()

    async def __call__(self) -> None:
        try:
            with self._scope:
                async with self._pool.worker(
                    self._key, memory_bytes=self._memory, fresh=self._fresh, depth=self._depth
                ) as worker:
                    self.worker = worker
                    await worker.serve(self._release.wait)
        except (SandboxError, AssertionError) as error:
            self.error = error
        self.done = True


async def sometimes(chance: random.Random) -> None:
    """A step that takes a random number of turns of the event loop."""
    for _ in range(chance.randrange(4)):
        await anyio.lowlevel.checkpoint()


async def random_call(pool: Pool[str, CountedWorker], yard: Yard, key: str, chance: random.Random) -> str:
    """A call that ends in a random way; which one."""
    fate = chance.choice(["ends", "ends", "ends", "fails", "spoils", "cancelled"])
    patience = chance.randrange(12) if fate == "cancelled" else 10**6

    async def body() -> None:
        async with pool.worker(key, memory_bytes=yard.memory_of(key), fresh=chance.random() < 0.1) as worker:
            assert worker.key == key
            await worker.serve(lambda: sometimes(chance))
            if fate == "fails":
                raise ValueError(fate)
            worker.usable = fate != "spoils"

    async def give_up(scope: anyio.CancelScope) -> None:
        for _ in range(patience):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    with suppress(ValueError):
        async with anyio.create_task_group() as tasks:
            if fate == "cancelled":
                tasks.start_soon(give_up, tasks.cancel_scope)
            try:
                await body()
            except ValueError as failure:
                tasks.cancel_scope.cancel()
                if str(failure) != "fails":
                    raise
            tasks.cancel_scope.cancel()
    return fate
