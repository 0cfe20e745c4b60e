"""The index is derived: built unasked, put right whatever happened to it, folded, and in nobody's way."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from filelock import FileLock

from alita_mcp.errors import LibraryError
from alita_mcp.library.background import background
from alita_mcp.library.corpus import Corpus
from alita_mcp.library.finder import Finder
from alita_mcp.library.index import SearchIndex
from alita_mcp.library.lance_table import IndexBusy
from alita_mcp.library.library import Library
from alita_mcp.library.scan import MOST_READ, Scan, patient
from alita_mcp.library.search_text import Document, compose
from tests.library.factory import SIX_TOOLS, opened, publish_six, simple, until


async def names_in(home: Path) -> list[str]:
    """The names in the index as it lies there."""
    index = SearchIndex(home / "index.lance")
    await index.open()
    try:
        there, twice = await index.rows()
        assert not twice
        return sorted(there)
    finally:
        index.close()


async def holds_exactly(home: Path, names: Iterable[str]) -> bool:
    """Whether there is an index, whole, of just these names."""
    try:
        return bool(list((home / "index.lance").glob("*/data/*"))) and await names_in(home) == sorted(names)
    except LibraryError:
        return False


async def finds(library: Library, need: str, name: str) -> bool:
    answer = await library.search(need, 5)
    return answer.fit == "match" and answer.results[0].name == name


async def test_the_index_is_built_without_a_search_and_is_brought_up_to_date_at_the_next_start(
    home: Path,
) -> None:
    with anyio.fail_after(120):
        for extra in ([], ["later"]):
            async with opened(home) as library:
                await (
                    library.publish(simple("later"), expected_version=0) if extra else publish_six(library)
                )
                await until(partial(holds_exactly, home, [*SIX_TOOLS, *extra]))


async def test_what_ends_at_once_neither_builds_an_index_nor_waits_for_one(home: Path) -> None:
    with anyio.fail_after(60):
        async with opened(home) as library:
            await publish_six(library)
        shutil.rmtree(home / "index.lance", ignore_errors=True)
        async with opened(home) as library:
            assert len(list(library.entries())) == 6
        assert not (home / "index.lance").exists()


@pytest.mark.parametrize("moments", range(6))
async def test_the_end_in_the_middle_of_building_leaves_an_index_that_the_next_start_completes(
    home: Path, moments: int
) -> None:
    documents = {f"tool_{at}": compose(f"tool_{at}", f"Counts sheep {at}.") for at in range(600)}
    with anyio.fail_after(120):
        async with background() as tasks:
            finder = Finder(SearchIndex(home / "index.lance"), lambda: documents, tasks)
            finder.want(documents)
            tasks.start_soon(finder.rebuild)
            await anyio.sleep(0.1 * moments)
            tasks.cancel_scope.cancel()
            finder.close()
        async with background() as tasks:
            finder = Finder(SearchIndex(home / "index.lance"), lambda: documents, tasks)
            finder.want(documents)
            assert (await finder.look("tool 77 sheep")).hits[0].name == "tool_77"
            await until(partial(holds_exactly, home, documents))
            tasks.cancel_scope.cancel()
            finder.close()


async def test_a_search_answers_while_another_process_keeps_the_index_to_itself_and_spoils_nothing(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    documents = {name: compose(name, text) for name, (text, _) in SIX_TOOLS.items()}
    with anyio.fail_after(120):
        index = SearchIndex(home / "index.lance", lock_timeout_s=0.1)
        await index.open()
        table = next((home / "index.lance").glob("*.lance"))
        inode = table.stat().st_ino
        async with background() as tasks:
            finder = Finder(index, lambda: documents, tasks)
            finder.want(documents)
            with FileLock(home / "index.lock"):
                with pytest.raises(IndexBusy):
                    await index.sync(lambda: documents)
                assert (await finder.look("count the words of a text")).hits[0].name == "word_count"
            await until(partial(holds_exactly, home, documents))
            tasks.cancel_scope.cancel()
            finder.close()
        assert table.stat().st_ino == inode
    assert "changed by another process" in caplog.text


def truncate_newest(pattern: str) -> Callable[[Path], None]:
    """Cuts the newest file of a kind in half."""

    def damage(home: Path) -> None:
        files = [file for file in (home / "index.lance").glob(pattern) if file.is_file()]
        newest = max(files, key=lambda file: file.stat().st_mtime_ns)
        newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])

    return damage


def remove_everything(home: Path) -> None:
    shutil.rmtree(home / "index.lance")
    (home / "index.lock").unlink(missing_ok=True)


def lose_the_data(home: Path) -> None:
    shutil.rmtree(next((home / "index.lance").glob("*/data")))


def make_it_a_broken_link(home: Path) -> None:
    shutil.rmtree(home / "index.lance")
    (home / "index.lance").symlink_to(home / "nowhere" / "at all")


DAMAGES = {
    "manifest": truncate_newest("*/_versions/*"),
    "data": truncate_newest("*/data/*"),
    "text index": truncate_newest("*/_indices/*/*"),
    "everything": remove_everything,
    "rows": lose_the_data,
    "link": make_it_a_broken_link,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("when", ["in use", "closed"])
async def test_an_index_that_was_damaged_is_whole_again_and_every_search_is_answered(
    home: Path, damage: str, when: str
) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await publish_six(library)
            assert await finds(library, "count the words in a text", "word_count")
            if when == "in use":
                DAMAGES[damage](home)
                await assert_comes_back(library, home)
        if when == "closed":
            DAMAGES[damage](home)
            async with opened(home) as library:
                await assert_comes_back(library, home)


async def assert_comes_back(library: Library, home: Path) -> None:
    assert await finds(library, "count the words in a text", "word_count")
    await library.publish(simple("archive", "Compress a folder into a zip."), expected_version=0)
    assert await finds(library, "compress a folder", "archive")
    await until(partial(holds_exactly, home, [*SIX_TOOLS, "archive"]))
    assert await finds(library, "compress a folder", "archive")


async def test_an_index_of_another_format_is_made_anew(home: Path) -> None:
    import lancedb
    import pyarrow as pa

    with anyio.fail_after(60):
        database = await lancedb.connect_async(home / "index.lance")
        (
            await database.create_table("tools_v1", pa.table({"id": ["x"], "words": ["count the words"]}))
        ).close()
        database.close()
        async with opened(home) as library:
            await publish_six(library)
            assert await finds(library, "count the words in a text", "word_count")
        assert await names_in(home) == sorted(SIX_TOOLS)


@pytest.mark.skipif(not os.getuid(), reason="root may write everything")
async def test_a_library_whose_index_cannot_be_written_still_answers(home: Path) -> None:
    async with opened(home) as library:
        await publish_six(library)
        await library.search("warm up", 1)
    places = [home / "index.lance", *(home / "index.lance").rglob("*")]
    try:
        for place in places:
            place.chmod(0o500 if place.is_dir() else 0o400)
        async with opened(home) as library:
            await library.publish(simple("archive", "Compress a folder into a zip."), expected_version=0)
            assert await finds(library, "compress a folder", "archive")
    finally:
        for place in places:
            place.chmod(0o700)


async def fragments(index: SearchIndex) -> int:
    return int((await index._table.rows.stats())["fragment_stats"]["num_fragments"])


async def test_two_hundred_single_publishes_of_short_processes_leave_few_fragments(home: Path) -> None:
    with anyio.fail_after(240):
        documents: dict[str, Document] = {}
        for number in range(200):
            documents[f"tool_{number}"] = Document(f"words of tool number {number}", str(number))
            if number % 8 == 0:
                index = SearchIndex(home / "index.lance")
                await index.open()
            await index.sync(lambda: dict(documents))
            if number % 8 == 7:
                index.close()
        await index.open()
        assert await fragments(index) <= 20
        assert len((await index.rows())[0]) == 200
        assert "tool_123" in await index.candidates("123")
        index.close()


async def test_folding_by_several_at_once_fails_no_search_and_no_write(home: Path) -> None:
    with anyio.fail_after(240):
        indexes = [SearchIndex(home / "index.lance") for _ in range(3)]
        for index in indexes:
            await index.open()
        wanted = {f"tool_{at}": Document(f"words of tool {at}", str(at)) for at in range(90)}
        written: dict[str, Document] = {}

        async def write(index: SearchIndex, names: list[str]) -> None:
            for name in names:
                written[name] = wanted[name]
                await index.sync(lambda: dict(written))
                assert name in await index.candidates(wanted[name].text)

        async def fold(index: SearchIndex) -> None:
            for _ in range(10):
                await index._table.fold_now()
                assert await index.candidates("words") is not None

        async with anyio.create_task_group() as tasks:
            for at, index in enumerate(indexes):
                tasks.start_soon(write, index, list(wanted)[at::3])
                tasks.start_soon(fold, index)
        there, twice = await indexes[0].rows()
        assert (set(there), set(twice)) == (set(wanted), set())
        for index in indexes:
            index.close()


async def test_a_row_that_somebody_lost_comes_back_with_the_next_change(home: Path) -> None:
    documents = {f"tool_{at}": Document(f"words of tool {at}", str(at)) for at in range(9)}
    with anyio.fail_after(60):
        index = SearchIndex(home / "index.lance")
        await index.open()
        await index.sync(lambda: documents)
        await index._table.remove(["tool_3"])
        more = {**documents, "new": Document("quite new", "n")}
        await index.sync(lambda: more)
        assert set((await index.rows())[0]) == set(more)
        index.close()


async def test_many_that_open_a_new_index_at_once_all_get_it(home: Path) -> None:
    with anyio.fail_after(60):
        indexes = [SearchIndex(home / "index.lance") for _ in range(8)]
        async with anyio.create_task_group() as tasks:
            for index in indexes:
                tasks.start_soon(index.open)
        assert all(index.is_open for index in indexes)
        await indexes[0].sync(lambda: {"tool": Document("words of a tool", "1")})
        for index in indexes:
            assert await index.candidates("words") == ["tool"]
            index.close()


async def test_the_index_itself_answers_whatever_signs_stand_around_the_words(home: Path) -> None:
    with anyio.fail_after(60):
        index = SearchIndex(home / "index.lance")
        await index.open()
        await index.sync(lambda: {"tool": Document("words of a tool", "1"), "other": Document("sheep", "2")})
        for query in (
            '"words tool"',
            '"words',
            "'words'",
            "words AND (",
            "words*",
            "+words -tool",
            "x:words",
        ):
            assert await index.candidates(query) == ["tool"], query
        for query in ('"', '""', "(", "*", "AND", "\\"):
            assert await index.candidates(query) == [], query
        index.close()


@pytest.mark.parametrize("size", [50, MOST_READ + 1])
def test_a_scan_finds_the_tool_in_a_library_of_any_size_and_follows_its_changes(size: int) -> None:
    some = compose("filler", "Counts sheep of a herd.")
    documents = {f"filler_{at}": some for at in range(size)}
    documents |= {name: compose(name, text) for name, (text, _) in SIX_TOOLS.items()}
    scan, wanted = Scan(), lambda: documents
    for _ in range(2):
        assert scan.look("roman numeral of 12", wanted).hits[0].name == "roman_numeral"
    assert scan.look("zzz", wanted).hits == ()
    more = {**documents, "archive": compose("archive", "Compress a folder into a zip.")}
    assert scan.look("compress a folder", lambda: more).hits[0].name == "archive"
    assert not [hit for hit in scan.look("compress a folder", wanted).hits if hit.name == "archive"]


async def test_a_thread_that_reads_many_texts_ends_when_nobody_waits_for_it_any_more() -> None:
    read: list[str] = []

    def slowly(text: str) -> list[str]:
        time.sleep(0.001)
        read.append(text)
        return [text]

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            documents = {f"tool_{at}": Document(f"words {at}", str(at)) for at in range(10_000)}
            tasks.start_soon(anyio.to_thread.run_sync, Corpus, documents, patient(slowly))
            while not read:  # noqa: ASYNC110 - a thread
                await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
    assert 0 < len(read) < 10_000
    assert patient(slowly)("outside any thread of ours") == ["outside any thread of ours"]
