"""Records of models on disk: what is kept, what counts when, and files that somebody else wrote."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.library.rows import JournalRow
from alita_mcp.synthesis.model_records.records import MAX_PRACTICE, ModelRecords, Practice
from alita_mcp.synthesis.model_records.result import TaskResult
from alita_mcp.verification.agreement.record import ModelRecord, Tally

MODEL = "openai/some-model"
RIGHT = TaskResult(right=True, tests_right=10, tests_wrong=2, agreed=True)
MISREAD = TaskResult(right=False, tests_right=4, tests_wrong=8, agreed=True)


@pytest.fixture
def records(tmp_path: Path) -> ModelRecords:
    return ModelRecords(tmp_path)


def file_of(home: Path, model: str = MODEL) -> Path:
    return home / "model_records" / f"{hashlib.sha256(model.encode()).hexdigest()[:16]}.json"


async def known(records: ModelRecords, model: str = MODEL) -> ModelRecord:
    record = await records.of(model)
    assert record is not None
    return record


async def calibrated(records: ModelRecords, count: int = 2, version: str = "v1") -> None:
    await records.begin(MODEL, version)
    for number in range(count):
        await records.add(MODEL, f"task_{number}", MISREAD if number % 2 else RIGHT, count)


async def test_of_a_model_that_did_nothing_nothing_is_known(records: ModelRecords) -> None:
    assert await records.of(MODEL) is None
    assert await records.all() == []
    assert await records.done(MODEL, "v1") == frozenset()


async def test_results_are_counted_and_kept_for_the_owner_alone(
    records: ModelRecords, tmp_path: Path
) -> None:
    await calibrated(records)
    record = await known(ModelRecords(tmp_path))
    assert (record.model, record.tasks) == (MODEL, 2)
    assert record.candidates == Tally(right=1, wrong=1)
    assert record.tests == Tally(right=14, wrong=10)
    assert record.misread == Tally(right=1, wrong=1)
    if os.name != "nt":
        assert stat.S_IMODE(file_of(tmp_path).stat().st_mode) == 0o600
        assert stat.S_IMODE(file_of(tmp_path).parent.stat().st_mode) == 0o700
    assert [record.model for record in await records.all()] == [MODEL]
    assert not list(file_of(tmp_path).parent.glob("*.part"))


async def test_a_task_that_is_done_twice_counts_once(records: ModelRecords) -> None:
    await calibrated(records)
    await records.add(MODEL, "task_0", MISREAD, 2)
    assert (await known(records)).candidates == Tally(right=0, wrong=2)


async def test_names_of_models_are_kept_apart_and_may_be_anything(records: ModelRecords) -> None:
    for model in ("a/b", "a/B", "../../etc/passwd", "ü" * 300, "x"):
        await records.begin(model, "v1")
        await records.add(model, "task", RIGHT, 1)
    assert len(await records.all()) == 5
    assert (await known(records, "../../etc/passwd")).tasks == 1


async def test_a_calibration_goes_on_where_it_was(records: ModelRecords) -> None:
    await calibrated(records, 2)
    await records.begin(MODEL, "v1")
    assert await records.done(MODEL, "v1") == {"task_0", "task_1"}
    assert (await known(records)).tasks == 2


@pytest.mark.parametrize(("version", "again"), [("v2", False), ("v1", True)])
async def test_what_is_done_counts_until_one_that_begins_anew_is_complete(
    records: ModelRecords, version: str, again: bool
) -> None:
    await calibrated(records, 2)
    assert await records.done(MODEL, version, again=again) == frozenset()
    assert await records.done(MODEL, "v1") == {"task_0", "task_1"}  # asking changes nothing
    await records.begin(MODEL, version, again=again)
    await records.add(MODEL, "task_0", RIGHT, 2)
    assert (await known(records)).candidates == Tally(right=1, wrong=1)
    assert await records.done(MODEL, version) == {"task_0"}  # a second run goes on with it
    await records.begin(MODEL, version)
    await records.add(MODEL, "task_9", RIGHT, 2)
    assert (await known(records)).candidates == Tally(right=2, wrong=0)


async def test_going_back_to_the_tasks_that_count_gives_up_what_was_begun(records: ModelRecords) -> None:
    await calibrated(records, 2)
    await records.begin(MODEL, "v2")
    await records.begin(MODEL, "v1")
    assert await records.done(MODEL, "v1") == {"task_0", "task_1"}


async def test_practice_adds_up_and_older_practice_fades(records: ModelRecords) -> None:
    await calibrated(records, 30)
    for _ in range(10):
        await records.practise(MODEL, MODEL, Practice(kept=20, dropped=0, first_time=True))
    assert (await known(records)).practised == Tally(right=200, wrong=0)
    await records.practise(MODEL, MODEL, Practice(kept=0, dropped=50, first_time=False))
    record = await known(records)
    assert record.practised.total == pytest.approx(MAX_PRACTICE)
    assert record.practised.wrong == pytest.approx(40)
    assert record.first_time == Tally(right=10, wrong=1)


async def test_practice_never_outweighs_calibration(records: ModelRecords) -> None:
    await calibrated(records, 2)
    for _ in range(50):
        await records.practise(MODEL, MODEL, Practice(kept=20, dropped=0, first_time=True))
    record = await known(records)
    assert record.practised == Tally(right=record.tests.total, wrong=0)
    only = "openai/never-calibrated"
    await records.practise(only, only, Practice(kept=20, dropped=0, first_time=True))
    assert (await known(records, only)).practised == Tally()


async def test_practice_goes_to_who_wrote_the_tests_and_to_who_wrote_the_code(records: ModelRecords) -> None:
    await records.begin("m/tester", "v1")
    await records.add("m/tester", "task", RIGHT, 1)
    await records.practise("m/coder", "m/tester", Practice(kept=3, dropped=1, first_time=True))
    coder, tester = await known(records, "m/coder"), await known(records, "m/tester")
    assert (coder.practised, coder.first_time) == (Tally(), Tally(right=1))
    assert (tester.practised, tester.first_time) == (Tally(right=3, wrong=1), Tally())


def _file(done: Any = None, **more: Any) -> Any:
    done = {"task": RIGHT.model_dump()} if done is None else done
    return {"model": MODEL, "calibration": {"version": "v1", "done": done}, **more}


def _practised(right: str) -> bytes:
    return json.dumps(_file(practised={"right": 0.5, "wrong": 0})).replace("0.5", right).encode()


HOSTILE: dict[str, Any] = {
    "nothing": b"",
    "no JSON": b"\x00\xff",
    "not an object": b"[]",
    "deep": b"[" * 100_000,
    "huge": b" " * (300 << 10),
    "another model's": _file(model="openai/another"),
    "negative counts": _practised("-5"),
    "endless counts": _practised("1e999"),
    "no number": _practised("NaN"),
    "too much practice": _file(first_time={"right": 1e9, "wrong": 0}),
    "too many tests": _file({"t": {"right": True, "tests_right": 10**6}}),
    "too many tasks": _file({f"t{number}": {"right": True} for number in range(501)}),
    "names that are none": _file({"../x": {"right": True}}),
    "more fields": _file(trust="verified"),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_file_that_is_no_record_counts_as_none_is_said_and_is_replaced(
    records: ModelRecords, tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    await calibrated(records, 1)
    said = HOSTILE[what]
    file_of(tmp_path).write_bytes(said if isinstance(said, bytes) else json.dumps(said).encode())
    assert await records.of(MODEL) is None
    assert "ignored" in caplog.text
    assert await records.all() == []
    with pytest.raises(LibraryError, match="gone or damaged"):
        await records.add(MODEL, "task_1", RIGHT, 2)
    await records.practise(MODEL, MODEL, Practice(kept=1, dropped=0, first_time=True))
    await calibrated(records, 1)
    assert (await known(records)).candidates == Tally(right=1)


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only some users make links")
async def test_a_link_in_the_place_of_a_file_is_not_followed(records: ModelRecords, tmp_path: Path) -> None:
    await calibrated(records, 1)
    elsewhere = tmp_path / "elsewhere"
    file_of(tmp_path).rename(elsewhere)
    before = elsewhere.read_bytes()
    file_of(tmp_path).symlink_to(elsewhere)
    assert await records.of(MODEL) is None
    await calibrated(records, 2)
    assert elsewhere.read_bytes() == before
    assert not file_of(tmp_path).is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="Windows lets only some users make links")
async def test_a_link_in_the_place_of_the_folder_is_refused(records: ModelRecords, tmp_path: Path) -> None:
    await calibrated(records, 1)
    folder = tmp_path / "model_records"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert await records.of(MODEL) is None
    with pytest.raises(LibraryError, match="link"):
        await records.begin(MODEL, "v1")


async def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "model_records").write_text("a file")
    with pytest.raises(LibraryError, match="model_records"):
        await ModelRecords(tmp_path).begin(MODEL, "v1")
    records = ModelRecords(tmp_path / "other")
    await calibrated(records, 1)
    file_of(tmp_path / "other").unlink()
    file_of(tmp_path / "other").mkdir()
    with pytest.raises(LibraryError, match="json"):
        await records.begin(MODEL, "v1")
    assert not list(file_of(tmp_path / "other").parent.glob("*.part"))


async def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    await ModelRecords(tmp_path).begin(MODEL, "v1")

    async def write(number: int) -> None:
        records = ModelRecords(tmp_path)
        await records.add(MODEL, f"task_{number}", RIGHT, 100)
        await records.practise(MODEL, MODEL, Practice(kept=1, dropped=0, first_time=True))

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(write, number)
    record = await known(ModelRecords(tmp_path))
    assert (record.tasks, record.practised.right, record.first_time.right) == (12, 12, 12)


WRITER = """
import sys
from pathlib import Path
import anyio
from alita_mcp.synthesis.model_records.result import TaskResult
from alita_mcp.synthesis.model_records.records import ModelRecords

