"""The pool of warm workers: who gets one, who waits, what is closed when, and that nothing leaks however it ends."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.lowlevel import checkpoint

from alita_mcp.errors import SandboxBusy, SandboxError, SandboxRefused
from alita_mcp.sandbox.workers.pool import LONGEST_RETRY_S, Bounds, Pool
from tests.sandbox.idle_workers import (
    MEMORY,
    Caller,
    CountedWorker,
    Yard,
    bounds,
    never,
    random_call,
    settled,
    sometimes,
)

PATIENCE_S = 60


class Scene:
    """A pool, its yard and callers that are told when to go on."""

    def __init__(self, limits: Bounds, tasks: anyio.abc.TaskGroup) -> None:
        self.yard = Yard()
        self.pool: Pool[str, CountedWorker] = Pool(self.yard.start, limits, str.lower)
        self.tasks = tasks

    async def call(self, key: str, *, memory: int = MEMORY, fresh: bool = False, depth: int = 0) -> Caller:
        caller = Caller(self.pool, key, memory=memory, fresh=fresh, depth=depth)
        self.tasks.start_soon(caller)
        await settled()
        return caller

    async def calls(self, keys: str) -> list[Caller]:
        return [await self.call(key) for key in keys]

    async def finish(self, *callers: Caller) -> None:
        for caller in callers:
            caller.release()
            await settled()
            assert caller.done
            assert caller.error is None

    async def quick(self, key: str, *, fresh: bool = False) -> CountedWorker:
        """A whole call; its worker."""
        caller = await self.call(key, fresh=fresh)
        await self.finish(caller)
        assert caller.worker is not None
        return caller.worker


@asynccontextmanager
async def scene(**limits: float) -> AsyncIterator[Scene]:
    """In the end everything is given back: nothing may be in use, waiting, or alive after the pool was closed."""
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            played = Scene(bounds(**limits), tasks)
            yield played
            tasks.cancel_scope.cancel()
        now = played.pool.figures()
        assert (now.busy, now.waiting) == (0, 0)
        assert now.idle == len(played.yard.alive)
        await played.pool.aclose()
        assert played.yard.alive == []
        assert played.yard.starting == []


async def test_calls_of_one_key_run_at_once_up_to_its_limit_and_the_next_one_waits() -> None:
    async with scene(workers=8, per_key=2) as on:
        first, second, third = await on.calls("aaa")
        assert first.holds
        assert second.holds
        assert not third.holds
        other = await on.call("b")
        assert other.holds, "another key does not wait for it"
        await on.finish(second)
        assert third.holds
        assert third.worker is second.worker
        await on.finish(first, third, other)


async def test_no_more_workers_than_allowed_in_all_and_the_longest_unused_makes_room() -> None:
    async with scene(workers=2) as on:
        oldest, newer = await on.quick("a"), await on.quick("b")
        assert (await on.quick("c")).key == "c"
        assert oldest.closed
        assert not newer.closed
        assert on.yard.most_alive == 2


async def test_the_memory_of_all_workers_stays_within_its_bound() -> None:
    async with scene(workers=100, memory_bytes=10) as on:
        on.yard._memory = {"a": 4, "b": 4, "c": 8}
        small = await on.call("a", memory=4)
        await on.finish(await on.call("b", memory=4))
        large = await on.call("c", memory=8)
        assert not large.holds
        assert [worker.key for worker in on.yard.alive] == ["a"], "idle ones are evicted already"
        late = await on.call("b", memory=4)
        assert not late.holds, "nobody passes by who waits for room"
        await on.finish(small)
        assert large.holds
        await on.finish(large)
        assert late.holds
        assert on.yard.most_memory <= 10
        await on.finish(late)


async def test_a_worker_larger_than_all_may_be_is_refused_with_both_numbers() -> None:
    async with scene(memory_bytes=10) as on:
        with pytest.raises(SandboxRefused, match=r"11 bytes .* 10 bytes available"):
            async with on.pool.worker("a", memory_bytes=11):
                pass


async def test_callers_of_one_key_are_served_in_the_order_of_their_coming() -> None:
    async with scene(workers=1) as on:
        callers = await on.calls("aaaaa")
        for number, caller in enumerate(callers):
            assert [other.holds for other in callers[number:]] == [True] + [False] * (4 - number)
            await on.finish(caller)


async def test_a_key_with_many_waiting_callers_leaves_every_other_turn_to_another_key() -> None:
    async with scene(workers=1) as on:
        held, *greedy = await on.calls("a" * 10)
        modest = await on.call("b")
        served = []
        await on.finish(held)
        for _ in range(2):
            [holder] = [caller for caller in (*greedy, modest) if caller.holds]
            served.append(holder)
            await on.finish(holder)
        assert modest in served
        for caller in [caller for caller in greedy if not caller.done]:
            await on.finish(caller)


async def test_a_new_worker_stays_with_its_key_for_its_turn_while_others_wait() -> None:
    async with scene(workers=1, turn_seconds=3600) as on:
        first, other, second = await on.calls("aba")
        await on.finish(first)
        assert second.holds
        assert second.worker is first.worker
        await on.finish(second)
        assert other.holds, "nobody of its own key waits: it goes"
        await on.finish(other)


async def test_a_key_with_fewer_workers_than_another_gets_the_next_one() -> None:
    async with scene(workers=4) as on:
        many = await on.calls("aaa")
        few = await on.calls("b")
        waiting = await on.calls("ab")
        await on.finish(many[0])
        assert [caller.holds for caller in waiting] == [False, True]
        await on.finish(*many[1:2], waiting[1], *few, waiting[0], many[2])


async def test_one_caller_more_than_may_wait_is_told_the_number() -> None:
    async with scene(workers=1, waiting=2) as on:
        held, *waiting = await on.calls("aaa")
        refused = await on.call("a")
        assert isinstance(refused.error, SandboxBusy)
        assert "2 calls already wait" in str(refused.error)
        assert 1 <= refused.error.retry_after_s <= LONGEST_RETRY_S
        assert str(refused.error).endswith(f"Call again in {refused.error.retry_after_s} s.")
        await on.finish(held, *waiting)
        assert (await on.quick("a")).usable


async def test_a_key_that_fills_the_queue_alone_gives_way_to_another_key() -> None:
    async with scene(workers=1, waiting=2) as on:
        held, first, last = await on.calls("aaa")
        other = await on.call("b")
        assert isinstance(last.error, SandboxBusy)
        assert other.error is None
        await on.finish(held)
        assert other.holds != first.holds
        for caller in (first, other) if first.holds else (other, first):
            await on.finish(caller)


async def test_a_worker_is_replaced_after_its_number_of_calls() -> None:
    async with scene(calls=2) as on:
        workers = [await on.quick("a") for _ in range(5)]
        assert [worker.calls for worker in workers] == [2, 2, 2, 2, 1]
        assert on.yard.most_alive == 1


async def test_a_worker_that_dies_while_idle_is_closed_and_not_handed_out() -> None:
    async with scene(workers=1) as on:
        dead = await on.quick("a")
        dead.usable = False
        assert await on.quick("a") is not dead
        assert dead.closed
        assert on.yard.most_alive == 1


async def test_a_fresh_worker_was_not_used_before_and_is_not_used_after() -> None:
    async with scene() as on:
        used = await on.quick("a")
        fresh = await on.quick("a", fresh=True)
        assert fresh is not used
        assert fresh.closed
        assert await on.quick("a") is used


async def test_idle_workers_are_closed_after_their_time() -> None:
    async with scene(idle_seconds=0.02) as on:
        held = await on.call("a")
        idle = await on.quick("b")
        on.tasks.start_soon(on.pool.tend)
        await idle.ended.wait()
        assert held.holds, "one in use is left alone"
        again = await on.quick("b")
        await again.ended.wait()
        await on.finish(held)


async def test_a_start_that_hangs_keeps_nobody_else_waiting_and_gives_its_place_back_when_cancelled() -> None:
    async with scene(workers=2) as on:
        on.yard.opening = never
        hangs = await on.call("a")
        on.yard.opening = checkpoint
        assert (await on.quick("b")).key == "b"
        held = await on.call("c")
        waits = await on.call("a")
        assert not waits.holds
        hangs.cancel()
        await settled()
        assert waits.holds
        await on.finish(held, waits)


async def test_a_start_that_fails_is_told_to_its_caller_and_the_next_one_goes_on() -> None:
    async def fail() -> None:
        await begun.wait()
        raise SandboxError("no engine answers")

    async with scene(workers=1) as on:
        begun = anyio.Event()
        on.yard.opening = fail
        fails, waits = await on.calls("ab")
        on.yard.opening = checkpoint
        begun.set()
        await settled()
        assert str(fails.error) == "no engine answers"
        assert waits.holds
        await on.finish(waits)
        assert on.pool.figures().started == 1


async def test_closing_the_pool_closes_workers_in_use_too() -> None:
    async with scene(workers=3) as on:
        idle = await on.quick("a")
        held = await on.call("b")
        await on.pool.aclose()
        assert idle.closed
        assert held.worker is not None
        assert held.worker.closed
        assert on.yard.alive == []
        await on.finish(held)


async def test_closing_the_pool_ends_starts_and_refuses_those_who_wait() -> None:
    async with scene(workers=1) as on:
        on.yard.opening = never
        starts, waits = await on.calls("ab")
        await on.pool.aclose()
        await settled()
        for caller in (starts, waits):
            assert type(caller.error) is SandboxError
            assert "closed" in str(caller.error)
        late = await on.call("a")
        assert type(late.error) is SandboxError


def shapes(chance: random.Random) -> Bounds:
    return bounds(
        workers=chance.randrange(1, 5), per_key=chance.randrange(1, 4), waiting=chance.choice([0, 2, 50]),
        calls=chance.choice([1, 3, 1000]), memory_bytes=chance.choice([300, 500, 10_000]),
        turn_seconds=chance.choice([0, 3600]), idle_seconds=chance.choice([0.0001, 3600]),
    )  # fmt: skip


def unsteady(chance: random.Random) -> Callable[[], object]:
    async def step() -> None:
        await sometimes(chance)
        if chance.random() < 0.15:
            raise SandboxError("did not start")

    return step


@pytest.mark.parametrize("seed", range(30))
async def test_whatever_happens_in_whatever_order_nothing_leaks_and_no_bound_breaks(seed: int) -> None:
    chance = random.Random(seed)
    limits = shapes(chance)
    yard = Yard({"a": 100, "b": 100, "c": 250, "d": 300})
    yard.opening = unsteady(chance)  # type: ignore[assignment]
    yard.closing = lambda: sometimes(chance)
    pool: Pool[str, CountedWorker] = Pool(yard.start, limits)
    fates: list[str] = []

    async def call(key: str) -> None:
        try:
            fates.append(await random_call(pool, yard, key, chance))
        except* SandboxBusy:
            fates.append("busy")
            assert pool.figures().waiting <= limits.waiting + limits.workers
        except* SandboxError:
            fates.append("no worker")
        busy_keys = [worker.key for worker in yard.alive if worker.users]
        assert all(busy_keys.count(key) <= limits.per_key for key in busy_keys)

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tending:
            tending.start_soon(pool.tend)
            async with anyio.create_task_group() as tasks:
                for _ in range(60):
                    tasks.start_soon(call, chance.choice("aaaabcd"))
                    await sometimes(chance)
                if seed % 3 == 0:
                    tasks.start_soon(pool.aclose)
            tending.cancel_scope.cancel()
        now = pool.figures()
        assert (now.busy, now.waiting) == (0, 0)
        assert now.idle == len(yard.alive)
        assert len(fates) == 60
        assert yard.most_alive <= limits.workers
        assert yard.most_memory <= limits.memory_bytes
        assert pool._in_use == {}, "keys that nobody uses are forgotten"
        await pool.aclose()
        assert yard.alive == []
        assert all(worker.closed for worker in yard.started)


async def test_calls_that_other_calls_wait_for_never_wait_for_those() -> None:
    async with scene(workers=2, memory_bytes=2 * MEMORY) as on:
        outer = await on.calls("ab")
        other = await on.call("c")
        assert not other.holds, "there is no room for a call of somebody else"
        inner = [await on.call("c", depth=1), await on.call("d", depth=1)]
        assert all(caller.holds for caller in inner)
        third = await on.call("e", depth=1)
        assert not third.holds, "that room has its bound too"
        deepest = await on.call("f", depth=2)
        assert deepest.holds
        await on.finish(deepest, inner[0])
        assert third.holds
        assert not other.holds
        await on.finish(inner[1], third, *outer)
        assert other.holds


async def test_a_call_that_another_one_waits_for_comes_before_those_that_wait_for_the_same_tool() -> None:
    async with scene(workers=2, per_key=1) as on:
        busy = await on.call("a")
        early = await on.call("a")
        inner = await on.call("a", depth=1)
        await on.finish(busy)
        assert inner.holds
        assert not early.holds
        await on.finish(inner, early)


async def test_a_call_that_another_one_waits_for_is_not_refused_for_want_of_places_to_wait() -> None:
    async with scene(workers=1, per_key=1, waiting=1) as on:
        busy = await on.call("a")
        waiting = await on.call("a")
        inner = await on.call("a", depth=1)
        refused = await on.call("a")
        assert isinstance(refused.error, SandboxBusy)
        assert inner.error is None
        await on.finish(busy, inner, waiting)


async def test_an_unused_worker_becomes_one_of_the_first_key_that_it_serves_and_of_no_other_again() -> None:
    async with scene(workers=3) as played:
        spare = await played.quick("a")
        own = await played.quick("B")
        assert await played.quick("A") is spare
        assert await played.quick("A") is spare
        assert await played.quick("B") is own
        assert await played.quick("a") not in (spare, own)
        assert await played.quick("A", fresh=True) not in (spare, own)
