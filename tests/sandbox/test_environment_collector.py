"""Environments go when nobody needs them, and never while somebody does."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.packages.cache import EnvironmentCache, EnvironmentGone
from alita_mcp.sandbox.packages.uses import Use, Uses, environments_to_drop
from tests.sandbox.environment_homes import unmark
from tests.sandbox.trusting_back_end import TrustingBackEnd

NOW = 1_000_000.0


def use(digest: str, age: float = 0.0, size: int = 1, *, in_use: bool = False) -> Use:
    return Use(digest=digest, size_bytes=size, last_used=NOW - age, in_use=in_use)


def chosen(uses: list[Use], *, keep: float = 100.0, size: int = 1000) -> list[str]:
    return [use.digest for use in environments_to_drop(uses, NOW, keep, size)]


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
    return EnvironmentCache(store, uses)


async def tar() -> bytes:
    return b"a tar"


async def refusing() -> bytes:
    raise SandboxError("not now")


def digests(dropped: tuple[Use, ...]) -> list[str]:
    return [use.digest for use in dropped]


async def test_an_environment_stays_while_it_is_in_use_and_goes_afterwards(
    kept: EnvironmentCache, store: TrustingBackEnd, uses: Uses, home: Path
) -> None:
    environment = await kept.obtain("abc", tar)
    assert await kept.collect(keep_seconds=0) == ()
    assert [(use.digest, use.size_bytes, use.in_use) for use in uses.list_uses()] == [("abc", 5, True)]
    async with kept.hold_environment(environment), kept.hold_environment(None):
        unmark(home)  # a worker has it, though it was begun long ago
        assert await kept.collect(keep_seconds=0) == ()
        assert await EnvironmentCache(store, uses).collect() == ()

    unmark(home)
    assert digests(await kept.collect(keep_seconds=0)) == ["abc"]
    assert (store.environments, uses.list_uses()) == ({}, ())
    assert not list((home / "environments" / ".uses" / "trusting").iterdir())


async def test_an_environment_that_is_gone_or_elsewhere_is_not_held(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    environment = await kept.obtain("abc", tar)
    strange = Environment(digest="never", location="/etc")
    for asked in (strange, environment.model_copy(update={"location": "/etc"})):
        with pytest.raises(EnvironmentGone, match="no longer exists"):
            async with kept.hold_environment(asked):
                pytest.fail("it was held")
    store.environments.clear()  # a person removed it
    with pytest.raises(EnvironmentGone, match="'abc' no longer exists"):
        async with kept.hold_environment(environment):
            pytest.fail("it was held")


async def test_what_a_killed_builder_left_half_done_goes_and_what_is_being_built_stays(
    kept: EnvironmentCache, store: TrustingBackEnd, uses: Uses, home: Path
) -> None:
    with pytest.raises(SandboxError, match="not now"):
        await kept.obtain("half", refusing)
    folder = home / "environments" / ".uses" / "trusting"
    async with Uses(home, "trusting").lock("busy"):
        await kept.collect()
        assert [file.stem for file in folder.iterdir()] == ["busy"]
    await kept.collect()
    assert not list(folder.iterdir())


async def test_an_environment_without_a_whole_record_is_built_anew(
    store: TrustingBackEnd, kept: EnvironmentCache, uses: Uses, home: Path
) -> None:
    store.environments["abc"] = b"half"
    with pytest.raises(EnvironmentGone):
        async with kept.hold_environment(Environment(digest="abc", location="at abc")):
            pytest.fail("it was held")
    await kept.obtain("abc", tar)
    assert store.environments == {"abc": b"a tar"}
    (home / "environments" / ".uses" / "trusting" / "abc.json").write_text('{"kind": "tru')
    assert uses.list_uses() == ()
    await kept.collect()
    assert store.environments == {}


async def test_an_environment_that_another_process_keeps_locked_is_an_error(
    home: Path, store: TrustingBackEnd
) -> None:
    folder = home / "environments" / ".uses" / "trusting"
    folder.mkdir(parents=True)
    cache = EnvironmentCache(store, Uses(home, "trusting", lock_seconds=0.1))
    with (
        FileLock(folder / "abc.lock"),
        pytest.raises(SandboxError, match="has been locked by another process"),
    ):
        await cache.obtain("abc", tar)


async def test_two_processes_build_an_environment_once(
    kept: EnvironmentCache, store: TrustingBackEnd, home: Path
) -> None:
    begun, finish = anyio.Event(), anyio.Event()

    async def slow() -> bytes:
        begun.set()
        await finish.wait()
        return b"of the first"

    other = EnvironmentCache(store, Uses(home, "trusting"))
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.obtain, "abc", slow)
            await begun.wait()
            tasks.start_soon(other.obtain, "abc", refusing)
            await anyio.wait_all_tasks_blocked()
            finish.set()
    assert store.environments == {"abc": b"of the first"}


async def test_tending_collects_and_goes_on_after_a_failure(
    store: TrustingBackEnd, uses: Uses, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = EnvironmentCache(store, uses, tend_seconds=0.01)
    await kept.obtain("abc", tar)
    unmark(home)
    store.failure = SandboxError("the engine is away")
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kept.tend)
            while "not tended" not in caplog.text:  # noqa: ASYNC110 - a log tells nobody
                await anyio.sleep(0.01)
            store.failure = None
            while store.environments:  # noqa: ASYNC110
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
