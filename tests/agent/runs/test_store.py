"""The store of runs: what is written, what is not, what is read when files are damaged or processes die."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import anyio
import anyio.to_thread
import pytest

from alita_mcp.agent.runs import store as runs_store
from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.agent.values import Solution, Step, TaskEvent, TaskRequest
from alita_mcp.errors import LibraryError, ToolNotFound, UsageError
from alita_mcp.library.storage import Storage, open_storage
from alita_mcp.owners import USER
from alita_mcp.settings import Settings
from tests.postgres_cluster import PostgresServer
from tests.stored import everything_in

KEY = "sk-proj-" + "a1B2" * 8


def run_id(number: int) -> str:
    return f"{number:032x}"


RUN = run_id(7)
TASK = TaskRequest(task="6 times 7?")


def event(number: int, kind: str = "step", run: str = RUN, **said: Any) -> TaskEvent:
    known = {
        "run": run,
        "number": number,
        "at": "2026-01-01T00:00:00Z",
        "kind": kind,
        "text": f"event {number}",
    }
    return TaskEvent.model_validate({**known, **said})


def finished(number: int, run: str = RUN, **said: Any) -> TaskEvent:
    step = Step(number=1, tool="run_code", observation="42")
    solution = Solution.model_validate(
        {"run": run, "task": "t", "answer": "42", "solved": True, "steps": (step,), **said}
    )
    return event(number, "finished", run, data=solution.model_dump(mode="json"))


def places_in(folder: Path) -> list[Path]:
    return [folder, *folder.rglob("*")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "task_runs"


@pytest.fixture
def runs(storage: Storage) -> StoredRuns:
    return StoredRuns(storage)


@pytest.fixture
def on_disk(folder: Path) -> StoredRuns:
    return StoredRuns(Storage(folder.parent))


def make_older(storage: Storage, number: int) -> None:
    """Files that are written in the same tick of the clock have no order."""
    for path in (storage.home / "task_runs").glob(f"*{run_id(number)}.*"):
        os.utime(path, (1e9 + number, 1e9 + number))


async def a_run(runs: StoredRuns, run: str = RUN, request: TaskRequest = TASK, **said: Any) -> None:
    await runs.begin_run(run, request)
    await runs.append(event(1, run=run))
    await runs.append(finished(2, run, **said))


async def test_a_run_is_read_as_it_was_written_by_this_and_by_other_processes(
    runs: StoredRuns, storage: Storage
) -> None:
    await runs.begin_run(RUN, TaskRequest(task="6 times 7?", hosts=("example.org",)))
    assert await runs.solution(RUN) is None
    assert (await runs.summary(RUN)).status == "running"
    await runs.append(event(1))
    await runs.append(finished(2))
    for store in (runs, StoredRuns(storage)):
        assert [one.number for one in await store.events(RUN)] == [1, 2]
        solution = await store.solution(RUN)
        assert solution is not None
        assert (solution.answer, len(solution.steps)) == ("42", 1)
        (summary,) = await store.list()
        assert (summary.task, summary.status, summary.answer, summary.steps) == (
            "6 times 7?",
            "finished",
            "42",
            1,
        )


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
async def test_nobody_else_may_read_a_run(on_disk: StoredRuns, folder: Path) -> None:
    before = os.umask(0)
    try:
        await a_run(on_disk)
    finally:
        os.umask(before)
    for place in places_in(folder):
        assert not stat.S_IMODE(place.stat().st_mode) & 0o077, place


@pytest.mark.parametrize(
    "bad", ["", "x", "../" + RUN, RUN.upper().replace("7", "A"), RUN + "\n", "0" * 31, "/" + RUN[1:]]
)
async def test_an_id_is_never_a_path(runs: StoredRuns, bad: str) -> None:
    await a_run(runs)
    for read in (runs.events(bad), runs.solution(bad), runs.summary(bad)):
        with pytest.raises(ToolNotFound):
            await read
    with pytest.raises(UsageError):
        await runs.begin_run(bad, TASK)


async def test_links_are_not_followed(on_disk: StoredRuns, folder: Path) -> None:
    await a_run(on_disk)
    (folder / f"{run_id(8)}.json").symlink_to(folder / f"{RUN}.json")
    with pytest.raises(ToolNotFound):
        await on_disk.events(run_id(8))
    assert [one.run for one in await on_disk.list()] == [RUN]


async def test_what_looks_like_a_key_is_never_written(
    runs: StoredRuns, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "my-very-own-word")
    said = (
        f"use {KEY} and my-very-own-word\n-----BEGIN PRIVATE KEY-----\nMIIabc+/=\n-----END PRIVATE KEY-----"
    )
    step = Step(number=1, tool="t", arguments={"password": "hunter2", "api_key": "a1b2c3d4e5", "x": [said]})
    await runs.begin_run(RUN, TaskRequest(task=said))
    await runs.append(event(1, text=said, data={"step": step.model_dump(mode="json"), said: 1}))
    await runs.append(finished(2, answer=said))
    written = everything_in(storage)
    assert written.count(b"use ") >= 3
    for word in (KEY, "my-very-own-word", "MIIabc", "hunter2", 'a1b2c3d4e5"'):
        assert word.encode() not in written, word


async def test_damaged_lines_are_passed_over(on_disk: StoredRuns, folder: Path) -> None:
    await on_disk.begin_run(RUN, TASK)
    await on_disk.append(event(1))
    (events,) = [each for each in places_in(folder) if each.suffix == ".events"]
    with events.open("ab") as file:
        file.write(b'{"run": 1}\nnot json\n\xff\xfe\n[' + b"[" * 100_000 + b"\n\n")
    await on_disk.append(event(2))
    with events.open("ab") as file:
        file.write(event(3).model_dump_json().encode()[:-5])
    assert [one.number for one in await on_disk.events(RUN)] == [1, 2]
    (folder / f"{RUN}.json").write_bytes(b"\xff")
    assert await on_disk.list() == []
    for use in (on_disk.events(RUN), on_disk.append(event(4))):
        with pytest.raises(ToolNotFound):
            await use


LEAVES_A_RUN = """
import sys, anyio
from alita_mcp.agent.runs.store import StoredRuns
from alita_mcp.agent.values import TaskEvent, TaskRequest
from alita_mcp.library.storage import open_storage
from alita_mcp.settings import Settings
async def work():
    with open_storage(Settings(home=sys.argv[1], library=sys.argv[2] or None)) as storage:
        runs = StoredRuns(storage)
        await runs.begin_run(sys.argv[3], TaskRequest(task="t"))
        await runs.append(TaskEvent(run=sys.argv[3], number=1, at="", kind="started", text="begun"))
        print("begun", flush=True)
        sys.stdin.read()
