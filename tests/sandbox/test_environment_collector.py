"""Environments go when nobody needs them, and never while somebody does."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio
import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.packages.cache import HOLD_SECONDS, EnvironmentCache, EnvironmentGone
from alita_mcp.sandbox.packages.uses import (
    NOTHING_KEPT,
    Bounds,
    Record,
    Use,
    Uses,
    environments_to_drop,
)
from tests.sandbox.environment_homes import unmark
from tests.sandbox.trusting_back_end import TrustingBackEnd

GENEROUS = Bounds(keep_seconds=1000 * 86_400, max_bytes=1 << 40)
NOW = 1_000_000.0


def use(digest: str, age: float = 0.0, size: int = 1, *, in_use: bool = False) -> Use:
    record = Record(kind="k", packages=(), size_bytes=size, made_at="2026-01-01T00:00:00+00:00")
    return Use(digest=digest, record=record, last_used=NOW - age, in_use=in_use)


def chosen(uses: list[Use], *, keep: float = 100.0, size: int = 1000) -> list[str]:
    return [use.digest for use in environments_to_drop(uses, Bounds(keep_seconds=keep, max_bytes=size), NOW)]


def test_over_the_size_the_least_recently_used_go_until_the_rest_fits() -> None:
    uses = [use("a", 1, 400), use("b", 3, 400), use("c", 2, 400), use("d", 4, 10)]
    assert chosen(uses) == ["d", "b"]
    assert chosen(uses, size=1210) == []


@given(st.lists(st.tuples(st.floats(0, 500), st.integers(0, 500), st.booleans()), max_size=12))
def test_what_stays_is_in_use_or_young_and_fits(found: list[tuple[float, int, bool]]) -> None:
    uses = [use(str(number), age, size, in_use=held) for number, (age, size, held) in enumerate(found)]
    gone = set(chosen(uses))
    stays = [use for use in uses if use.digest not in gone]
    free = [use for use in stays if not use.in_use]
    assert all(NOW - use.last_used < 100 for use in free)
    assert not free or sum(use.size_bytes for use in stays) <= 1000
    assert not any(use.in_use for use in uses if use.digest in gone)


@pytest.fixture
def store(tmp_path: Path) -> TrustingBackEnd:
    return TrustingBackEnd(tmp_path)


@pytest.fixture
def uses(home: Path) -> Uses:
    return Uses(home, "trusting")


@pytest.fixture
def kept(store: TrustingBackEnd, uses: Uses) -> EnvironmentCache:
    return EnvironmentCache(store, uses, GENEROUS)


async def tar() -> bytes:
    return b"a tar"


async def refusing() -> bytes:
    raise SandboxError("not now")


async def test_an_environment_is_kept_while_its_maker_lives_and_goes_afterwards(
    kept: EnvironmentCache, store: TrustingBackEnd, uses: Uses, home: Path
) -> None:
    await kept.obtain("abc", ("packaging",), tar)
    collected = await kept.collect(NOTHING_KEPT)
    assert collected.dropped == ()
    assert [(use.digest, use.size_bytes, use.in_use) for use in collected.kept] == [("abc", 5, True)]

    unmark(home)
    assert [use.digest for use in (await kept.collect(NOTHING_KEPT)).dropped] == ["abc"]
    assert (store.environments, uses.list_uses()) == ({}, ())
    assert not list((home / "environments" / ".uses" / "trusting").iterdir())


async def test_an_environment_of_a_dead_process_is_nobodys(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    await kept.obtain("abc", (), tar)
    unmark(home)
    folder = home / "environments" / ".uses" / "trusting"
    (folder / "abc@left").touch()
    assert [use.digest for use in (await kept.collect(NOTHING_KEPT)).dropped] == ["abc"]


@pytest.mark.slow
async def test_an_environment_that_another_living_process_uses_stays(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    await kept.obtain("abc", (), tar)
    unmark(home)
    mark = (
        "import sys, anyio; from pathlib import Path; from alita_mcp.sandbox.packages.uses import Uses;"
        "uses = Uses(Path(sys.argv[1]), 'trusting'); anyio.run(uses.hold, 'abc');"
        "print('marked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", mark, str(home)]
    async with await anyio.open_process(command, stderr=None) as other:
        assert other.stdout is not None
        with anyio.fail_after(60):
            assert b"marked" in await other.stdout.receive()
        assert (await kept.collect(NOTHING_KEPT)).dropped == ()
        other.kill()
        await other.wait()
    assert [use.digest for use in (await kept.collect(NOTHING_KEPT)).dropped] == ["abc"]


def long_ago(home: Path) -> None:
    """Makes the last use of the environment older than what a process holds without using it."""
    used = time.time() - HOLD_SECONDS - 1
    os.utime(home / "environments" / ".uses" / "trusting" / "abc.json", (used, used))


async def test_what_a_worker_has_open_stays_though_it_was_begun_long_ago(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    environment = await kept.obtain("abc", (), tar)
    async with kept.hold_environment(environment), kept.hold_environment(None):
        long_ago(home)
        assert (await kept.collect(NOTHING_KEPT)).dropped == ()
        long_ago(home)
    assert len((await kept.collect(NOTHING_KEPT)).dropped) == 1


async def test_an_environment_that_is_gone_or_elsewhere_is_not_held(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    environment = await kept.obtain("abc", (), tar)
    strange = Environment(digest="never", location="/etc")
    for asked in (strange, environment.model_copy(update={"location": "/etc"})):
        with pytest.raises(EnvironmentGone, match="no longer exists"):
            async with kept.hold_environment(asked):
                pytest.fail("it was held")
    store.environments.clear()  # a person removed it
    with pytest.raises(EnvironmentGone, match="'abc' no longer exists"):
        async with kept.hold_environment(environment):
            pytest.fail("it was held")


async def test_what_a_killed_builder_left_half_done_goes(
    store: TrustingBackEnd, kept: EnvironmentCache, home: Path
) -> None:
    folder = home / "environments" / ".uses" / "trusting"
    folder.mkdir(parents=True)
    (folder / "half@left").touch()
    await (other := Uses(home, "trusting")).hold("busy")
    assert [use.digest for use in (await kept.collect(GENEROUS)).kept] == ["busy"]
    assert [file.name.partition("@")[0] for file in folder.iterdir()] == ["busy"]
    other.release("busy")
    assert (await kept.collect(GENEROUS)).kept == ()


async def test_a_whole_environment_without_a_record_gets_one(
    store: TrustingBackEnd, kept: EnvironmentCache, uses: Uses, home: Path
) -> None:
    store.environments["abc"] = b"made when records were not kept"
    assert [use.digest for use in (await kept.collect(GENEROUS)).kept] == ["abc"]
    (home / "environments" / ".uses" / "trusting" / "abc.json").write_text('{"kind": "tru')
    assert uses.list_uses()[0].record is None
    assert [use.record is not None for use in (await kept.collect(GENEROUS)).kept] == [True]


async def test_a_build_that_fails_leaves_no_trace(kept: EnvironmentCache, uses: Uses) -> None:
    with pytest.raises(SandboxError, match="not now"):
        await kept.obtain("abc", (), refusing)
    assert uses.list_uses() == ()


async def test_a_home_that_another_process_keeps_locked_is_an_error(
    home: Path, store: TrustingBackEnd
) -> None:
    uses = Uses(home, "trusting", lock_seconds=0.1)
    store.environments["abc"] = b""
    (home / "environments" / ".uses").mkdir(parents=True)
    with (
        FileLock(home / "environments" / ".uses" / "trusting.lock"),
        pytest.raises(SandboxError, match="has locked"),
    ):
        await EnvironmentCache(store, uses, GENEROUS).collect()


async def test_two_processes_build_an_environment_once(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    begun, finish = anyio.Event(), anyio.Event()

    async def slow() -> bytes:
        begun.set()
        await finish.wait()
        return b"of the first"

    other = EnvironmentCache(store, Uses(home, "trusting"), GENEROUS)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.obtain, "abc", (), slow)
            await begun.wait()
            tasks.start_soon(other.obtain, "abc", (), refusing)
            await anyio.wait_all_tasks_blocked()
            finish.set()
    assert store.environments == {"abc": b"of the first"}


async def test_tending_collects_and_goes_on_after_a_failure(
    store: TrustingBackEnd, uses: Uses, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = EnvironmentCache(store, uses, NOTHING_KEPT, tend_seconds=0.01)
    await kept.obtain("abc", (), tar)
    unmark(home)
    (lock := home / "environments" / ".uses" / "trusting.lock").unlink()
    lock.mkdir()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.tend)
            while "not tended" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
                await anyio.sleep(0.01)
            lock.rmdir()
            while store.environments:  # noqa: ASYNC110
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
