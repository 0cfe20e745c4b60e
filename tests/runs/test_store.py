"""Runs are found again while there is room for them."""

from __future__ import annotations

import pytest

from alita_mcp.errors import ToolNotFound
from alita_mcp.runs.history import store as store_module
from alita_mcp.runs.history.store import RunStore
from tests.runs.runs import key_of, ran

CODE = "n = {}\nn"
KEY = key_of(CODE.format(1))


def test_a_run_is_found_by_its_id_and_with_others_of_its_program_by_its_owner() -> None:
    store = RunStore()
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
def test_an_unknown_run_is_told_with_what_to_do(run_id: str) -> None:
    store = RunStore()
    store.add_run(ran("1", 1), key_of("1"), "")
    with pytest.raises(ToolNotFound, match="There is no run") as refused:
        store.find_run(run_id, "")
    assert "as long as the server" in refused.value.hint


def test_memory_is_bounded_in_number_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_RUNS", 2)
    store = RunStore()
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
