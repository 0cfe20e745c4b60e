"""Calls of grown tools and searches of each day, which stay when the lines of the journal are gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.daily import DAYS_KEPT
from alita_mcp.library.catalogue.use import SearchCount, Use
from alita_mcp.library.clock import now
from alita_mcp.library.journal.calls import CallJournal
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity
from alita_mcp.settings import Settings
from tests.library.factory import accepted, opened

CURSOR = ClientIdentity("key-1", "cursor 1.0")
OTHER = ClientIdentity("key-2", "cursor 1.0")


def today() -> str:
    return now()[:10]


def call(journal: CallJournal, name: str = "slugify", *, status: str = "ok", **more: object) -> None:
    journal.record(name, 1, ok=status == "ok", status=status, seconds=0.1, sandbox="wasm", **more)


async def search(library: Library, identity: ClientIdentity, query: str = "slugify a title") -> None:
    library.calls.record_search(query, await library.search(query, 5), identity)


async def test_calls_of_a_day_are_counted_by_tool(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        call(library.calls, code_bytes=400)
        call(library.calls, code_bytes=400)
        call(library.calls, status="timeout")
        call(library.calls, "unknown", code_bytes=9)
        await library.settle()
        call(library.calls)
        await library.settle()
        expected = {today(): Use(calls=4, failures=1, code_bytes=800)}
        assert library.tools.daily_use("2020-01-01", "slugify") == expected
        assert library.tools.daily_use("2020-01-01") == expected
        assert library.tools.daily_use("9999-01-01", "slugify") == {}
        assert library.tools.daily_use("2020-01-01", "unknown") == {}


async def test_starter_tools_are_not_grown(settings: Settings) -> None:
    async with open_library(settings) as library:
        await library.publish(accepted(), expected_version=0)
        for name in ("calculate", "slugify"):
            call(library.calls, name, code_bytes=4)
        await library.settle()
        assert library.tools.daily_use("2020-01-01", "calculate")
        assert library.tools.daily_use("2020-01-01")[today()].calls == 1


async def test_a_search_counts_once_and_as_one_that_led_to_a_call_of_what_it_showed(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)

        async def counts() -> SearchCount:
            await library.settle()
            return library.tools.daily_searches("2020-01-01").get(today(), SearchCount())

        await search(library, UNIDENTIFIED)
        call(library.calls, identity=UNIDENTIFIED)
        assert await counts() == SearchCount()
        await search(library, CURSOR)
        call(library.calls, identity=OTHER)
        call(library.calls, "another_tool", identity=CURSOR)
        assert await counts() == SearchCount(searches=1, matched=1)
        call(library.calls, identity=CURSOR)
        call(library.calls, identity=CURSOR)
        assert await counts() == SearchCount(searches=1, matched=1, called=1)


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with closing(Catalogue(tmp_path / "library.sqlite3")) as opened_catalogue:
        yield opened_catalogue


async def test_a_call_long_after_a_search_is_not_its_outcome(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        monkeypatch.setattr("alita_mcp.library.journal.calls.LEADS_WITHIN_S", -1.0)
        await search(library, CURSOR)
        call(library.calls, identity=CURSOR)
        await library.settle()
        assert library.tools.daily_searches("2020-01-01")[today()].called == 0


@pytest.mark.one_machine
async def test_counts_that_cannot_be_written_are_kept(home: Path, tmp_path: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        found = await library.search("slugify", 5)
    elsewhere = Catalogue(tmp_path / "other.sqlite3")
    elsewhere.close()
    with closing(Catalogue(home / "library.sqlite3")) as catalogue:
        journal = CallJournal(elsewhere)
        journal.record_search("slugify", found, CURSOR)
        with pytest.raises(LibraryError):
            journal.write_calls()
        call(journal, code_bytes=4, identity=CURSOR)
        with pytest.raises(LibraryError):
            journal.write_calls()
        assert journal.has_unwritten
        journal._catalogue = catalogue
        assert journal.write_calls()
        assert not journal.has_unwritten
    async with opened(home) as library:
        assert library.tools.daily_searches("")[today()] == SearchCount(searches=1, matched=1, called=1)
        assert library.tools.daily_use("", "slugify")[today()].code_bytes == 4


def test_days_are_kept_for_a_year_and_more_and_not_for_good(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alita_mcp.library.catalogue.catalogue.TRIM_EVERY", 1)
    database = catalogue._db
    for age in (DAYS_KEPT + 1, DAYS_KEPT - 1, 0):
        database.execute(f"INSERT INTO daily_use VALUES (date('now', '-{age} days'), 'a_tool', 1, 0, 0)")
        database.execute(f"INSERT INTO daily_search VALUES (date('now', '-{age} days'), 1, 0, 0)")
    journal = CallJournal(catalogue)
    call(journal)
    journal.write_calls()
    for table in ("daily_use", "daily_search"):
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 2, table