async def write():
    records = ModelRecords(Path(sys.argv[1]))
    for number in range(20):
        await records.add("openai/some-model", f"{sys.argv[2]}_{number}", TaskResult(right=True), 100)

anyio.run(write)
"""


@pytest.mark.process
def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    anyio.run(ModelRecords(tmp_path).begin, MODEL, "v1")
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "other")]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert anyio.run(known, ModelRecords(tmp_path)).tasks == 40


async def test_only_one_process_calibrates_a_model(tmp_path: Path) -> None:
    records = ModelRecords(tmp_path)
    with records.calibrating(MODEL):
        with pytest.raises(LibraryError, match="another process"), ModelRecords(tmp_path).calibrating(MODEL):
            pass
        with ModelRecords(tmp_path).calibrating("openai/another"):
            pass
        await calibrated(records, 1)  # its own writing goes on
    with ModelRecords(tmp_path).calibrating(MODEL):
        pass


def synthesis(number: int, version: int, coder: str | None = MODEL, **detail: Any) -> JournalRow:
    models = {} if coder is None else {"models": {"coder": coder, "tester": "m/tester"}}
    told = {"status": "created", **models, **detail}
    return JournalRow(id=number, time="", event="synthesis", name="tool", version=version, detail=told)


def rolled_back(number: int, version: int) -> JournalRow:
    return JournalRow(id=number, time="", event="rolled back", name="tool", version=version, detail={})


@pytest.mark.parametrize(
    ("rows", "right", "wrong"),
    [
        ([], 0, 0),
        ([synthesis(1, 1)], 1, 0),
        ([synthesis(1, 1), synthesis(2, 2)], 2, 0),
        ([synthesis(1, 1), synthesis(2, 2, complaint=True)], 1, 1),
        ([synthesis(1, 1), synthesis(2, 2, coder=None, complaint=True)], 0, 1),
        ([synthesis(1, 1, coder="m/other"), synthesis(2, 2, complaint=True)], 1, 0),
        ([synthesis(1, 1), synthesis(2, 2, complaint="yes")], 2, 0),
        ([synthesis(1, 1), synthesis(2, 2), rolled_back(3, 1)], 1, 1),
        ([synthesis(1, 1), synthesis(2, 2), rolled_back(3, 1), rolled_back(4, 2)], 2, 0),
        ([synthesis(1, 1), synthesis(2, 2, kept="v1 stays current"), synthesis(3, 3, complaint=True)], 2, 1),
        ([synthesis(1, 1, status="rejected", complaint=True)], 0, 0),
        ([synthesis(1, 1, coder=None, models="openai/some-model")], 0, 0),
        ([synthesis(1, 1).model_copy(update={"name": None})], 0, 0),
        ([synthesis(1, 1).model_copy(update={"version": None})], 0, 0),
    ],
)
async def test_what_became_of_versions_later(
    tmp_path: Path, rows: list[JournalRow], right: int, wrong: int
) -> None:
    def journal(event: str) -> Sequence[JournalRow]:
        return [row for row in reversed(rows) if row.event == event]

    await calibrated(ModelRecords(tmp_path), 1)
    record = await known(ModelRecords(tmp_path, partial(journal)))
    assert record.later == Tally(right=right, wrong=wrong)
