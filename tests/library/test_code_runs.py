"""Runs that are kept: found again while they may be, without a value on the disk unless that is allowed."""

from __future__ import annotations

import itertools
import json
import logging
import os
import secrets
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError, ToolNotFound, UsageError
from alita_mcp.library.runs import code_runs
from alita_mcp.library.runs import memory as run_memory
from alita_mcp.library.runs import rows as run_rows
from alita_mcp.library.runs.code_runs import CodeRuns, open_code_runs
from alita_mcp.library.runs.marks import kept_run
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.settings import Settings
from tests.library.factory import found

SECRET = "the-colour-of-the-vault-door"
NUMBERS = itertools.count(1)


def run(**facts: Any) -> RecordedRun:
    given = {
        "id": secrets.token_hex(16), "at": "2026-11-23T15:00:00Z", "client": "tester 1",
        "code": f"word = {SECRET!r}\nlen(word)", "arguments": {"text": SECRET, "n": 3},
        "result": [SECRET], "result_kind": "json", "stdout": SECRET, "seconds": 0.1, "sandbox": "scripted",
    }  # fmt: skip
    return RecordedRun(**{**given, **facts})


def shape(*parts: str) -> dict[str, Any]:
    return {"digest": "d", "size": 9, "features": dict.fromkeys(parts or ("aa", "bb", "cc"), 1)}


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def opened(folder: Path, *, keep: bool = False, **more: Any) -> AsyncIterator[CodeRuns]:
    runs = CodeRuns(folder, keep_values=keep, **more)
    try:
        yield runs
    finally:
        runs.close()


async def remember(
    runs: CodeRuns, one: RecordedRun, its_shape: dict[str, Any], digest: str, owner: str = ""
) -> None:
    """Keeps a run, as a run of code does."""
    await anyio.to_thread.run_sync(runs.note, one, its_shape, digest, owner)
    runs.write_soon()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "code-runs"


def mode_of(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode)


@pytest.fixture
def no_folder(folder: Path) -> Path:
    folder.write_text("a file, no folder")
    return folder


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(0o500)
    yield tmp_path / "code-runs"
    tmp_path.chmod(0o700)


def bytes_in(folder: Path) -> bytes:
    return b"".join(place.read_bytes() for place in sorted(folder.rglob("*")) if place.is_file())


async def test_a_run_is_read_whole_in_the_process_that_ran_it(folder: Path) -> None:
    async with opened(folder) as runs:
        mine = run()
        await remember(runs, mine, shape(), "d1")
        assert await runs.read(mine.id) == mine
        runs.write()
        assert await runs.read(mine.id) == mine
        with pytest.raises(ToolNotFound, match="There is no run 'ffff") as unknown:
            await runs.read("f" * 32)
        assert "run the code again" in str(unknown.value)


async def test_no_byte_of_a_value_is_on_the_disk_unless_that_is_allowed(folder: Path) -> None:
    async with opened(folder) as runs:
        failed = run(status="error", error_type="ValueError", error=SECRET)
        for each in (mine := run(), failed, run(error_type=SECRET, session=SECRET)):
            await remember(runs, each, shape(), "d1")
        runs.write()
        assert mine.id.encode() in bytes_in(folder)
        assert b"ValueError" in bytes_in(folder)
        assert SECRET.encode() not in bytes_in(folder)
        async with opened(folder) as other:
            with pytest.raises(UsageError, match="ALITA_KEEP_VALUES"):
                await other.read(mine.id)
    assert SECRET.encode() not in bytes_in(folder)


async def test_values_that_may_be_kept_are_read_by_another_process(folder: Path) -> None:
    mine = run()
    async with opened(folder, keep=True) as runs, opened(folder, keep=True) as other:
        await remember(runs, mine, shape(), "d1", "client one")
        assert runs.reachable([mine.id], "client two") == [mine]
        runs.write()
        assert await other.read(mine.id) == mine
        assert other.reachable([mine.id, "f" * 32], "whoever") == [mine]


