"""Search by meaning: beside words when every tool has its vector, by words alone while the embedder is away."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import anyio
import pytest

from alita_mcp.errors import ExtraMissing, LibraryError, ModelError, UsageError
from alita_mcp.library.opening import open_library
from alita_mcp.library.search import vectors
from alita_mcp.library.search.vector_table import VectorTable
from alita_mcp.library.search.vectors import unit
from alita_mcp.library.words.documents import compose
from alita_mcp.models.embedder_choice import choose_embedder, search_embedder
from alita_mcp.models.embedding.interface import check_vectors
from alita_mcp.models.embedding.model2vec import BUILT_IN
from alita_mcp.settings import Settings
from tests.library.factory import simple
from tests.library.searching import (
    MEANS,
    TOOLS,
    Switch,
    best,
    many,
    opened,
    set_documents,
    until_by_meaning,
)
from tests.scripted_embedder import ScriptedEmbedder

pytestmark = pytest.mark.extra("search")

NEW = {"fly_kite": compose("fly_kite", "Let a kite rise in the wind.")}


async def test_the_built_in_table_is_used_where_no_embedder_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ALITA_EMBEDDER", raising=False)
    async with opened(home, search_embedder(Settings(home=home))) as finder:
        await finder.vectors.ready()
        ranking = await finder.search("my kitten is hungry")
        assert (ranking.hits[0].name, ranking.by_meaning) == ("feed_cat", True)
    assert search_embedder(Settings(home=home, embedder="none")) is None


async def test_a_need_in_other_words_is_found_by_its_meaning(home: Path) -> None:
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        await finder.vectors.ready()
        ranking = await finder.search("my kitten")
        assert (ranking.hits[0].name, ranking.by_meaning) == ("feed_cat", True)
    async with opened(home / "words", None) as finder:
        assert await best(finder, "my kitten") is None


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fails", "hangs", "crashes"])
@pytest.mark.sample(1)
async def test_words_find_tools_while_the_embedder_is_away_and_meaning_comes_back(
    home: Path, how: str
) -> None:
    switch = Switch(how)
    async with opened(home, ScriptedEmbedder(before=switch, synonyms=MEANS)) as finder:
        for away in ("at the start", "later"):
            for _ in range(2):
                ranking = await finder.search("clean a car")
                assert (ranking.hits[0].name, ranking.by_meaning) == ("wash_car", False), away
            switch.how = "answers"
            await until_by_meaning(finder, "kitten")
            assert await best(finder, "kitten") == "feed_cat"
            switch.how = how


@pytest.mark.slow
async def test_searches_wait_for_a_hanging_embedder_once_for_all_of_them(home: Path) -> None:
    switch = Switch()
    async with opened(home, ScriptedEmbedder(before=switch)) as finder:
        await until_by_meaning(finder, "kitten")
        switch.how = "hangs"
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(best, finder, "phone a physician")
        asked = switch.requests
        assert await best(finder, "phone a doctor") == "call_doctor"
        assert switch.requests - asked <= 1


async def test_a_published_tool_is_found_while_the_embedder_is_away(home: Path) -> None:
    switch = Switch()
    async with opened(home, ScriptedEmbedder(before=switch)) as finder:
        await until_by_meaning(finder, "kitten")
        switch.how = "fails"
        set_documents(home, finder, TOOLS | NEW)
        assert await best(finder, "let a kite rise") == "fly_kite"
        switch.how = "answers"
        await until_by_meaning(finder, "a kite in the wind")
        assert await best(finder, "a kite in the wind") == "fly_kite"
        set_documents(home, finder, TOOLS)
        await finder.vectors.ready()
        assert "fly_kite" not in [hit.name for hit in (await finder.search("a kite")).hits]


async def test_only_changed_tools_are_embedded_again(home: Path) -> None:
    for described, documents in (
        (3, TOOLS),
        (0, TOOLS),
        (1, TOOLS | {"wash_car": compose("wash_car", "Polish an automobile.")}),
    ):
        embedder = ScriptedEmbedder()
        async with opened(home, embedder, documents) as finder:
            await finder.vectors.ready()
        assert len([text for text in embedder.asked if ": " in text]) == described


async def test_another_model_gets_vectors_of_its_own(home: Path) -> None:
    for embedder in (
        ScriptedEmbedder("one", 16, synonyms=MEANS),
        ScriptedEmbedder("two", 32, synonyms=MEANS),
    ):
        async with opened(home, embedder) as finder:
            await finder.vectors.ready()
            assert await best(finder, "kitten") == "feed_cat"
        assert any("cat" in text for text in embedder.asked)


async def test_a_text_that_the_embedder_refuses_keeps_no_other_tool_waiting(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    documents = TOOLS | {"cursed": compose("cursed", "A word of doom.")}
    embedder = ScriptedEmbedder(before=Switch("fails", only="doom"), synonyms=MEANS)
    async with opened(home, embedder, documents) as finder:
        await finder.vectors.ready()
        ranking = await finder.search("my kitten")
        assert (ranking.hits[0].name, ranking.by_meaning) == ("feed_cat", True)
        assert await best(finder, "cursed word") == "cursed"
    assert "found by its words only" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["rows", "table", "a file in its place"])
@pytest.mark.sample(1)
async def test_damaged_vectors_are_made_anew(home: Path, damage: str) -> None:
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        await finder.vectors.ready()
    (place,), (snapshot,) = (list((home / "vectors.lance").glob(each)) for each in ("*.lance", "*.npz"))
    snapshot.unlink()
    if damage == "rows":
        for file in place.glob("data/*"):
            file.write_bytes(b"garbage")
    else:
        shutil.rmtree(place)
        place.mkdir() if damage == "table" else place.write_bytes(b"garbage")
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "kitten") == "feed_cat"


async def test_cosines_of_any_embedder_are_brought_to_one_scale(home: Path) -> None:
    probabilities = []
    for embedder in (ScriptedEmbedder(length=256), _Narrow("narrow", 257)):
        async with opened(home, embedder) as finder:
            await finder.vectors.ready()
            hits = {hit.name: hit for hit in (await finder.search("give food to a cat")).hits}
            probabilities.append([hits[name].probability for name in TOOLS])
    assert probabilities[0] == pytest.approx(probabilities[1], abs=0.02)


class _Narrow(ScriptedEmbedder):
    """Its cosines lie between 0.9 and 1."""

    def _vector(self, text: str) -> list[float]:
        *direction, _ = super()._vector(text)
        return [*unit(direction), 3.0]


async def test_words_find_tools_while_the_disk_refuses_vectors(home: Path) -> None:
    await anyio.Path(home).mkdir(exist_ok=True)
    (home / "vectors.lance").touch()
    async with opened(home, ScriptedEmbedder(synonyms=MEANS)) as finder:
        with pytest.raises(LibraryError, match="vectors"):
            await finder.vectors.ready()
        assert await best(finder, "clean a car") == "wash_car"
        (home / "vectors.lance").unlink()
        await until_by_meaning(finder, "kitten")
        assert await best(finder, "kitten") == "feed_cat"


async def test_table_and_snapshot_have_the_wanted_vectors_or_none_where_they_are_not_whole(
    home: Path,
) -> None:
    folder = home / "vectors.lance"
    wanted = {"a": "1", "é": "2", "it's": "3"}
    table = VectorTable(folder, "few", 4)
    assert table.load_snapshot(wanted) == await table.load(wanted) == ["a", "é", "it's"]
    await table.write_vectors({"a": "1", "é": "2"}, [unit([1.0, 0.0, 0.0, 0.0]), unit([0.0, 1.0, 0.0, 0.0])])
    await table.write_vectors({"it's": "3"}, [unit([0.0] * 4)])
    with pytest.raises(LibraryError):
        await table.write_vectors({"short": "4"}, [[1.0]])
    with pytest.raises(ModelError, match="length 3"):
        table.nearest([1.0, 0.0, 0.0], 1)
    assert table.nearest([1.0, 0.0, 0.0, 0.0], 2) == pytest.approx({"a": 1.0, "it's": 0.5})

    other = VectorTable(folder, "few", 4)
    changed = {"a": "1", "b": "3", "é": "3"}
    assert other.load_snapshot(changed) == await other.load(changed) == ["b", "é"]
    assert table.load_snapshot({"é": "2"}) == ["é"]  # the snapshot is that of the last who opened the table
    for near in (await other.load({"é": "2"}), other.load_snapshot({"é": "2"})):
        assert near == []
        assert other.nearest([1.0, 0.0, 0.0, 0.0], 2) == {"é": 0.0}
    assert VectorTable(folder, "few", 3).load_snapshot({"é": "2"}) == ["é"]

    import numpy as np

    twice = {"names": ["a", "a", "b"], "hashes": ["1", "1", "3"], "vectors": np.eye(4, dtype=np.float32)[:3]}
    np.savez(folder / "few.npz", **twice)
    assert other.load_snapshot(changed | {"é": "2"}) == ["é"]
    assert other.nearest([0.0, 0.0, 1.0, 0.0], 1) == {
        "b": 1.0
    }  # a name that stands there twice moves no other's

    await other.load({"a": "1"})
    whole = (snapshot := folder / "few.npz").read_bytes()
    vectors = whole.index(b"\x00\x00\x80?")  # the first number of the first vector, 1.0
    garbled = whole[:vectors] + b"\x00\x00\x00@" + whole[vectors + 4 :]
    for damaged in (whole[:-200], whole[:40], b"", b"none", garbled):
        snapshot.write_bytes(damaged)
        assert other.load_snapshot({"a": "1"}) == ["a"]


async def test_what_earlier_versions_were_made_of_is_not_kept_in_memory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import lancedb

    sessions: list[Any] = []

    async def connect(*place: Any, session: Any = None, **options: Any) -> lancedb.AsyncConnection:
        session = session or lancedb.Session.default()
        sessions.append(session)
        return await connected(*place, session=session, **options)

    connected = lancedb.connect_async
    monkeypatch.setattr(lancedb, "connect_async", connect)
    table = VectorTable(home / "vectors.lance", "grows", 4)
    await table.load({})
    for number in range(5):
        await table.write_vectors({f"tool_{number}": ""}, [unit([1.0] * 4)])
        assert len(table.nearest([1.0, 0.0, 0.0, 0.0], 9)) == number + 1
    for session in sessions:
        assert (session.approx_num_items, session.size_bytes < 10_000) == (
            0,
            True,
        )  # else 50,000 for each write


@pytest.mark.parametrize(
    "answer", [[[1.0]], [[1.0], [1.0, 2.0]], [[float("nan")], [1.0]], [["a"], ["b"]], [[], []]]
)
def test_answers_that_are_no_vectors_are_refused(answer: list[list[float]]) -> None:
    with pytest.raises(ModelError):
        check_vectors("an embedder", answer, 2)


def test_settings_name_the_embedder(tmp_path: Path) -> None:
    own = choose_embedder("tests.scripted_embedder:ScriptedEmbedder")
    assert own.name == "scripted/letters"
    for wrong in ("no_such_module:Thing", "alita_mcp.errors:Nothing"):
        with pytest.raises(UsageError, match="cannot be loaded"):
            choose_embedder(wrong)
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="safetensors"):
            choose_embedder(str(folder))


async def test_the_setting_reaches_the_library(home: Path) -> None:
    settings = Settings(home=home, embedder="tests.scripted_embedder:ScriptedEmbedder")
    with anyio.fail_after(60):
        async with open_library(settings, starters=lambda: None) as library:
            await library.publish(simple("wash_car", "Clean a car with water."), expected_version=0)
            await library._finder.vectors.ready()
            assert (await library._finder.search("clean a car")).by_meaning


async def test_packages_that_cannot_be_imported_leave_search_by_words(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    async with opened(home, ScriptedEmbedder()) as finder:
        assert await best(finder, "clean a car") == "wash_car"
        with pytest.raises(ExtraMissing):
            await finder.vectors.ready()


EMBED = """
import sys, anyio
from pathlib import Path
from tests.scripted_embedder import ScriptedEmbedder
from tests.library.searching import many, opened, until_by_meaning

