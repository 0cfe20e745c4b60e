from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing

import anyio
import pytest

from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.owners import USER
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.example_requests import MAX_CHARACTERS, learn_words
from tests.library.factory import simple

WAIT_S = 60


@pytest.fixture
async def stocked(settings: Settings) -> AsyncIterator[Library]:
    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("alpha"), expected_version=0)
        await library.publish(simple("beta"), expected_version=0)
        yield library


async def test_a_tool_is_found_by_the_words_that_it_learned_also_in_another_process(
    stocked: Library, settings: Settings
) -> None:
    assert await stocked.similar("zebra", owner=USER) == ()
    async with open_library(settings, starters=lambda: None) as other:
        await stocked.learn_wording("beta", "groom a zebra")
        with anyio.fail_after(WAIT_S):
            assert await stocked.similar("zebra", owner=USER) == ("beta",)
            await other.refresh()
            assert await other.similar("zebra", owner=USER) == ("beta",)
    assert stocked.entry("beta").wordings == ("groom a zebra",)
    assert stocked.entry("alpha").wordings == ()


async def test_words_are_learned_once_and_only_the_newest_twelve_are_kept(stocked: Library) -> None:
    for number in [*range(15), 14, 14]:
        await stocked.learn_wording("alpha", f"request {number}")
    assert stocked.entry("alpha").wordings == tuple(f"request {number}" for number in range(3, 15))
    assert [row.event for row in stocked.journal()].count("worded") == 15


async def test_an_unknown_tool_learns_nothing(stocked: Library) -> None:
    await stocked.learn_wording("gamma", "anything")
    assert "worded" not in {row.event for row in stocked.journal()}


async def test_words_that_cannot_be_shown_are_not_learned_and_long_ones_are_cut(stocked: Library) -> None:
    await learn_words(
        stocked, "alpha", "  two\n  lines ", ["", "bidi\u202e", "half\ud800", "word " * 90], owner=USER
    )
    assert stocked.entry("alpha").wordings == ("two lines", ("word " * (MAX_CHARACTERS // 5)).strip())


async def test_the_digest_of_the_version_stays_and_a_new_version_keeps_the_words(
    stocked: Library,
) -> None:
    digest = stocked.entry("alpha").manifest.digest
    await stocked.learn_wording("alpha", "groom a zebra")
    assert stocked.entry("alpha").manifest.digest == digest
    await stocked.publish(simple("alpha", "Another one.", answer="y"), expected_version=1)
    assert stocked.entry("alpha").wordings == ("groom a zebra",)


async def test_two_owners_teach_a_tool_the_same_words_and_nobody_displaces_another(stocked: Library) -> None:
    await stocked.learn_wording("beta", "groom a zebra")
    for number in range(30):
        await stocked.learn_wording("beta", f"request {number}", owner="token:a")
    await stocked.learn_wording("beta", "groom a zebra", owner="token:a")
    assert await stocked.similar("zebra", owner=USER) == ("beta",)
    assert await stocked.similar("zebra", owner="token:a") == ("beta",)
    await stocked.forget("beta", "groom a zebra")
    assert await stocked.similar("zebra", owner=USER) == ()
    assert await stocked.similar("zebra", owner="token:a") == ()


async def test_words_of_an_earlier_version_are_the_users(settings: Settings) -> None:
    async with open_library(settings, starters=lambda: None) as library:
        await library.publish(simple("beta"), expected_version=0)
        await library.learn_wording("beta", "groom a zebra")
    with closing(sqlite3.connect(settings.home / "library.sqlite3", isolation_level=None)) as db:
        for statement in (
            "CREATE TABLE old (id INTEGER PRIMARY KEY, name TEXT, text TEXT, from_use INTEGER, UNIQUE (name, text))",
            "INSERT INTO old SELECT id, name, text, from_use FROM wording",
            "DROP TABLE wording",
            "ALTER TABLE old RENAME TO wording",
            "UPDATE search_total SET version = 3",
            "PRAGMA user_version = 1",
        ):
            db.execute(statement)
    async with open_library(settings, starters=lambda: None) as library:
        assert await library.similar("zebra", owner=USER) == ("beta",)
        assert await library.similar("zebra", owner="token:a") == ()
        await library.learn_wording("beta", "groom a zebra", owner="token:a")
        assert await library.similar("zebra", owner="token:a") == ("beta",)
