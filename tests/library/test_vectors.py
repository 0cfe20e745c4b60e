"""A table of vectors: what is near, with and without an index, its length, its turns, and its record beside it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from alita_mcp.errors import LibraryError, ModelError
from alita_mcp.file_locks import held
from alita_mcp.library.search.calibration import Calibration
from alita_mcp.library.search.vectors.record import (
    VectorRecord,
    drop_unused,
    note_use,
    read_record,
    write_record,
)
from alita_mcp.library.search.vectors.table import VectorTable, unit
from alita_mcp.library.words.text import Document, compose
from alita_mcp.models.embedding.interface import CheckedEmbedder, Vector, same_length
from alita_mcp.models.embedding.scripted import ScriptedEmbedder

pytestmark = pytest.mark.extra("search")

LENGTH = 16
DAYS = 86_400


@pytest.fixture
async def table(home: Path) -> AsyncIterator[VectorTable]:
    made = VectorTable(home, "an embedder", LENGTH, tree_from=600)
    await made.open()
    yield made
    made.close()


def rows(count: int, seed: int) -> tuple[dict[str, Vector], dict[str, Document]]:
    """Vectors that lie in clusters, as those of texts do."""
    chance = random.Random(seed)
    centres = [[chance.gauss(0, 1) for _ in range(LENGTH)] for _ in range(20)]
    vectors = {
        f"tool_{seed}_{at}": unit([each + chance.gauss(0, 0.6) for each in centres[at % 20]])
        for at in range(count)
    }
    return vectors, {name: compose(name, "") for name in vectors}


async def test_an_index_finds_nearly_what_reading_all_rows_finds(table: VectorTable) -> None:
    vectors, documents = rows(700, seed=1)
    await table.put(vectors, documents)
    queries = list(vectors.values())[:40]
    flat = [await table.cosines(query, ()) for query in queries]
    await table.grow_tree()
    await table.grow_tree()
    indexed = [await table.cosines(query, ()) for query in queries]
    kept = sum(len(one.keys() & other.keys()) for one, other in zip(flat, indexed, strict=True))
    assert kept >= 0.9 * sum(map(len, flat))
    for one, other in zip(flat, indexed, strict=True):
        first = max(one, key=lambda name: one[name])
        assert first in other
        assert all(abs(one[name] - other[name]) < 1e-3 for name in one.keys() & other.keys())


async def test_rows_added_after_the_index_was_made_are_found_too(table: VectorTable) -> None:
    await table.put(*rows(700, seed=1))
    await table.grow_tree()
    vectors, documents = rows(30, seed=2)
    await table.put(vectors, documents)
    for name, vector in vectors.items():
        assert (await table.cosines(vector, ()))[name] == pytest.approx(1.0, abs=1e-3)
    changed = {"tool_1_5": vectors["tool_2_7"]}
    await table.put(changed, {"tool_1_5": compose("tool_1_5", "changed")})
    assert (await table.cosines(vectors["tool_2_7"], ()))["tool_1_5"] == pytest.approx(1.0, abs=1e-3)


async def test_few_rows_get_no_index(table: VectorTable) -> None:
    await table.put(*rows(300, seed=1))
    await table.grow_tree()
    assert not list(table.folder.glob("*/_indices/*"))


async def test_named_tools_have_their_cosine_however_far_they_are(table: VectorTable) -> None:
    vectors, documents = rows(300, seed=1)
    await table.put(vectors, documents)
    query = vectors["tool_1_0"]
    near = await table.cosines(query, ())
    far = next(name for name in vectors if name not in near)
    found = await table.cosines(query, [far, "no_such_tool"])
    assert found[far] < min(near.values())
    assert "no_such_tool" not in found


async def test_vectors_of_another_length_are_refused_and_harm_nothing(table: VectorTable) -> None:
    vectors, documents = rows(3, seed=1)
    await table.put(vectors, documents)
    with pytest.raises(ModelError, match="length 2 after one of length 16"):
        await table.put({"tool_1_0": [1.0, 0.0]}, documents)
    with pytest.raises(ModelError, match="One name must stand for one model"):
        await table.cosines([1.0] * 17, ())
    assert len(await table.cosines(vectors["tool_1_0"], ())) == 3
    assert same_length("x", [1.0], 1) == [1.0]


async def test_hashes_are_those_of_the_rows(table: VectorTable) -> None:
    vectors, documents = rows(600, seed=1)
    await table.put(vectors, documents)
    wanted = {name: document.hash for name, document in documents.items()}
    assert await table.hashes() == wanted
    assert await table.hashes_of([*wanted, "o'neill"]) == wanted
    await table.remove(list(wanted)[:599])
    assert await table.hashes() == dict([list(wanted.items())[-1]])


async def test_a_closed_table_is_an_error_of_the_library(home: Path) -> None:
    table = VectorTable(home, "an embedder", 2)
    with pytest.raises(LibraryError):
        await table.cosines([1.0, 0.0], ())
    with pytest.raises(LibraryError):
        await table.check()


async def test_one_at_a_time_has_its_turn(home: Path) -> None:
    one, other = VectorTable(home, "an embedder", 2), VectorTable(home, "an embedder", 2)
    order: list[str] = []

    async def second() -> None:
        async with other.embedding_lock():
            order.append("second")

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, one.embedding_lock():
            tasks.start_soon(second)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            order.append("first")
    assert order == ["first", "second"]


async def test_a_turn_that_never_ends_is_not_waited_for_forever(home: Path) -> None:
    table = VectorTable(home, "an embedder", 2, patience_s=0.2)
    with anyio.fail_after(60), held(home / f"{table.name}.turn", 0):
        async with table.embedding_lock():
            assert True


def test_a_record_is_kept_beside_its_table(tmp_path: Path) -> None:
    record = VectorRecord(
        embedder="x",
        probe=(0.5, 1.0),
        calibration=Calibration(weights={"cos": 1.0}, intercept=0.0),
        calibrated_on=3,
    )
    write_record(tmp_path, "vectors_x", record)
    assert read_record(tmp_path, "vectors_x") == record
    assert [file.name for file in tmp_path.iterdir()] == ["vectors_x.json"]
    write_record(tmp_path / "missing", "vectors_x", record)
    assert read_record(tmp_path / "missing", "vectors_x") is None


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\x00", b"[]", b'{"embedder": 7}', b"[" * 100_000, b"x" * (2 << 20)]
)
def test_a_damaged_record_is_none(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "vectors_x.json").write_bytes(damage)
    assert read_record(tmp_path, "vectors_x") is None


def test_tables_that_nobody_used_for_a_month_are_dropped_and_no_others(tmp_path: Path) -> None:
    ages = {"unused": 31, "used": 29, "mine": 400, "unknown": 400}
    for table, days in ages.items():
        (tmp_path / f"{table}.lance").mkdir()
        (tmp_path / f"{table}.lance" / "data").write_text("x")
        if table != "unknown":
            write_record(tmp_path, table, VectorRecord(embedder=table))
            os.utime(tmp_path / f"{table}.json", (time.time() - days * DAYS,) * 2)
    assert drop_unused(tmp_path, "mine") == ["unused"]
    assert sorted(place.stem for place in tmp_path.glob("*.lance")) == ["mine", "unknown", "used"]
    assert drop_unused(tmp_path, "mine") == []


def test_a_search_says_once_a_day_that_its_table_is_of_use(tmp_path: Path) -> None:
    write_record(tmp_path, "x", VectorRecord(embedder="x"))
    file = tmp_path / "x.json"
    for days, is_touched in ((3, True), (0.5, False)):
        before = time.time() - days * DAYS
        os.utime(file, (before, before))
        note_use(tmp_path, "x")
        assert (file.stat().st_mtime > before + 1) == is_touched
    note_use(tmp_path, "no_such_table")


@pytest.mark.parametrize(
    "answer", [None, 7, [None], [[1.0], 7], [["a"]], [[True]], [[10**400]], [[1e300]], [[]]]
)
async def test_a_strangers_class_that_answers_nonsense_is_an_error_of_the_model(answer: object) -> None:
    class Stranger:
        name = "a stranger"

        async def embed(self, texts: object) -> object:
            return answer

    with pytest.raises(ModelError, match="a stranger"):
        await CheckedEmbedder(Stranger()).embed(["a"])  # type: ignore[arg-type]


async def test_a_strangers_class_that_never_answers_is_given_up() -> None:
    async def forever(texts: object) -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(60), pytest.raises(ModelError, match="TimeoutError"):
        await CheckedEmbedder(ScriptedEmbedder(before=forever), patience_s=0.05).embed(["a"])