async def main():
    async def told(texts):
        for text in texts:
            if ": " in text:
                print(text, flush=True)
        await anyio.sleep(0.02)

    async with opened(Path(sys.argv[1]), ScriptedEmbedder(before=told), many(int(sys.argv[2]))) as finder:
        await until_by_meaning(finder, "serves number n7")

anyio.run(main)
"""


def embedding(home: Path, tools: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", EMBED, str(home), str(tools)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.process
def test_processes_share_the_work_of_embedding_and_one_that_is_killed_leaves_the_rest(home: Path) -> None:
    with embedding(home, 600) as first:
        assert first.stdout is not None
        said = [next(first.stdout) for _ in range(vectors.TOOLS_AT_ONCE + 10)]
        first.kill()
        said += [line for line in first.stdout if line.endswith("\n")]
    others = [embedding(home, 600) for _ in range(2)]
    for process in others:
        told, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        said += told.splitlines(keepends=True)
    times = Counter(said)
    assert len(times) == 600
    assert sum(count - 1 for count in times.values()) <= vectors.TOOLS_AT_ONCE


async def test_a_large_library_is_searched_by_meaning_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "TOOLS_AT_ONCE", 20)
    write = mock.create_autospec(VectorTable.write_vectors, side_effect=VectorTable.write_vectors)
    monkeypatch.setattr(VectorTable, "write_vectors", write)
    async with opened(home, choose_embedder(BUILT_IN), many(1_000) | TOOLS) as finder:
        await finder.vectors.ready()
        assert await best(finder, "my kitten") == "feed_cat"
        assert write.await_count < 10  # each time all of it, so not for each of 50 batches
