"""Search while an embedder is slow, down, wrong, choosy or another one; no vector is paid for twice."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio.lowlevel
import pytest

from alita_mcp.library.catalogue.search_tables import create
from alita_mcp.library.search.vectors.table import VectorTable
from alita_mcp.library.words.text import compose
from alita_mcp.models.embedding.interface import Vector
from alita_mcp.models.embedding.scripted import ScriptedEmbedder
from tests.library.searching import MEANS, TOOLS, Switch, best, many, opened, until, until_by_meaning

pytestmark = pytest.mark.extra("search")

NEW = {"fly_kite": compose("fly_kite", "Let a kite rise in the wind.")}


@pytest.mark.parametrize("how", ["fails", "hangs", "crashes"])
async def test_words_find_tools_whatever_an_embedder_does_while_it_embeds_them(home: Path, how: str) -> None:
    switch = Switch(how, only=": ")
    async with opened(home, ScriptedEmbedder(before=switch), many(2_000)) as finder:
        for at in (3, 1_999):
            ranking = await finder.search(f"serves number n{at}")
            assert (ranking.hits[0].name, ranking.meaning) == (f"tool_{at}", None)
        await until(lambda: switch.requests > 0)
        assert await best(finder, "serves number n77") == "tool_77"


@pytest.mark.parametrize("how", ["fails", "hangs", "crashes"])
async def test_search_by_meaning_comes_back_by_itself(home: Path, how: str) -> None:
    switch = Switch()
    async with opened(home, ScriptedEmbedder(before=switch, synonyms=MEANS)) as finder:
        await until_by_meaning(finder, "kitten")
        switch.how = how
        for _ in range(2):
            ranking = await finder.search("clean a car")
            assert (ranking.hits[0].name, ranking.meaning) == ("wash_car", None)
        switch.how = "answers"
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "kitten") == "feed_cat"


async def test_an_embedder_that_is_away_at_the_start_is_used_once_it_is_there(home: Path) -> None:
    switch = Switch("fails")
    async with opened(home, ScriptedEmbedder(before=switch, synonyms=MEANS)) as finder:
        assert (await finder.search("clean a car")).meaning is None
        switch.how = "answers"
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "kitten") == "feed_cat"


async def test_searches_wait_for_a_hanging_embedder_once_for_all_of_them(home: Path) -> None:
    switch = Switch(only="physician")
    async with opened(home, ScriptedEmbedder(before=switch)) as finder:
        await until_by_meaning(finder, "kitten")
        switch.how = "hangs"
        switch.only = ""
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(best, finder, "phone a physician")
        asked_at_first = switch.requests
        for _ in range(20):
            assert await best(finder, "phone a doctor") == "call_doctor"
        assert switch.requests - asked_at_first <= 2


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_a_published_tool_is_found_at_once_and_the_others_still_by_meaning(
    home: Path, how: str
) -> None:
    switch = Switch(how, only="fly kite: ")
    async with opened(home, ScriptedEmbedder(before=switch, synonyms=MEANS)) as finder:
        await until_by_meaning(finder, "kitten")
        finder.set_documents(TOOLS | NEW)
        while not switch.requests:
            assert await best(finder, "let a kite rise") == "fly_kite"
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "let a kite rise") == "fly_kite"
        ranking = await finder.search("my kitten")
        assert (ranking.hits[0].name, ranking.meaning is None) == ("feed_cat", False)
        switch.how = "answers"
        await finder.vectors_ready()
        assert (await finder.search("a kite in the wind")).hits[0].name == "fly_kite"


async def test_a_published_tool_is_found_while_the_embedder_is_down(home: Path) -> None:
    switch = Switch()
    async with opened(home, ScriptedEmbedder(before=switch)) as finder:
        await until_by_meaning(finder, "kitten")
        switch.how = "fails"
        finder.set_documents(TOOLS | NEW)
        assert await best(finder, "let a kite rise") == "fly_kite"


async def test_where_most_tools_have_no_vector_words_decide(home: Path) -> None:
    switch = Switch("hangs", only="Serves number")
    async with opened(home, ScriptedEmbedder(before=switch, synonyms=MEANS)) as finder:
        await until_by_meaning(finder, "kitten")
        finder.set_documents(TOOLS | many(30))
        while (ranking := await finder.search("clean a car")).meaning is not None:
            await anyio.lowlevel.checkpoint()  # until it is known which tools lack a vector
        assert ranking.hits[0].name == "wash_car"


async def test_a_changed_tool_keeps_its_old_vector_until_it_has_a_new_one(home: Path) -> None:
    switch = Switch("hangs", only="Polish")
    async with opened(home, ScriptedEmbedder(before=switch, synonyms=MEANS)) as finder:
        await until_by_meaning(finder, "kitten")
        finder.set_documents(
            {name: compose(name, f"Polish. {document.about}") for name, document in TOOLS.items()}
        )
        while not switch.requests:
            await finder.search("kitten")
        ranking = await finder.search("my automobile")
        assert (ranking.hits[0].name, ranking.meaning is None) == ("wash_car", False)


async def test_a_text_that_the_embedder_refuses_keeps_no_other_tool_waiting(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    documents = many(200) | TOOLS
    documents["cursed"] = compose("cursed", "A word of doom.")
    switch = Switch("fails", only="doom")
    embedder = ScriptedEmbedder(before=switch, synonyms=MEANS)
    caplog.set_level(logging.WARNING)
    async with opened(home, embedder, documents) as finder:
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
        ranking = await finder.search("my kitten")
        assert (ranking.hits[0].name, ranking.meaning is None) == ("feed_cat", False)
        assert await best(finder, "cursed word") == "cursed"
        asked = switch.requests
        finder.set_documents(documents | NEW)
        await until_by_meaning(finder, "kite")
        await finder.vectors_ready()
        assert switch.requests == asked
    assert [record.getMessage() for record in caplog.records if "'cursed'" in record.getMessage()]


async def test_a_text_that_is_too_long_is_embedded_by_its_beginning(home: Path) -> None:
    async def short_sighted(texts: Sequence[str]) -> None:
        if any(len(text) > 3_000 for text in texts):
            raise ValueError("too long")

    documents = TOOLS | {"long_tale": compose("long_tale", "Tell of a physician. " + "word " * 1_000)}
    embedder = ScriptedEmbedder(before=short_sighted, synonyms=MEANS)
    async with opened(home, embedder, documents) as finder:
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
        assert any(text.startswith("long tale") and len(text) == 1_000 for text in embedder.asked)


async def test_an_embedder_that_refuses_everything_is_not_asked_for_each_tool(home: Path) -> None:
    switch = Switch("fails", only="number")
    async with opened(home, ScriptedEmbedder(before=switch), many(60)) as finder:
        await finder.search("kitten")
        await until(lambda: switch.requests >= 30)
        ranking = await finder.search("serves number n7")
        assert (ranking.hits[0].name, ranking.meaning) == ("tool_7", None)


class OfAnotherLength(ScriptedEmbedder):
    """From a certain moment on its vectors are longer, as when a server loads another model under the same name."""

    has_changed = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors = await super().embed(texts)
        return [[*vector, 0.5] for vector in vectors] if self.has_changed else vectors


async def test_a_length_that_changes_starts_another_table(home: Path) -> None:
    embedder = OfAnotherLength(synonyms=MEANS)
    async with opened(home, embedder) as finder:
        await until_by_meaning(finder, "kitten")
        embedder.has_changed = True
        assert (await finder.search("clean a car")).hits[0].name == "wash_car"
        finder.set_documents(TOOLS | NEW)
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "kitten") == "feed_cat"
        assert len(list((home / "vectors.lance").glob("*.lance"))) == 2


class Reversed(ScriptedEmbedder):
    """Another model of the same length under the same name."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [list(reversed(vector)) for vector in await super().embed(texts)]


