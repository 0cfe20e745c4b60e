"""Kept results: the same call again is answered from them, and nothing that happens to their file can spoil a call."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError
from alita_mcp.library.results import cache as result_cache
from alita_mcp.library.results.cache import ResultCache, call_key, open_result_cache
from alita_mcp.library.results.rows import ResultRows, Row
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import Settings
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


@pytest.fixture
def rows(folder: Path) -> Iterator[ResultRows]:
    with closing(ResultRows(folder, MB)) as opened:
        yield opened


def row(number: int, *, size: int = 10, tool: str = "add", at: float = 0.0) -> Row:
    return Row(number.to_bytes(4), tool, b"x" * size, b"mark", at + number)


def kept_numbers(rows: ResultRows, numbers: range) -> list[int]:
    return [number for number in numbers if rows.find(number.to_bytes(4))]


async def test_what_a_call_gave_is_found_at_once_and_by_other_processes_later(folder: Path) -> None:
    async with cache_in(folder) as one, cache_in(folder) as two:
        assert await one.find(KEY) is None
        one.keep(KEY, "add", RESULT)
        assert await one.find(KEY) == RESULT
        assert await two.find(KEY) is None
        await one.write()
        assert await two.find(KEY) == RESULT
        assert await one.find(KEY) == RESULT
    async with cache_in(folder) as later:
        assert await later.find(KEY) == RESULT


async def test_results_reach_the_disk_by_themselves(home: Path) -> None:
    async with open_result_cache(Settings(home=home)) as cache, cache_in(home / "results") as other:
        assert cache is not None
        cache.keep(KEY, "add", RESULT)
        with anyio.fail_after(60):
            while await other.find(KEY) is None:  # noqa: ASYNC110 - another process would look again too
                await anyio.sleep(0.02)


async def test_nothing_is_kept_nor_opened_where_the_settings_say_so(home: Path) -> None:
    async with open_result_cache(Settings(home=home, result_cache_mb=0)) as cache:
        assert cache is None
    async with open_result_cache(Settings(home=home)):
        pass
    assert found(home.parent, "*") == []


async def test_a_result_is_forgotten_when_its_time_is_over_or_lies_in_the_future(folder: Path) -> None:
    clock = Clock()
    async with cache_in(folder, ttl_s=60.0, clock=clock) as cache:
        cache.keep(KEY, "add", RESULT)
        await cache.write()
        clock.now += 60
        assert await cache.find(KEY) == RESULT
        clock.now += 1
        assert await cache.find(KEY) is None
        clock.now -= 100
        assert await cache.find(KEY) is None
        clock.now += 200
        await cache.write()
        assert await cache.size() == (0, 0)


async def test_results_can_be_cleared_for_one_tool_or_all(folder: Path) -> None:
    async with cache_in(folder) as cache:
        keys = [call_key("sha256:1", "docker", {"a": number}) for number in range(4)]
        for key, tool in zip(keys, ["add", "add", "sub", "sub"], strict=True):
            cache.keep(key, tool, RESULT)
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


@given(value=VALUES)
def test_every_value_comes_back_as_it_was(value: Any) -> None:
    def typed(node: Any) -> Any:
        if isinstance(node, dict):
            return [(key, typed(child)) for key, child in node.items()]
        return [typed(child) for child in node] if isinstance(node, list) else (type(node), repr(node))

    async def there_and_back() -> RunResult | None:
        cache = ResultCache(Path("nowhere"), max_bytes=MB, ttl_s=60)
        cache.keep(KEY, "add", RunResult(status="ok", value=value))
        return await cache.find(KEY)

    again = anyio.run(there_and_back)
    assert again is not None
    assert typed(again.value) == typed(value)


def test_the_least_recently_used_make_room_when_the_bytes_do_not_suffice(folder: Path) -> None:
    with closing(ResultRows(folder, 10 * 1_200)) as rows:
        rows.write([row(number, size=1_000) for number in range(10)], {}, -1.0)
        assert kept_numbers(rows, range(11)) == list(range(10))
        rows.write([row(10, size=1_000)], {(0).to_bytes(4): 100.0}, -1.0)
        kept = kept_numbers(rows, range(11))
        assert kept == [0, 3, 4, 5, 6, 7, 8, 9, 10]
        assert rows.size() == (9, 9 * 1_200)


def test_the_number_of_results_is_bounded_too(folder: Path) -> None:
    with closing(ResultRows(folder, MB, max_entries=10)) as rows:
        rows.write([row(number) for number in range(11)], {}, -1.0)
        assert kept_numbers(rows, range(11)) == list(range(2, 11))


async def test_a_result_that_is_too_large_or_too_much_at_once_is_not_kept(folder: Path) -> None:
    async with cache_in(folder) as cache:
        for no_value in ("x" * (MB // 16), "\ud800"):
            cache.keep(KEY, "add", RunResult(status="ok", value=no_value))
            assert await cache.find(KEY) is None
    async with cache_in(folder, max_bytes=64 * MB) as cache:
        for number in range(20):
            cache.keep(call_key("d", "docker", {"a": number}), "add", RunResult(status="ok", value="x" * MB))
        await cache.write()
        assert (await cache.size())[0] == result_cache.WAITING_BYTES // MB - 1


def tampered(folder: Path, statement: str, *values: Any) -> None:
    (file,) = found(folder, "*.sqlite3")
    with closing(sqlite3.connect(file)) as database, database:
        assert database.execute(statement, values).rowcount == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("value", b'{"value":4,"stdout":"","stderr":""}'),
        ("value", "text"),
        ("value", 7),
        ("value", b"\xff" * 10),
        ("mark", b""),
        ("stored_at", 0.0),
        ("key", b"another"),
    ],
)
async def test_a_changed_row_is_no_result(folder: Path, column: str, value: Any) -> None:
    async with cache_in(folder) as cache:
        cache.keep(KEY, "add", RESULT)
        await cache.write()
        assert await cache.find(KEY) == RESULT
        tampered(folder, f"UPDATE result SET {column} = ?", value)
        assert await cache.find(KEY) is None


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"value":NaN}',
        b'{"status":"error"}',
        b'{"value":1,"wall":2}',
        b"[" * 10_000,
    ],
)
async def test_what_is_no_result_is_none_even_with_a_true_mark(folder: Path, value: bytes) -> None:
    async with cache_in(folder) as cache:
        cache.keep(KEY, "add", RESULT)
        await cache.write()
        tampered(folder, "UPDATE result SET value = ?, mark = ?", value, result_cache._mark(KEY, value))
        assert await cache.find(KEY) is None


async def test_a_value_larger_than_the_cache_is_not_read(folder: Path) -> None:
    async with cache_in(folder) as cache:
        cache.keep(KEY, "add", RESULT)
        await cache.write()
        large = b'"' + b"x" * MB + b'"'
        tampered(folder, "UPDATE result SET value = ?, mark = ?", large, result_cache._mark(KEY, large))
        assert await cache.find(KEY) is None


def spoiled(file: Path) -> None:
    for companion in file.parent.glob(f"{file.name}-*"):
        companion.unlink()
    file.write_bytes(b"this is no database, " * 5_000)


async def test_a_damaged_file_is_replaced_when_it_is_opened(folder: Path) -> None:
    async with cache_in(folder) as cache:
        cache.keep(KEY, "add", RESULT)
    spoiled(found(folder, "*.sqlite3")[0])
    async with cache_in(folder) as cache:
        assert await cache.find(KEY) is None
        cache.keep(KEY, "add", RESULT)
    async with cache_in(folder) as cache:
        assert await cache.find(KEY) == RESULT
    assert [file.name for file in found(folder, "*.sqlite3")] == ["results-1-2.sqlite3"]


async def test_a_file_damaged_while_it_is_open_is_replaced_for_everybody(folder: Path) -> None:
    async with cache_in(folder) as one, cache_in(folder) as two:
        for number in range(500):
            one.keep(call_key("d", "docker", {"a": number}), "add", RESULT)
        await one.write()
        await one.size()
        assert await two.find(KEY) is None
        (file,) = found(folder, "*.sqlite3")
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with file.open("r+b") as handle:
            handle.seek(100)
            handle.write(b"\xff" * (file.stat().st_size - 100))
        for cache in (one, two):
            for number in range(500):
                assert await cache.find(call_key("d", "docker", {"a": number, "b": 1})) is None
                cache.keep(KEY, "add", RESULT)
                await cache.write()
                if len(found(folder, "results-1-2.sqlite3")):
                    break
        one.keep(KEY, "add", RESULT)
        await one.write()
        two.keep(call_key("d", "docker", {}), "add", RESULT)
        await two.write()
        assert await two.find(KEY) == RESULT
        assert (await two.size())[0] == 2


async def test_a_file_that_somebody_removed_is_made_again(folder: Path) -> None:
    async with cache_in(folder) as cache:
        cache.keep(KEY, "add", RESULT)
        await cache.write()
        for file in found(folder, "*"):
            file.unlink()
        cache.keep(KEY, "add", RESULT)
        await cache.write()
    async with cache_in(folder) as cache:
        assert await cache.find(KEY) == RESULT


async def test_a_place_that_cannot_be_used_keeps_nothing_and_disturbs_no_call(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file, no folder")
    async with cache_in(tmp_path / "results") as cache:
        assert await cache.find(KEY) is None
        cache.keep(KEY, "add", RESULT)
        assert await cache.find(KEY) == RESULT
        await cache.write()
        assert await cache.find(KEY) is None
        with pytest.raises(LibraryError, match="cannot be used"):
            await cache.clear()
        with pytest.raises(LibraryError, match="cannot be used"):
            await cache.size()


def test_old_files_go_and_damage_that_stays_is_given_up(folder: Path) -> None:
    folder.mkdir()
    for number in "123":
        (folder / f"results-1-{number}.sqlite3").write_bytes(b"no database" * 100)
    (folder / "results-1-x.sqlite3").write_bytes(b"")
    ResultRows(folder, MB).close()
    assert [file.name for file in found(folder, "*.sqlite3")] == [
        "results-1-4.sqlite3",
        "results-1-x.sqlite3",
    ]


async def test_a_file_that_another_process_holds_is_a_miss_and_no_error(folder: Path) -> None:
    async with cache_in(folder) as cache:
        cache.keep(KEY, "add", RESULT)
        await cache.write()
        (file,) = found(folder, "*.sqlite3")
        with closing(sqlite3.connect(file, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            cache.keep(call_key("d", "docker", {}), "add", RESULT)
            await cache.write()
            assert await cache.find(KEY) == RESULT
            with pytest.raises(LibraryError, match="locked"):
                await cache.clear()
            holder.execute("ROLLBACK")
        assert (await cache.size())[0] == 1


async def test_many_writers_share_one_file(folder: Path) -> None:
    async with cache_in(folder) as one, cache_in(folder) as two, cache_in(folder) as three:

        async def work(cache: ResultCache, first: int) -> None:
            for number in range(first, first + 30):
                cache.keep(
                    call_key("d", "docker", {"a": number}), "add", RunResult(status="ok", value=number)
                )
                await cache.write()

        with anyio.fail_after(120):
            async with anyio.create_task_group() as writers:
                for first, cache in ((0, one), (30, two), (60, three)):
                    writers.start_soon(work, cache, first)
        for number in range(90):
            result = await two.find(call_key("d", "docker", {"a": number}))
            assert result is not None
            assert result.value == number


def test_closing_twice_is_fine_and_a_file_of_another_format_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    other = folder / "results-99-7.sqlite3"
    other.write_bytes(b"of a later alita")
    rows = ResultRows(folder, MB)
    rows.close()
    rows.close()
    assert other.read_bytes() == b"of a later alita"
    assert sorted(file.name for file in folder.iterdir()) == ["results-1-1.sqlite3", other.name]
