"""Bounded pool of warm workers by key: a caller gets an idle one, a new one, or waits.

No task and no cancel scope of its own outlives a step: a worker is seldom closed by the task that opened it.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import anyio
from pydantic import Field

from alita_mcp.errors import SandboxBusy, SandboxError, SandboxRefused
from alita_mcp.values import Value

CALLS_PER_KEY = 5
WAITING = 256
LONGEST_RETRY_S = 60
CALLS_AVERAGED = 16
IDLE_SECONDS = 300.0
CALLS_PER_WORKER = 1_000
_CLOSED = "The sandbox is closed."


class Bounds(Value):
    """Limits of a pool: workers, waiting callers, idle seconds, calls of a worker, memory."""

    workers: int = Field(ge=1)
    per_key: int = Field(default=CALLS_PER_KEY, ge=1)
    """How many workers of one key may be in use at once."""
    waiting: int = Field(default=WAITING, ge=0)
    """How many callers may wait; one more is refused as busy."""
    idle_seconds: float = Field(default=IDLE_SECONDS, gt=0)
    calls: int = Field(default=CALLS_PER_WORKER, ge=1)
    """After so many calls a worker is replaced."""
    memory_bytes: int = Field(ge=1)
    """The most that the workers together may have been promised."""
    turn_seconds: float = Field(default=1.0, ge=0)
    """So long a new worker stays with its key while others wait, or keys would evict each other for every call."""


class PoolFigures(Value):
    """Current state of a pool (`busy`, `idle`, `waiting`) and its counts so far."""

    busy: int
    idle: int
    waiting: int
    started: int = 0
    reused: int = 0


class Pooled(Protocol):
    """Worker as a pool needs it."""

    @property
    def usable(self) -> bool:
        """False after any anomaly: the worker is then closed and never handed out again."""
        ...

    async def aclose(self) -> None:
        """Kills it, also while it is used; called once, never raises, never cut short by a cancellation."""
        ...


K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Pooled)


@dataclass(eq=False)
class _Place(Generic[K, W]):
    """Slot for one worker, from before its start until it is closed."""

    key: K
    memory_bytes: int
    worker: W | None = None
    calls: int = 0
    started_at: float = 0.0
    idle_since: float = 0.0
    closing: bool = False
    gone: anyio.Event = field(default_factory=anyio.Event)
    start: anyio.CancelScope | None = None

    @property
    def usable(self) -> bool:
        return self.worker is not None and self.worker.usable


@dataclass(eq=False)
class _Waiter(Generic[K, W]):
    """Waiting caller; it closes the workers that are evicted for it."""

    key: K
    memory_bytes: int
    fresh: bool
    depth: int
    at_once: int
    """How many workers of its key may be in use at once."""
    place: _Place[K, W] | None = None
    evicted: list[_Place[K, W]] = field(default_factory=list)
    refusal: SandboxError | None = None
    woken: anyio.Event = field(default_factory=anyio.Event)


class Pool(Generic[K, W]):
    """Pool of workers for callers, fair between keys.

    Callers of one key are served in the order of their coming, keys in turns. `start` makes a worker and must leave
    no task group and no cancel scope open; if it fails or is cancelled, it cleans up after itself.
    """

    def __init__(
        self, start: Callable[[K], Awaitable[W]], bounds: Bounds, spare_of: Callable[[K], K] = lambda key: key
    ) -> None:
        """`spare_of` gives the key of unused workers that serve a key too; such a one is of that key from then on."""
        self._start = start
        self._bounds = bounds
        self._spare_of = spare_of
        self._places: set[_Place[K, W]] = set()
        self._idle: dict[_Place[K, W], None] = {}  # least recently used first
        self._queues: dict[K, deque[_Waiter[K, W]]] = {}
        """Waiting callers by key; the key whose turn it is comes first."""
        self._in_use: Counter[K] = Counter()
        self._did: Counter[str] = Counter()
        self._mean_s = 0.0
        """How long a caller keeps a worker, of the last calls."""
        self._closed = False

    @asynccontextmanager
    async def worker(
        self, key: K, *, memory_bytes: int, fresh: bool = False, depth: int = 0, at_once: int | None = None
    ) -> AsyncIterator[W]:
        """Opens a worker of that key for one call; with `fresh` one without earlier and later calls.

        The call waits while `at_once` workers of its key are in use, where that is less than the pool's own limit.

        `memory_bytes` is what the key's workers may use, the same for all of them. A call of `depth` n was made by
        one of n - 1, which keeps its worker meanwhile: it comes first and has n times the room besides, so that
        callers never wait for one another. An exception or a cancellation inside the block closes the worker.

        Raises:
            SandboxBusy: too many callers wait already.
            SandboxRefused: one such worker is larger than the memory of all.
            SandboxError: the pool is closed; or whatever `start` raises.
        """
        most = min(at_once or self._bounds.per_key, self._bounds.per_key)
        place = await self._wait_for_place(_Waiter(key, memory_bytes, fresh, depth, most))
        began, finished = time.monotonic(), False
        try:
            worker = await self._worker_of(place)
            place.calls += 1
            yield worker
            finished = True
        finally:
            self._mean_s += (time.monotonic() - began - self._mean_s) / CALLS_AVERAGED
            await self._give_back(place, reusable=finished and not fresh)

    async def tend(self) -> None:
        """Closes workers that were idle for too long or died, until cancelled."""
        while True:
            oldest = min((place.idle_since for place in self._idle), default=time.monotonic())
            await anyio.sleep(max(oldest + self._bounds.idle_seconds - time.monotonic(), 0))
            due = time.monotonic() - self._bounds.idle_seconds
            stale = [place for place in self._idle if place.idle_since <= due or not place.usable]
            await self._end([self._condemn(place) for place in stale])

    async def release_idle(self, kept: int) -> None:
        """Closes the longest idle workers until `kept` are left."""
        await self._end(
            [self._condemn(place) for place in tuple(self._idle)[: max(0, len(self._idle) - kept)]]
        )

    async def aclose(self) -> None:
        """Closes all workers, those in use included; later calls are refused."""
        self._closed = True
        for waiter in [waiter for queue in self._queues.values() for waiter in queue]:
            self._refuse(waiter, SandboxError(_CLOSED))
        leaving = tuple(self._places)
        for starting in [place.start for place in leaving if place.start is not None]:
            starting.cancel()
        await self._end([self._condemn(it) for it in leaving if it.worker is not None and not it.closing])
        for place in leaving:
            await place.gone.wait()

    def figures(self) -> PoolFigures:
        """Current state and counts so far."""
        waiting = sum(map(len, self._queues.values()))
        return PoolFigures(busy=self._in_use.total(), idle=len(self._idle), waiting=waiting, **self._did)

    async def _wait_for_place(self, waiter: _Waiter[K, W]) -> _Place[K, W]:
        self._enter(waiter)
        try:
            while waiter.place is None and waiter.refusal is None:
                await waiter.woken.wait()
                waiter.woken = anyio.Event()
                await self._end(waiter.evicted)
        except BaseException:
            self._leave_queue(waiter)
            if waiter.place is not None:
                await self._give_back(waiter.place, reusable=True)
            self._serve()
            raise
        finally:
            await self._end(waiter.evicted)
        if waiter.place is None:
            raise waiter.refusal or SandboxError(_CLOSED)
        return waiter.place

    async def _worker_of(self, place: _Place[K, W]) -> W:
        if place.worker is None and not self._closed:
            with anyio.CancelScope() as place.start:
                place.worker = await self._start(place.key)
                place.started_at = time.monotonic()
                self._did["started"] += 1
        if self._closed or place.worker is None:
            raise SandboxError(_CLOSED)
        return place.worker

    async def _give_back(self, place: _Place[K, W], *, reusable: bool) -> None:
        """Keeps the worker for the next caller, or ends it."""
        if place.closing:
            return
        fit = place.calls < self._bounds.calls and place.usable
        if reusable and fit:
            self._leave_use(place.key)
            place.idle_since = time.monotonic()
            self._idle[place] = None
            self._serve()
        else:
            await self._end([self._condemn(place)])

    def _condemn(self, place: _Place[K, W]) -> _Place[K, W]:
        """Takes a worker out of the pool; the caller closes it."""
        place.closing = True
        if place in self._idle:
            del self._idle[place]
        else:
            self._leave_use(place.key)
        return place

    def _leave_use(self, key: K) -> None:
        self._in_use[key] -= 1
        if not self._in_use[key]:
            del self._in_use[key]  # keys come and go for as long as the server runs

    async def _end(self, condemned: list[_Place[K, W]]) -> None:
        """Closes workers and empties the list of them."""
        if condemned:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as closing:
                    while condemned:
                        closing.start_soon(self._end_one, condemned.pop())

    async def _end_one(self, place: _Place[K, W]) -> None:
        try:
            if place.worker is not None:
                await place.worker.aclose()
        finally:
            self._places.discard(place)
            place.gone.set()
            self._serve()

    def _enter(self, waiter: _Waiter[K, W]) -> None:
        if self._closed:
            raise SandboxError(_CLOSED)
        if waiter.memory_bytes > self._bounds.memory_bytes:
            raise SandboxRefused(
                f"A sandbox of {waiter.memory_bytes} bytes is larger than the {self._bounds.memory_bytes} bytes"
                " available to all sandboxes."
            )
        own = self._queues.setdefault(waiter.key, deque())
        place = len(own)
        while place and own[place - 1].depth < waiter.depth:
            place -= 1
        own.insert(place, waiter)
        self._serve()
        waits = waiter.place is None and not waiter.evicted and not waiter.depth
        if waits and (waiting := sum(map(len, self._queues.values()))) > self._bounds.waiting:
            full = f"{self._bounds.waiting} calls already wait for a sandbox, which is the limit."
            # the last of the longest queue goes, so that no key fills all places alone
            longest = max(self._queues.values(), key=len)
            loser = longest[-1] if len(longest) > len(own) else own[-1]
            drained_s = waiting * self._mean_s / self._bounds.workers
            retry_s = min(max(1, math.ceil(drained_s)), LONGEST_RETRY_S)
            self._refuse(loser, SandboxBusy(full, retry_after_s=retry_s))

    def _leave_queue(self, waiter: _Waiter[K, W]) -> None:
        """Removes a caller, if it waits."""
        queue = self._queues.get(waiter.key, deque())
        if waiter in queue:
            queue.remove(waiter)
        if not queue:
            self._queues.pop(waiter.key, None)

    def _refuse(self, waiter: _Waiter[K, W], refusal: SandboxError) -> None:
        self._leave_queue(waiter)
        waiter.refusal = refusal
        waiter.woken.set()

    def _serve(self) -> None:
        """Gives places to all who can have one now; called after every change."""
        while self._queues and not self._closed and (self._serve_own() or self._serve_next()):
            continue

    def _serve_own(self) -> bool:
        """An idle worker goes to a caller of its own key where it may stay with it."""
        for place in tuple(self._idle):
            queue = self._queues.get(place.key)
            if queue and not queue[0].fresh and self._may_stay(place) and self._serve_warm(queue[0]):
                return True
        return False

    def _may_stay(self, place: _Place[K, W]) -> bool:
        """In its first seconds, and then while no other waiting key has fewer workers or none."""
        if time.monotonic() - place.started_at < self._bounds.turn_seconds:
            return True
        own = self._in_use[place.key]
        return all(0 < self._in_use[key] >= own for key in self._queues if key != place.key)

    def _serve_next(self) -> bool:
        """Of the keys below their own limit, the one with the fewest workers in use gets a place; else in turns.

        Who needs room that is not there yet has it reserved, or a large worker waits while small ones come and go.
        """
        ahead: list[_Waiter[K, W]] = []
        firsts = [queue[0] for queue in self._queues.values()]
        for waiter in sorted(firsts, key=lambda one: (-one.depth, self._in_use[one.key])):
            if self._in_use[waiter.key] >= waiter.at_once:
                continue
            if not waiter.fresh and self._serve_warm(waiter):
                return True
            ahead.append(waiter)
            if self._have_room(self._places, ahead):
                place: _Place[K, W] = _Place(waiter.key, waiter.memory_bytes)
                self._places.add(place)
                return self._give(waiter, place)
            self._make_room(ahead)
        return False

    def _serve_warm(self, waiter: _Waiter[K, W]) -> bool:
        if self._in_use[waiter.key] >= waiter.at_once:
            return False
        own, spare = waiter.key, self._spare_of(waiter.key)
        warm = [place for place in self._idle if place.key == own]
        spares = [place for place in self._idle if place.key == spare != own]
        for place in (*reversed(warm), *spares):
            if place.usable:
                del self._idle[place]
                place.key = own
                self._did["reused"] += 1
                return self._give(waiter, place)
            self._evict(place, waiter)
        return False

    def _give(self, waiter: _Waiter[K, W], place: _Place[K, W]) -> bool:
        self._in_use[waiter.key] += 1
        self._leave_queue(waiter)
        if waiter.key in self._queues:  # its turn comes again after all others
            self._queues[waiter.key] = self._queues.pop(waiter.key)
        waiter.place, place.key = place, waiter.key  # equal; of the same values the next caller's key will be
        waiter.woken.set()
        return True

    def _make_room(self, ahead: list[_Waiter[K, W]]) -> None:
        """Evicts idle workers as far as it takes, also where that is not enough yet: the rest comes in time."""
        staying = [place for place in self._places if not place.closing]
        for place in tuple(self._idle):
            if self._have_room(staying, ahead):
                return
            staying.remove(place)
            self._evict(place, ahead[-1])

    def _evict(self, place: _Place[K, W], waiter: _Waiter[K, W]) -> None:
        waiter.evicted.append(self._condemn(place))
        waiter.woken.set()

    def _have_room(self, places: Collection[_Place[K, W]], ahead: list[_Waiter[K, W]]) -> bool:
        times = 1 + ahead[-1].depth
        promised = sum(place.memory_bytes for place in places) + sum(one.memory_bytes for one in ahead)
        if promised > times * self._bounds.memory_bytes:
            return False
        return len(places) + len(ahead) <= times * self._bounds.workers