async def test_what_one_client_ran_is_not_told_to_another_one(folder: Path) -> None:
    async with opened(folder) as runs:
        await remember(runs, mine := run(), shape(), "d1", "client one")
        assert runs.reachable([mine.id], "client one") == [mine]
        assert runs.reachable([mine.id], "client two") == []


async def test_values_kept_earlier_are_removed_when_that_is_not_wanted_any_more(folder: Path) -> None:
    mine = run(stdout=f"{SECRET}\n" * 1_000)
    async with opened(folder, keep=True) as runs:
        for each in (run(), mine, run()):
            await remember(runs, each, shape(), "d1")
        runs.write()
        assert SECRET.encode() in bytes_in(folder)
    async with opened(folder) as runs:
        assert await runs.read(mine.id) == mine
    async with opened(folder, forget_values=True) as runs:
        with pytest.raises(UsageError, match="only the shape"):
            await runs.read(mine.id)
        assert SECRET.encode() not in bytes_in(folder)
        assert len(runs.all()) == 3


@pytest.mark.parametrize(
    "facts",
    [
        {"arguments": {"api_key": "correct-horse"}},
        {"arguments": {"deep": [{"password": "hunter22"}]}},
        {"arguments": {"text": "AKIAABCDEFGHIJKLMNOP"}},
        {"code": "connect(token='abcdefgh')"},
        {"stdout": "ghp_" + "a1B2" * 10},
    ],
)
async def test_a_run_that_holds_what_looks_like_a_secret_keeps_no_values(
    folder: Path, facts: dict[str, Any]
) -> None:
    mine = run(**facts)
    async with opened(folder, keep=True) as runs:
        await remember(runs, mine, shape(), "d1")
    assert SECRET.encode() not in bytes_in(folder)
    async with opened(folder, keep=True) as runs:
        with pytest.raises(UsageError, match="looks like a key or a password"):
            await runs.read(mine.id)


async def test_a_hash_cannot_be_guessed_from_its_value_and_is_the_same_in_one_home(tmp_path: Path) -> None:
    marks = []
    for home in ("one", "one", "two"):
        async with opened(tmp_path / home) as runs:
            await remember(runs, run(arguments={"n": 7}, result=7), shape(), "d1")
            marks.append((runs.all()[0].arguments[0].hash, runs.all()[0].inputs))
    assert marks[0] == marks[1]
    assert not set(marks[0]) & set(marks[2])


async def test_only_the_owner_may_read_the_files(folder: Path) -> None:
    async with opened(folder) as runs:
        await remember(runs, run(), shape(), "d1")
        runs.write()
        modes = [mode_of(place) for place in found(folder, "*")]
    assert modes == [0o600] * 4
    assert mode_of(folder) == 0o700


async def test_runs_reach_the_disk_by_themselves(home: Path) -> None:
    async with open_code_runs(Settings(home=home)) as runs, opened(home / "code-runs") as other:
        await remember(runs, mine := run(), shape(), "d1")
        with anyio.fail_after(60):
            while [kept.id for kept in other.all()] != [mine.id]:  # noqa: ASYNC110 - another process would look again
                await anyio.sleep(0.02)


async def test_the_last_runs_are_written_when_the_store_closes(home: Path) -> None:
    async with open_code_runs(Settings(home=home)) as runs:
        await remember(runs, mine := run(), shape(), "d1")
    async with opened(home / "code-runs") as later:
        assert [kept.id for kept in later.all()] == [mine.id]


async def test_like_programs_are_found_whether_written_or_not(folder: Path) -> None:
    async with opened(folder) as runs:
        for digest, parts in (("d1", ("aa", "bb")), ("d2", ("bb", "cc")), ("d3", ("xx", "yy"))):
            await remember(runs, run(), shape(*parts), digest)
        assert set(runs.like(shape("bb"))) == {"d1", "d2"}
        before = [kept.id for kept in runs.runs_of(["d1", "d3"])]
        runs.write()
        assert set(runs.like(shape("bb"))) == {"d1", "d2"}
        assert runs.like(shape("xx", "zz")) == {"d3": shape("xx", "yy")}
        assert [kept.id for kept in runs.runs_of(["d1", "d3"])] == before
        await remember(runs, run(), shape("aa", "bb"), "d1")
        assert len(runs.runs_of(["d1"])) == 2
        assert set(runs.shapes()) == {"d1", "d2", "d3"}


