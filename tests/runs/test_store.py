"""Runs are found again while there is room for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.storage import Storage, open_storage
from alita_mcp.runs.history import store as store_module
from alita_mcp.runs.history.store import RunStore, SharedRunStore
from alita_mcp.settings import Settings
from tests.postgres_cluster import PostgresServer
from tests.runs.runs import key_of, ran
from tests.stored import everything_in

CODE = "n = {}\nn"
KEY = key_of(CODE.format(1))


@pytest.fixture
def store(storage: Storage) -> RunStore:
    return make_store(storage)


def make_store(storage: Storage) -> RunStore:
    return RunStore() if storage.database is None else SharedRunStore(storage)


def test_a_run_is_found_by_its_id_and_with_others_of_its_program_by_its_owner(store: RunStore) -> None:
    first, second, others = (ran(CODE.format(n), n) for n in (1, 2, 3))
    store.add_run(first, KEY, "one")
    store.add_run(second, KEY, "one")
    store.add_run(others, KEY, "other")
    assert store.find_run(others.id, "other") == others
    with pytest.raises(ToolNotFound, match="There is no run"):
        store.find_run(others.id, "one")
    assert store.same_program(KEY, "one") == [first, second]
    assert store.same_program("0" * 32, "one") == []


@pytest.mark.parametrize("run_id", ["0" * 32, "", "*", "../../x", "A" * 32, "0" * 400])
def test_an_unknown_run_is_told_with_what_to_do(run_id: str, store: RunStore) -> None:
    store.add_run(ran("1", 1), key_of("1"), "")
    with pytest.raises(ToolNotFound, match="There is no run") as refused:
        store.find_run(run_id, "")
    assert "as long as the server" in refused.value.hint


def test_memory_is_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch, storage: Storage) -> None:
    monkeypatch.setattr(store_module, "MAX_RUNS", 2)
    store = make_store(storage)
    runs = [ran(CODE.format(n), n) for n in range(3)]
    for run in runs:
        store.add_run(run, KEY, "")
    assert store.same_program(KEY, "") == runs[1:]
    monkeypatch.setattr(store_module, "MAX_BYTES", 2_000)
    store = make_store(storage)
    large = ran(CODE.format(9), "x" * 1_500)
    store.add_run(large, KEY, "")
    assert store.same_program(KEY, "") == [large]
    store.add_run(ran(CODE.format(9), "x" * 2_500), KEY, "")
    assert store.same_program(KEY, "") == []


@pytest.fixture
def shared(postgres_url: str, home: Path) -> Iterator[Storage]:
    with open_storage(Settings(home=home, library=postgres_url)) as storage:
        yield storage


@pytest.mark.postgres
@pytest.mark.extra("team")
def test_a_run_of_another_server_is_found_unless_it_holds_a_secret(shared: Storage) -> None:
    one, other = SharedRunStore(shared), SharedRunStore(shared)
    odd = ran(CODE.format(1), ["\ud800\x00", float("inf"), None])
    secret = ran(CODE.format(2), "sk-proj-" + "a1B2" * 8)
    for run in (odd, secret):
        one.add_run(run, KEY, "one")
    assert other.find_run(odd.id, "one") == odd
    assert other.same_program(KEY, "one") == [odd]
    assert one.find_run(secret.id, "one") == secret
    for run, owner in ((secret, "one"), (odd, "other")):
        with pytest.raises(ToolNotFound):
            other.find_run(run.id, owner)
    assert b"sk-proj" not in everything_in(shared)


@pytest.mark.postgres
@pytest.mark.extra("team")
def test_runs_of_this_server_are_known_while_the_database_is_away(
    shared: Storage, postgres_server: PostgresServer
) -> None:
    store, run = SharedRunStore(shared), ran(CODE.format(1), 1)
    postgres_server.stop("immediate")
    try:
        store.add_run(run, KEY, "")
        assert store.same_program(KEY, "") == [run]
        assert store.find_run(run.id, "") == run
        with pytest.raises(LibraryError, match="cannot be reached"):
            store.find_run("0" * 32, "")
    finally:
        postgres_server.start()
    with pytest.raises(ToolNotFound):
        store.find_run("0" * 32, "")