anyio.run(work)
"""


@pytest.mark.process
async def test_a_run_whose_process_was_killed_has_died(storage: Storage, runs: StoredRuns) -> None:
    url = storage.database._url if storage.database else ""
    words = [sys.executable, "-c", LEAVES_A_RUN, str(storage.home), url, RUN]
    async with await anyio.open_process(words) as process:
        assert process.stdout is not None
        assert await process.stdout.receive()
        assert (await runs.summary(RUN)).status == "running"
        process.kill()
        await process.wait()
    with anyio.fail_after(60):
        while (await runs.summary(RUN)).status == "running":  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(0.05)
    assert [one.number for one in await runs.events(RUN)] == [1]
    assert (await runs.summary(RUN)).status == "died"
    assert await runs.solution(RUN) is None


async def test_the_runs_that_did_nothing_for_longest_make_room(storage: Storage) -> None:
    runs = StoredRuns(storage, max_runs=3, max_bytes=50_000)
    await runs.begin_run(run_id(0), TASK)  # under way, and the oldest
    for number in range(1, 6):
        await a_run(runs, run_id(number))
        make_older(storage, number)
        await runs.append(event(number, run=run_id(0)))
    assert {one.run for one in await runs.list()} == {run_id(number) for number in (0, 4, 5)}
    await runs.append(event(6, run=run_id(0), text="x" * 48_000))
    await runs.begin_run(run_id(9), TASK)
    assert {one.run for one in await runs.list()} == {run_id(0), run_id(9)}
    assert run_id(5).encode() not in everything_in(storage)


async def test_many_events_at_once_are_each_a_whole_line(runs: StoredRuns) -> None:
    await runs.begin_run(RUN, TASK)
    async with anyio.create_task_group() as tasks:
        for number in range(1, 41):
            tasks.start_soon(runs.append, event(number, text="x" * 5_000))
    assert [one.number for one in await runs.events(RUN)] == list(range(1, 41))


@pytest.mark.slow
async def test_an_event_that_is_far_too_long_is_kept_without_its_data_and_the_end_without_its_steps(
    runs: StoredRuns,
) -> None:
    await runs.begin_run(RUN, TASK)
    long = "x" * (17 << 20)
    await runs.append(event(1, data={"long": long}))
    await runs.append(finished(2, steps=(Step(number=1, tool="t", observation=long),)))
    first, last = await runs.events(RUN)
    assert (first.data, last.data["answer"], last.data["steps"]) == ({}, "42", [])


async def test_a_disk_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LibraryError):
        await StoredRuns(Storage(tmp_path / "file")).begin_run(RUN, TASK)
    runs = StoredRuns(Storage(tmp_path))
    await runs.begin_run(RUN, TASK)
    with pytest.raises(LibraryError):
        await runs.begin_run(RUN, TASK)
    await runs.append(event(1))
    (events,) = (tmp_path / "task_runs").glob("*.events")
    events.unlink()
    events.mkdir()
    with pytest.raises(LibraryError):
        await runs.append(event(1))
    assert await runs.events(RUN) == []


async def test_events_of_an_earlier_version_name_the_agent_that_took_a_step(
    on_disk: StoredRuns, folder: Path
) -> None:
    await a_run(on_disk)
    (place,) = [each for each in places_in(folder) if each.suffix == ".events"]
    place.write_text(place.read_text().replace('"number":', '"agent":"1","number":'))
    assert len(await on_disk.events(RUN)) == 2
    solution = await on_disk.solution(RUN)
    assert solution is not None
    assert solution.steps[0].observation == "42"


async def test_a_person_sees_the_runs_of_all_owners(runs: StoredRuns) -> None:
    """What an owner reaches of another: tests/server/test_owners.py."""
    for run, owner in ((RUN, "token:a"), (run_id(8), USER), (run_id(9), "token-a")):
        await runs.begin_run(run, TASK, owner)
    for whose, own in (("token:a", {RUN}), (USER, {run_id(8)}), (None, {RUN, run_id(8), run_id(9)})):
        assert {one.run for one in await runs.of_owner(whose).list()} == own


async def test_a_strangers_runs_make_room_before_anybody_loses_what_fits_into_a_fair_share(
    storage: Storage,
) -> None:
    runs = StoredRuns(storage, max_runs=6, max_bytes=60_000)

    async def begin(number: int, owner: str, size: int = 10) -> None:
        await runs.begin_run(run_id(number), TASK, owner)
        await runs.append(event(1, run=run_id(number), text="x" * size))
        await runs.append(finished(2, run_id(number)))
        make_older(storage, number)

    for number in (1, 2):
        await begin(number, "token:a")
    for number in range(3, 20):
        await begin(number, "token:b")
    for number in range(20, 23):
        await begin(number, "token:b", 20_000)
    assert {one.run for one in await runs.of_owner("token:a").list()} == {run_id(1), run_id(2)}
    assert run_id(22) in {one.run for one in await runs.of_owner("token:b").list()}


async def test_texts_that_no_database_holds_are_read_back(runs: StoredRuns) -> None:
    await runs.begin_run(RUN, TaskRequest(task="a\x00b"))
    await runs.append(event(1, text="a\x00b \ud800", data={"\udfff": ["\x00", "\ud800"]}))
    await runs.append(finished(2, answer="\x00\ud83d"))
    (first, _) = await runs.events(RUN)
    assert (first.text, first.data) == ("a\x00b ?", {"\ufffd\ufffd\ufffd": ["\x00", "?"]})
    summary = await runs.summary(RUN)
    assert (summary.task, summary.answer) == ("a\x00b", "\x00?")


async def test_files_of_a_run_are_read_elsewhere_and_go_with_it(storage: Storage) -> None:
    runs, elsewhere = StoredRuns(storage, max_runs=1), StoredRuns(storage)
    await runs.begin_run(RUN, TASK, "token:a")
    large = os.urandom(8 << 20)
    for name, data in {"sub/a b é.bin": large, "empty": b""}.items():
        await anyio.to_thread.run_sync(runs.write_file, RUN, name, data)
    owner = elsewhere.of_owner("token:a")
    assert await owner.read_file(RUN, "sub/a b é.bin") == large
    assert (await owner.progress(RUN)).files == {"empty": 0, "sub/a b é.bin": len(large)}
    for reader, name in ((owner, "sub"), (owner, "../request.json"), (elsewhere.of_owner(USER), "empty")):
        with pytest.raises(ToolNotFound):
            await reader.read_file(RUN, name)
    await runs.append(finished(1))
    await runs.begin_run(run_id(8), TASK)
    with pytest.raises(ToolNotFound):
        await owner.read_file(RUN, "empty")
    assert large[:100] not in everything_in(storage)


@pytest.fixture
def shared(postgres_url: str, tmp_path: Path) -> Iterator[Storage]:
    with open_storage(Settings(home=tmp_path / "home", library=postgres_url)) as storage:  # type: ignore[arg-type]
        yield storage


@pytest.fixture
def other(postgres_url: str, tmp_path: Path) -> Iterator[Storage]:
    """The storage of another server."""
    with open_storage(Settings(home=tmp_path / "other", library=postgres_url)) as storage:  # type: ignore[arg-type]
        yield storage


@pytest.mark.postgres
@pytest.mark.extra("team")
async def test_an_unfinished_run_of_another_server_begins_anew_and_that_one_writes_no_more(
    shared: Storage, other: Storage
) -> None:
    dead, living = StoredRuns(shared), StoredRuns(other)
    await dead.begin_run(RUN, TASK, "token:a")
    await dead.append(event(1))
    await anyio.to_thread.run_sync(dead.write_file, RUN, "a.txt", b"1")
    with pytest.raises(LibraryError, match="already"):
        await living.begin_run(RUN, TASK, "token:b")
    await living.begin_run(RUN, TASK, "token:a")
    assert await living.events(RUN) == []
    assert (await living.progress(RUN)).files == {}
    for late in (event(2), finished(3)):
        with pytest.raises(ToolNotFound):
            await dead.append(late)
    with pytest.raises(ToolNotFound):
        await anyio.to_thread.run_sync(dead.write_file, RUN, "late.txt", b"1")
    await living.append(finished(1))
    assert (await dead.progress(RUN)).files == {}
    assert (await dead.summary(RUN)).status == "finished"
    with pytest.raises(LibraryError, match="already"):
        await dead.begin_run(RUN, TASK, "token:a")


@pytest.mark.postgres
@pytest.mark.extra("team")
async def test_what_a_run_did_is_written_once_the_database_is_back(
    shared: Storage, postgres_server: PostgresServer
) -> None:
    runs = StoredRuns(shared)
    await runs.begin_run(RUN, TASK)
    postgres_server.stop("immediate")
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runs.append, event(1))
            tasks.start_soon(anyio.to_thread.run_sync, runs.write_file, RUN, "a.txt", b"1")
            with pytest.raises(LibraryError, match="cannot be reached"):
                await runs.summary(RUN)
            await anyio.to_thread.run_sync(postgres_server.start)
    finally:
        with suppress(CalledProcessError):
            postgres_server.start()
    await runs.append(finished(2))
    assert [each.number for each in await runs.events(RUN)] == [1, 2]
    assert (await runs.progress(RUN)).files == {"a.txt": 1}


@pytest.mark.postgres
@pytest.mark.extra("team")
async def test_a_database_that_stays_away_ends_a_run_with_an_error(
    shared: Storage, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_store, "PATIENCE_S", 0.0)
    runs = StoredRuns(shared)
    await runs.begin_run(RUN, TASK)
    postgres_server.stop("immediate")
    try:
        for write in (runs.append(event(1)), runs.append(finished(2)), runs.begin_run(run_id(8), TASK)):
            with pytest.raises(LibraryError, match="cannot be reached"):
                await write
    finally:
        postgres_server.start()
    assert await runs.events(RUN) == []
    with pytest.raises(ToolNotFound):
        await runs.summary(run_id(8))