async def test_another_model_under_the_same_name_gets_vectors_of_its_own(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for embedder in (ScriptedEmbedder(synonyms=MEANS), Reversed(synonyms=MEANS)):
        async with opened(home, embedder) as finder:
            await until_by_meaning(finder, "kitten")
            await finder.vectors_ready()
            assert await best(finder, "my kitten") == "feed_cat"
        assert sum(": " in text for text in embedder.asked) == len(TOOLS)
    assert "Another model answers" in caplog.text


async def test_a_change_of_model_fills_another_table_while_searches_go_on(home: Path) -> None:
    documents = many(40) | TOOLS
    async with opened(home, ScriptedEmbedder("one", 200, synonyms=MEANS), documents) as finder:
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
    switch = Switch("hangs", only=": ")
    second = ScriptedEmbedder("two", 256, before=switch, synonyms=MEANS)
    async with opened(home, second, documents) as finder:
        while not switch.requests:
            assert (await finder.search("clean a car")).hits[0].name == "wash_car"
    switch.how = "answers"
    async with opened(home, second, documents) as finder:
        while not (await finder.search("kitten")).meaning:
            assert await best(finder, "clean a car") == "wash_car"
        assert await best(finder, "my kitten") == "feed_cat"
    first = ScriptedEmbedder("one", 200, synonyms=MEANS)
    async with opened(home, first, documents) as finder:
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
        assert await best(finder, "my kitten") == "feed_cat"
    assert not [text for text in first.asked if ": " in text]


async def test_making_the_search_tables_anew_pays_for_no_vector_again(home: Path) -> None:
    embedder = ScriptedEmbedder()
    async with opened(home, embedder) as finder:
        await until_by_meaning(finder, "car")
        await finder.vectors_ready()
        with closing(sqlite3.connect(finder.path)) as db, db:
            create(db)
        finder.set_documents(finder.newest)
        await until_by_meaning(finder, "car")
        await finder.vectors_ready()
    assert sum(": " in text for text in embedder.asked) == len(TOOLS)


async def test_two_at_once_embed_each_tool_once(home: Path) -> None:
    async def slow(texts: Sequence[str]) -> None:
        await anyio.sleep(0.01)

    one, other = ScriptedEmbedder(before=slow), ScriptedEmbedder(before=slow)
    documents = many(300)
    async with opened(home, one, documents) as first, opened(home, other, documents) as second:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_by_meaning, first, "number")
            tasks.start_soon(until_by_meaning, second, "number")
        await first.vectors_ready()
        await second.vectors_ready()
        assert (await second.search("number n3")).meaning is not None
    assert sorted(text for text in one.asked + other.asked if ": " in text) == sorted(
        document.about for document in documents.values()
    )


