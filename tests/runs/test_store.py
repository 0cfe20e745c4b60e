"""Runs are found again while they may be, without a value on the disk unless that is allowed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from alita_mcp.errors import ToolNotFound
from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.owners import USER
from alita_mcp.runs.history import store as store_module
from alita_mcp.runs.history.store import RunStore, open_run_store
from alita_mcp.settings import Settings
from tests.library.factory import found
from tests.runs.runs import key_of, ran

CODE = "n = {}\nn"
KEY = key_of(CODE.format(1))
SECRET = "sk-ant-" + "a1B2c3D4e5" * 3


async def opened(home: Path, *, keep: bool, serves: bool = False) -> RunStore:
    return await open_run_store(Settings(home=home, keep_values=keep), serves=serves)


async def test_a_run_is_found_by_its_id_and_with_others_of_its_program_by_its_owner(tmp_path: Path) -> None:
    store = await opened(tmp_path, keep=False)
    first, second, others = (ran(CODE.format(n), n) for n in (1, 2, 3))
    store.add_run(first, KEY, "one")
    store.add_run(second, KEY, "one")
    store.add_run(others, KEY, "other")
    assert store.find_run(others.id, "other") == others
    with pytest.raises(ToolNotFound, match="There is no run"):
        store.find_run(others.id, "one")
    assert store.same_program(KEY, "one") == [first, second]
    assert store.same_program("0" * 32, "one") == []
    assert found(tmp_path, "*") == []


@pytest.mark.parametrize("run_id", ["0" * 32, "", "*", "../../x", "A" * 32, "0" * 400])
@pytest.mark.parametrize("keep", [False, True])
async def test_an_unknown_run_is_told_with_what_to_do(tmp_path: Path, run_id: str, keep: bool) -> None:
    store = await opened(tmp_path, keep=keep)
    store.add_run(ran("1", 1), key_of("1"), "")
    with pytest.raises(ToolNotFound, match="There is no run") as refused:
        store.find_run(run_id, "")
    assert ("ALITA_KEEP_VALUES=true" in refused.value.hint) is not keep


async def test_kept_runs_are_there_for_the_next_process_and_for_their_owner_alone(tmp_path: Path) -> None:
    run = ran(CODE.format(1), {"a": [1.5, None, "é\ud800"]}, arguments={"x": 1})
    before = await opened(tmp_path, keep=True)
    users = run.model_copy(update={"id": "f" * 32})
    before.add_run(run, KEY, "token:0123456789abcdef")
    before.add_run(users, KEY, USER)
    store = await opened(tmp_path, keep=True)
    for owner, own, others in (("token:0123456789abcdef", run, users), (USER, users, run)):
        assert store.find_run(own.id, owner) == own
        assert store.same_program(KEY, owner) == [own]
        with pytest.raises(ToolNotFound, match="There is no run"):
            store.find_run(others.id, owner)
    assert store.same_program(KEY, "token:other") == []
    if os.name != "nt":
        places = [tmp_path / "code-runs", *(tmp_path / "code-runs").iterdir()]
        assert {place.stat().st_mode & 0o077 for place in places} == {0}


@pytest.mark.parametrize(
    "run",
    [
        ran(f"key = {SECRET!r}\n1", 1),
        ran("1", SECRET),
        ran("password = 'hunter22'", 1),
        ran("1", float("nan")),
        ran("1", "x" * store_module.LARGEST_BYTES),
    ],
    ids=["key", "result", "password", "no JSON", "large"],
)
async def test_what_must_not_lie_on_the_disk_stays_in_memory(
    tmp_path: Path, run: store_module.RecordedRun
) -> None:
    store = await opened(tmp_path, keep=True)
    store.add_run(run, key_of(run.code), "")
    assert not (tmp_path / "code-runs").exists()
    assert store.find_run(run.id, "") is run


@pytest.mark.parametrize("serves", [False, True])
async def test_a_server_that_may_not_keep_values_removes_those_of_before(
    tmp_path: Path, serves: bool
) -> None:
    (await opened(tmp_path, keep=True)).add_run(ran("1", 1), key_of("1"), "")
    (tmp_path / "code-runs" / "runs-1-1.sqlite3").write_text("of an older version")
    await opened(tmp_path, keep=True, serves=serves)
    assert len(list((tmp_path / "code-runs").iterdir())) == 2
    await opened(tmp_path, keep=False, serves=serves)
    assert (tmp_path / "code-runs").exists() is not serves


async def test_memory_is_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_RUNS", 2)
    store = RunStore(None)
    runs = [ran(CODE.format(n), n) for n in range(3)]
    for run in runs:
        store.add_run(run, KEY, "")
    assert store.same_program(KEY, "") == runs[1:]
    monkeypatch.setattr(store_module, "MAX_BYTES", 2_000)
    large = ran(CODE.format(9), "x" * 1_500)
    store.add_run(large, KEY, "")
    assert store.same_program(KEY, "") == [large]
    store.add_run(ran(CODE.format(9), "x" * 2_500), KEY, "")
    assert store.same_program(KEY, "") == []


def test_the_disk_is_bounded_and_only_the_newest_runs_of_a_program_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "MAX_LIKE", 2)
    store = RunStore(BoundedFolder(tmp_path, 3, 100_000))
    runs = [ran(CODE.format(n), n) for n in range(5)]
    for number, run in enumerate(runs):
        store.add_run(run, KEY, USER)
        os.utime(tmp_path / f"{KEY}-{run.id}.json", ns=(number, number))
    assert len(list(tmp_path.iterdir())) == 3
    assert RunStore(BoundedFolder(tmp_path, 3, 100_000)).same_program(KEY, USER) == runs[3:]


def test_damaged_files_and_a_disk_that_refuses_hold_nothing_up(tmp_path: Path) -> None:
    folder = tmp_path / "code-runs"
    store = RunStore(BoundedFolder(folder, 3, 100_000))
    run = ran(CODE.format(1), 1)
    store.add_run(run, KEY, USER)
    (folder / f"{KEY}-{run.id}.json").write_text("{")
    assert RunStore(BoundedFolder(folder, 3, 100_000)).same_program(KEY, USER) == []
    (tmp_path / "file").write_text("")
    refusing = RunStore(BoundedFolder(tmp_path / "file", 3, 100_000))
    refusing.add_run(run, KEY, USER)
    assert refusing.find_run(run.id, USER) is run
