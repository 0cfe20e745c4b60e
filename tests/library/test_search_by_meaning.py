"""Search by meaning: fused with words when every tool has a vector, by words alone while the embedder is away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.library.background import background
from alita_mcp.library.opening import open_library
from alita_mcp.library.search.finder import finder_for
from alita_mcp.library.search.vectors.table import VectorTable, tool_vector, unit
from alita_mcp.library.words.text import compose
from alita_mcp.models.embedder_choice import choose_embedder
from alita_mcp.models.embedding.interface import checked
from alita_mcp.models.embedding.scripted import ScriptedEmbedder
from alita_mcp.settings import Settings
from tests.library.factory import simple
from tests.library.searching import MEANS, TOOLS, best, opened, until_by_meaning

pytestmark = pytest.mark.extra("search")


async def test_a_need_in_other_words_is_found_by_its_meaning(home: Path) -> None:
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        await finder.vectors_ready()
        ranking = await finder.search("my kitten")
        assert ranking.hits[0].name == "feed_cat"
        assert ranking.meaning is not None
        assert ranking.meaning["cos"] > 0
    async with opened(home / "words", None) as finder:
        assert await best(finder, "my kitten") != "feed_cat"


async def test_a_dead_embedder_leaves_search_by_words(home: Path) -> None:
    async def dead(texts: Sequence[str]) -> None:
        raise ModelError("gone")

    async with opened(home, ScriptedEmbedder(before=dead)) as finder:
        ranking = await finder.search("clean a car")
        assert ranking.hits[0].name == "wash_car"
        assert ranking.meaning is None


async def test_an_embedder_that_dies_later_leaves_search_by_words(home: Path) -> None:
    state = {"dead": False}

    async def mortal(texts: Sequence[str]) -> None:
        if state["dead"]:
            raise ModelError("gone")

    async with opened(home, ScriptedEmbedder(before=mortal)) as finder:
        await finder.vectors_ready()
        assert (await finder.search("clean a car")).meaning is not None
        state["dead"] = True
        for _ in range(2):
            ranking = await finder.search("clean a car")
            assert (ranking.hits[0].name, ranking.meaning) == ("wash_car", None)


async def test_a_hanging_embedder_delays_no_search_by_words(home: Path) -> None:
    async def hang(texts: Sequence[str]) -> None:
        await anyio.sleep_forever()

    async with opened(home, ScriptedEmbedder(before=hang)) as finder:
        assert await best(finder, "phone a doctor") == "call_doctor"


async def test_an_embedder_that_hangs_on_a_query_is_left_alone_afterwards(home: Path) -> None:
    state = {"asked": 0, "hanging": False}

    async def sticky(texts: Sequence[str]) -> None:
        if state["hanging"]:
            state["asked"] += 1
            await anyio.sleep_forever()

    async with opened(home, ScriptedEmbedder(before=sticky)) as finder:
        await finder.vectors_ready()
        state["hanging"] = True
        for _ in range(3):
            assert await best(finder, "phone a doctor") == "call_doctor"
        assert state["asked"] == 1


async def test_another_model_gets_vectors_of_its_own(home: Path) -> None:
    for name, length in (("one", 16), ("two", 32)):
        embedder = ScriptedEmbedder(name, length, synonyms=MEANS)
        async with opened(home, embedder) as finder:
            await finder.vectors_ready()
            assert await best(finder, "kitten") == "feed_cat"
            assert any("cat" in text for text in embedder.asked)


async def test_vectors_are_kept_and_only_changed_tools_are_embedded_again(home: Path) -> None:
    for changed in (False, True):
        documents = dict(TOOLS)
        if changed:
            documents["wash_car"] = compose("wash_car", "Polish an automobile.")
        embedder = ScriptedEmbedder()
        async with opened(home, embedder, documents) as finder:
            await until_by_meaning(finder, "car")
            await finder.vectors_ready()
        described = [text for text in embedder.asked if ": " in text]
        assert len(described) == (1 if changed else 3)


async def test_an_unknown_embedder_calibrates_itself_on_the_example_requests(home: Path) -> None:
    subjects = ["cat", "car", "doctor", "house", "tree", "river", "book", "song", "plane", "clock"]
    documents = {
        f"find_{each}": compose(
            f"find_{each}",
            f"Find a {each}.",
            requests=[f"where is my {each}", f"{each} please", f"seek {each}"],
        )
        for each in subjects
    }
    async with opened(home, ScriptedEmbedder(length=256), documents) as finder:
        await finder.vectors_ready()
        known = (await finder.search("seek the song please")).hits[0]
        assert known.name == "find_song"
        unknown = (await finder.search("quantum entanglement of photons")).hits[0]
        assert known.probability > unknown.probability


async def test_no_row_is_lost_for_a_vector_without_direction(home: Path) -> None:
    table = VectorTable(home, "zero", 4)
    await table.open()
    document = {"nothing": compose("nothing", "")}
    await table.put({"nothing": unit([0.0] * 4)}, document)
    assert "nothing" in await table.cosines([1.0, 0.0, 0.0, 0.0], ())
    table.close()


def test_a_tools_vector_stands_between_its_description_and_its_requests() -> None:
    assert tool_vector([2.0, 0.0], [[0.0, 3.0]]) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert tool_vector([2.0, 0.0], []) == [1.0, 0.0]


@pytest.mark.parametrize(
    "answer", [[[1.0]], [[1.0], [1.0, 2.0]], [[float("nan")], [1.0]], [["a"], ["b"]], [[], []]]
)
def test_answers_that_are_no_vectors_are_refused(answer: list[list[float]]) -> None:
    with pytest.raises(ModelError):
        checked("an embedder", answer, 2)


def test_settings_name_the_embedder(tmp_path: Path) -> None:
    own = choose_embedder("alita_mcp.models.embedding.scripted:ScriptedEmbedder")
    assert own.name == "scripted/letters"
    assert choose_embedder("openai/text-embedding-3-small").name == "openai/text-embedding-3-small"
    for wrong in ("no_such_module:Thing", "alita_mcp.errors:Nothing"):
        with pytest.raises(UsageError, match="cannot be loaded"):
            choose_embedder(wrong)
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="safetensors"):
            choose_embedder(str(folder))


async def test_the_setting_reaches_the_library(home: Path) -> None:
    settings = Settings(home=home, embedder="alita_mcp.models.embedding.scripted:ScriptedEmbedder")
    async with open_library(settings, starters=lambda: None) as library, background() as tasks:
        await library.publish(simple("wash_car", "Clean a car with water."), expected_version=0)
        finder = finder_for(settings, home / "library.sqlite3", tasks)
        await until_by_meaning(finder, "car")
        await finder.vectors_ready()
        assert (await finder.search("clean a car")).meaning is not None
        tasks.cancel_scope.cancel()
        finder.close()