@pytest.mark.parametrize("damage", ["garbage", "gone", "a file"])
async def test_damaged_vectors_are_made_anew(home: Path, damage: str) -> None:
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
    folder = home / "vectors.lance"
    for file in list(folder.rglob("*")):
        if file.is_file() and damage == "garbage" and file.suffix != ".turn":
            file.write_bytes(b"\0garbage" * 9)
        elif file.is_file() and damage != "garbage":
            file.unlink()
    if damage == "a file":
        for place in sorted(folder.rglob("*"), reverse=True):
            place.rmdir()
        folder.rmdir()
        folder.write_text("mine")
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        assert await best(finder, "clean a car") == "wash_car"
        if damage != "a file":
            await until_by_meaning(finder, "kitten")
            assert await best(finder, "my kitten") == "feed_cat"
    if damage == "a file":
        assert folder.read_text() == "mine"


async def test_vectors_that_break_while_in_use_are_made_anew(home: Path) -> None:
    embedder = ScriptedEmbedder(synonyms=MEANS)
    async with opened(home, embedder) as finder:
        await until_by_meaning(finder, "kitten")
        for file in (home / "vectors.lance").rglob("data/*"):
            file.write_bytes(b"broken")
        assert await best(finder, "clean a car") == "wash_car"
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "my kitten") == "feed_cat"


async def test_deleted_tools_leave_no_vector(home: Path) -> None:
    async with opened(home, ScriptedEmbedder(synonyms=MEANS), many(80) | TOOLS) as finder:
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
        finder.set_documents(TOOLS)
        await until_by_meaning(finder, "kitten")
        await finder.vectors_ready()
        assert {hit.name for hit in (await finder.search("my kitten")).hits} <= TOOLS.keys()
    table = VectorTable(home / "vectors.lance", "scripted/letters", 64)
    await table.open()
    assert (await table.hashes()).keys() == TOOLS.keys()
    table.close()
