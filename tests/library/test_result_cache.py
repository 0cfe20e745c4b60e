"""Kept results: the same call again is answered from them, and nothing that happens to their file can spoil a call."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError
from alita_mcp.library.results import ResultCache, call_key
from alita_mcp.sandbox.interface import RunResult
from tests.library.factory import found

KEY = call_key("sha256:1", "docker", {"a": 1})
RESULT = RunResult(status="ok", value={"total": 3, "é": [1.5, None, True]}, stdout="said\n", stderr="warned")
MB = 1 << 20


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def cache_in(folder: Path, **options: Any) -> AsyncIterator[ResultCache]:
    cache = ResultCache(folder, **{"max_bytes": MB, "ttl_s": 3_600.0, **options})
    try:
        yield cache
    finally:
        await cache.aclose()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


async def test_the_result_of_a_call_is_found_at_once_by_this_process_and_others(folder: Path) -> None:
    async with cache_in(folder) as one, cache_in(folder) as two:
        assert await one.find(KEY) is None
        await one.keep(KEY, "add", RESULT)
        assert await one.find(KEY) == RESULT
        assert await two.find(KEY) == RESULT
    async with cache_in(folder) as later:
        assert await later.find(KEY) == RESULT


async def test_a_result_is_forgotten_when_its_time_is_over_or_lies_in_the_future(folder: Path) -> None:
    clock = Clock()
    async with cache_in(folder, ttl_s=60.0, clock=clock) as cache:
        await cache.keep(KEY, "add", RESULT)
        clock.now += 60
        assert await cache.find(KEY) == RESULT
        clock.now += 1
        assert await cache.find(KEY) is None
        clock.now -= 100
        assert await cache.find(KEY) is None
        clock.now += 200
        await cache.keep(call_key("d", "docker", {}), "add", RESULT)
        assert (await cache.size())[0] == 1


async def test_results_can_be_cleared_for_one_tool_or_all(folder: Path) -> None:
    async with cache_in(folder) as cache:
        keys = [call_key("sha256:1", "docker", {"a": number}) for number in range(4)]
        for key, tool in zip(keys, ["add", "add", "sub", "sub"], strict=True):
            await cache.keep(key, tool, RESULT)
        assert await cache.clear("add") == 2
        assert [await cache.find(key) is not None for key in keys] == [False, False, True, True]
        assert (await cache.size())[0] == 2
        assert await cache.clear() == 2
        assert await cache.find(keys[3]) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}),
        ({"a": "é"}, {"a": "e\u0301"}),
        ({"a": [1, [2]]}, {"a": [[1], 2]}),
    ],
)
def test_different_arguments_are_different_calls(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert call_key("d", "docker", one) != call_key("d", "docker", other)


def test_a_call_is_known_by_version_sandbox_and_arguments_in_any_order() -> None:
    assert call_key("d", "docker", {"a": 1, "b": 2}) == call_key("d", "docker", {"b": 2, "a": 1})
    assert call_key("d", "docker", {"a": 1}) != call_key("e", "docker", {"a": 1})
    assert call_key("d", "docker", {"a": 1}) != call_key("d", "wasm", {"a": 1})


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(values=st.lists(VALUES, min_size=1, max_size=5))
def test_every_value_comes_back_as_it_was(values: list[Any]) -> None:
    def typed(node: Any) -> Any:
        if isinstance(node, dict):
            return [(key, typed(child)) for key, child in node.items()]
        return [typed(child) for child in node] if isinstance(node, list) else (type(node), repr(node))

    async def there_and_back(folder: Path) -> None:
        async with cache_in(folder) as cache:
            for value in values:
                await cache.keep(KEY, "add", RunResult(status="ok", value=value))
                again = await cache.find(KEY)
                assert again is not None
                assert typed(again.value) == typed(value)

    with TemporaryDirectory() as folder:
        anyio.run(there_and_back, Path(folder))


async def test_the_oldest_make_room_when_the_bytes_do_not_suffice(folder: Path) -> None:
    clock = Clock()
    keys = [call_key("d", "docker", {"a": number}) for number in range(40)]
    async with cache_in(folder, clock=clock) as cache:
        for key in keys:
            clock.now += 1
            await cache.keep(key, "add", RunResult(status="ok", value="x" * 50_000))
        kept = [await cache.find(key) is not None for key in keys]
        assert kept == sorted(kept)
        assert 10 < sum(kept) < 21
        assert (await cache.size())[1] <= MB
    assert sum(file.stat().st_size for file in found(folder, "*")) < 2 * MB


async def test_a_result_that_is_too_large_or_no_text_is_not_kept(folder: Path) -> None:
    async with cache_in(folder) as cache:
        for no_value in ("x" * (MB // 16), "\ud800"):
            await cache.keep(KEY, "add", RunResult(status="ok", value=no_value))
            assert await cache.find(KEY) is None


def tampered(folder: Path, statement: str, *values: Any) -> None:
    (file,) = found(folder, "*.sqlite3")
    with closing(sqlite3.connect(file)) as database, database:
        assert database.execute(statement, values).rowcount == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("value", "text"),
        ("value", 7),
        ("value", b"\xff" * 10),
        ("value", b"[]"),
        ("value", b'{"value":NaN}'),
        ("value", b'{"status":"error"}'),
        ("value", b'{"value":1,"wall":2}'),
        ("stored_at", 0.0),
        ("stored_at", "yesterday"),
        ("key", b"another"),
    ],
)
async def test_a_row_that_is_no_result_is_none(folder: Path, column: str, value: Any) -> None:
    async with cache_in(folder) as cache:
        await cache.keep(KEY, "add", RESULT)
        tampered(folder, f"UPDATE result SET {column} = ?", value)
        assert await cache.find(KEY) is None


def spoiled(file: Path) -> None:
    for companion in file.parent.glob(f"{file.name}-*"):
        companion.unlink()
    file.write_bytes(b"this is no database, " * 5_000)


async def test_a_damaged_file_is_replaced(folder: Path) -> None:
    async with cache_in(folder) as cache:
        await cache.keep(KEY, "add", RESULT)
    spoiled(found(folder, "*.sqlite3")[0])
    async with cache_in(folder) as cache:
        assert await cache.find(KEY) is None
        await cache.keep(KEY, "add", RESULT)
    async with cache_in(folder) as cache:
        assert await cache.find(KEY) == RESULT


async def test_a_file_damaged_while_it_is_open_is_replaced(folder: Path) -> None:
    async with cache_in(folder) as one, cache_in(folder) as two:
        for number in range(500):
            await one.keep(call_key("d", "docker", {"a": number}), "add", RESULT)
        assert await two.find(KEY) is None
        (file,) = found(folder, "*.sqlite3")
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with file.open("r+b") as handle:
            handle.seek(100)
            handle.write(b"\xff" * (file.stat().st_size - 100))
        for _ in range(3):
            await one.keep(KEY, "add", RESULT)
        assert await one.find(KEY) == RESULT
        for _ in range(3):
            await two.keep(KEY, "add", RESULT)
        assert await two.find(KEY) == RESULT


async def test_a_place_that_cannot_be_used_keeps_nothing_and_disturbs_no_call(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file, no folder")
    async with cache_in(tmp_path / "results") as cache:
        await cache.keep(KEY, "add", RESULT)
        assert await cache.find(KEY) is None
        with pytest.raises(LibraryError, match="cannot be used"):
            await cache.clear()
        with pytest.raises(LibraryError, match="cannot be used"):
            await cache.size()


@pytest.mark.slow
async def test_a_file_that_another_process_holds_is_a_miss_and_no_error(folder: Path) -> None:
    async with cache_in(folder) as cache:
        await cache.keep(KEY, "add", RESULT)
        (file,) = found(folder, "*.sqlite3")
        with closing(sqlite3.connect(file, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            await cache.keep(call_key("d", "docker", {}), "add", RESULT)
            assert await cache.find(KEY) == RESULT
            with pytest.raises(LibraryError, match="locked"):
                await cache.clear()
            holder.execute("ROLLBACK")
        assert (await cache.size())[0] == 1


async def test_many_writers_share_one_file(folder: Path) -> None:
    async with cache_in(folder) as one, cache_in(folder) as two, cache_in(folder) as three:

        async def work(cache: ResultCache, first: int) -> None:
            for number in range(first, first + 30):
                await cache.keep(
                    call_key("d", "docker", {"a": number}), "add", RunResult(status="ok", value=number)
                )

        with anyio.fail_after(120):
            async with anyio.create_task_group() as writers:
                for first, cache in ((0, one), (30, two), (60, three)):
                    writers.start_soon(work, cache, first)
        for number in range(90):
            result = await two.find(call_key("d", "docker", {"a": number}))
            assert result is not None
            assert result.value == number