async def test_the_tool_made_of_a_run_is_remembered_for_its_program(folder: Path) -> None:
    async with opened(folder) as runs:
        await remember(runs, mine := run(), shape(), "d1")
        await runs.record_made([mine.id, "f" * 32], "count_words")
        assert runs.made() == {"d1": "count_words"}
    async with opened(folder) as later:
        assert later.made() == {"d1": "count_words"}


async def test_forgetting_leaves_no_run_and_no_byte_in_any_process(folder: Path) -> None:
    async with opened(folder, keep=True) as server, opened(folder, keep=True) as command:
        await remember(server, mine := run(), shape(), "d1")
        server.write()
        await remember(server, waiting := run(), shape(), "d1")
        assert await command.drop_all() == 1
        for process in (server, command):
            assert process.all() == []
            for each in (mine, waiting):
                with pytest.raises(ToolNotFound):
                    await process.read(each.id)
        assert SECRET.encode() not in bytes_in(folder)
        await remember(server, later := run(), shape(), "d1")
        assert [kept.id for kept in server.all()] == [later.id]
        assert await command.drop_all() == 1


async def test_what_is_only_in_memory_is_forgotten_too(no_folder: Path) -> None:
    async with opened(no_folder) as runs:
        await remember(runs, run(), shape(), "d1")
        assert await runs.drop_all() == 1
        assert runs.runs_of(["d1"]) == []


async def test_a_file_that_cannot_be_removed_is_told(folder: Path) -> None:
    async with opened(folder) as runs:
        await remember(runs, run(), shape(), "d1")
        runs.write()
        (folder / "runs-1-0.sqlite3").mkdir()
        with pytest.raises(LibraryError, match="cannot be removed"):
            await runs.drop_all()


async def test_a_damaged_file_is_set_aside_and_told(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(folder) as runs:
        await remember(runs, run(), shape(), "d1")
    (file,) = found(folder, "*.sqlite3")
    file.write_bytes(b"this is no database, " * 5_000)
    with caplog.at_level(logging.WARNING):
        async with opened(folder) as runs:
            await remember(runs, mine := run(), shape(), "d1")
            assert [kept.id for kept in runs.all()] == [mine.id]
    assert [place.name for place in found(folder, "*.sqlite3")] == ["runs-1-2.sqlite3"]


async def test_a_file_damaged_while_it_is_open_loses_no_run_of_this_process(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(folder) as runs:
        for number in range(300):
            await remember(runs, run(arguments={"n": number}), shape(f"{number:03}", "zz"), f"d{number}")
        runs.write()
        (file,) = found(folder, "*.sqlite3")
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with file.open("r+b") as handle:
            handle.seek(100)
            handle.write(b"\xff" * (file.stat().st_size - 100))
        await remember(runs, mine := run(), shape(), "d1")
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                runs.all()
        assert "are damaged" in caplog.text
        assert await runs.read(mine.id) == mine
        await remember(runs, later := run(), shape(), "d1")
        assert later.id in {kept.id for kept in runs.all()}


@pytest.mark.parametrize("facts", ["{", "[]", '{"id": "x"}', "null"])
async def test_rows_that_somebody_changed_are_passed_over(folder: Path, facts: str) -> None:
    async with opened(folder, keep=True) as runs:
        await remember(runs, mine := run(), shape(), "d1")
        await remember(runs, other := run(), shape(), "d2")
    (file,) = found(folder, "*.sqlite3")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE run SET facts = ?, whole = ? WHERE id = ?", (facts, facts, mine.id))
        database.execute("UPDATE program SET shape = 'no json' WHERE digest = 'd1'")
    async with opened(folder, keep=True) as runs:
        with pytest.raises(ToolNotFound):
            await runs.read(mine.id)
        assert [kept.id for kept in runs.all()] == [other.id]
        assert set(runs.like(shape())) == {"d2"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_home_that_is_read_only_keeps_runs_in_memory(read_only: Path) -> None:
    async with opened(read_only) as runs:
        await remember(runs, mine := run(), shape(), "d1")
        assert await runs.read(mine.id) == mine


async def test_a_folder_that_cannot_be_used_keeps_runs_in_memory(
    no_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(no_folder) as runs:
        await remember(runs, mine := run(), shape(), "d1")
        runs.write()
        assert await runs.read(mine.id) == mine
        assert set(runs.like(shape())) == {"d1"}
        assert [kept.id for kept in runs.runs_of(["d1"])] == [mine.id]
        await runs.record_made([mine.id], "count_words")
        assert runs.made() == {"d1": "count_words"}
        assert runs.all() == []
    assert caplog.text.count("cannot be kept") == 1


async def test_a_file_that_another_process_holds_delays_the_writing_alone(folder: Path) -> None:
    async with opened(folder) as runs:
        await remember(runs, run(), shape(), "d1")
        runs.write()
        (file,) = found(folder, "*.sqlite3")
        with closing(sqlite3.connect(file, isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            await remember(runs, mine := run(), shape(), "d1")
            runs.write()
            assert next(iter(runs.runs_of(["d1"]))).id == mine.id
            holder.execute("ROLLBACK")
        assert mine.id in {kept.id for kept in runs.all()}


def small_bounds(monkeypatch: pytest.MonkeyPatch, module: Any, **bounds: int) -> None:
    for name, value in bounds.items():
        monkeypatch.setattr(module, name, value)


@pytest.mark.slow
async def test_ten_thousand_runs_and_more_stay_within_their_bounds(folder: Path) -> None:
    async with opened(folder, keep=True) as runs:
        for number in range(11_000):
            each = run(arguments={"n": number})
            runs.note(
                each, shape(*(f"{number % 700 * part:04x}" for part in range(1, 60))), f"d{number % 700}"
            )
            if number % 250 == 249:
                runs.write()
        kept = runs.all()
        assert 9_000 <= len(kept) <= run_rows.MAX_RUNS
        assert kept[0].id == each.id
        (file,) = found(folder, "*.sqlite3")
        assert file.stat().st_size < run_rows.MAX_BYTES


async def test_the_oldest_runs_make_room_in_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, run_rows, MAX_BYTES=1 << 20)
    async with opened(folder, keep=True) as runs:
        for number in range(40):
            each = run(stdout="x" * 60_000)
            await remember(runs, each, shape(f"{number:03}"), f"d{number}")
            runs.write()
        kept = [kept.id for kept in runs.all()]
        assert kept[0] == each.id
        assert 10 < len(kept) < 20
        assert len(runs.shapes()) == len(kept)
        with closing(sqlite3.connect(found(folder, "*.sqlite3")[0])) as database:
            assert database.execute("SELECT count(*) FROM sketch").fetchone() == (len(kept),)


async def test_runs_too_large_for_the_whole_store_leave_it_empty_and_usable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_bounds(monkeypatch, run_rows, MAX_BYTES=100_000)
    async with opened(folder, keep=True) as runs:
        await remember(runs, run(stdout="x" * 200_000), shape(), "d1")
        assert runs.all() == []
        await remember(runs, mine := run(), shape(), "d1")
        assert [kept.id for kept in runs.all()] == [mine.id]


async def test_values_larger_than_a_run_may_keep_stay_in_memory(folder: Path) -> None:
    async with opened(folder, keep=True) as runs:
        await remember(runs, mine := run(stdout="x" * code_runs.LARGEST_BYTES), shape(), "d1")
        assert await runs.read(mine.id) == mine
    async with opened(folder, keep=True) as runs:
        with pytest.raises(UsageError):
            await runs.read(mine.id)


async def test_a_run_is_forgotten_after_ninety_days(folder: Path) -> None:
    clock = Clock()
    async with opened(folder, clock=clock) as runs:
        await remember(runs, run(), shape("old"), "d1")
        runs.write()
        clock.now += run_rows.MAX_AGE_S + 1
        await remember(runs, mine := run(), shape("new"), "d2")
        assert [kept.id for kept in runs.all()] == [mine.id]
        assert set(runs.shapes()) == {"d2"}


async def test_memory_holds_the_runs_used_last_within_number_and_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_bounds(monkeypatch, run_memory, MAX_RUNS=3)
    async with opened(folder) as runs:
        several = [run() for _ in range(4)]
        for each in several[:3]:
            await remember(runs, each, shape(), "d1")
        await runs.read(several[0].id)
        await remember(runs, several[3], shape(), "d1")
        assert runs.reachable([each.id for each in several], "") == [several[0], *several[2:]]
        small_bounds(monkeypatch, run_memory, MAX_BYTES=3_000)
        await remember(runs, large := run(stdout="x" * 2_500), shape(), "d1")
        await remember(runs, run(stdout="x" * 4_000), shape(), "d1")
        assert runs.reachable([each.id for each in (*several, large)], "") == [large]


async def test_what_waits_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_bounds(monkeypatch, code_runs, MAX_WAITING=2)
    async with opened(folder) as runs:
        for digest in ("d1", "d2", "d3"):
            await remember(runs, run(), shape(), digest)
        assert {kept.digest for kept in runs.all()} == {"d2", "d3"}


@pytest.mark.process
def test_two_processes_share_one_store(folder: Path) -> None:
    program = (
        "import sys, anyio\nfrom pathlib import Path\nfrom tests.library import test_code_runs as t\n"
        "async def work():\n"
        "    async with t.opened(Path(sys.argv[1])) as runs:\n"
        "        for number in range(60):\n"
        "            await t.remember(runs, t.run(arguments={'n': number}), t.shape(), 'd1')\n"
        "            runs.write()\n"
        "anyio.run(work)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(folder)]) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    with closing(CodeRuns(folder, keep_values=False)) as runs:
        kept = runs.all()
        assert len(kept) == 120
        assert len({each.inputs for each in kept}) == 60


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=VALUES, code=st.text(), status=st.sampled_from(["ok", "error"]))
def test_any_run_has_marks_and_none_of_them_tells_it(value: Any, code: str, status: str) -> None:
    try:
        mine = run(code=code, arguments={"value": value}, result=value, status=status)
    except ValueError:
        return  # no run that could be recorded
    kept = kept_run(mine, "d1", b"key")
    assert kept == kept_run(mine, "d1", b"key")
    assert kept.inputs != kept_run(mine, "d1", b"another key").inputs
    assert kept.counts == (status == "ok")
    if isinstance(value, str) and len(value) > 40:
        assert value not in kept.model_dump_json()


def test_the_same_inputs_are_known_whatever_the_names_and_the_layout() -> None:
    inputs = {
        kept_run(run(code=code, arguments={"n": 1}), "d", b"k").inputs
        for code in ("a = 5\nprint(a + n)", "b=5  # five\nprint(b+n)")
    }
    assert len(inputs) == 1
    assert kept_run(run(code="a = 6\nprint(a + n)", arguments={"n": 1}), "d", b"k").inputs not in inputs
    assert kept_run(run(code="a = 5\nprint(a + n)", arguments={"n": 2}), "d", b"k").inputs not in inputs


@pytest.mark.parametrize("facts", [{"status": "error"}, {"session": "s1"}])
def test_failing_runs_and_steps_of_sessions_do_not_count(facts: dict[str, Any]) -> None:
    assert kept_run(run(), "d1", b"k").counts
    assert not kept_run(run(), "", b"k").counts
    assert not kept_run(run(**facts), "d1", b"k").counts


def test_long_words_and_strange_ones_are_cut() -> None:
    kept = kept_run(run(packages=("p" * 9_999,) * 99, client="c" * 9_999, error_type="no name"), "d1", b"k")
    assert len(json.dumps(kept.model_dump())) < 20_000
    assert kept.error_type == ""
