"""Programs that come back are noticed: once a program and client, with what varied, and by no false alarm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history import hints as hints_module
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.history.store import RunStore
from tests.runs.runs import key_of, ran

PROGRAM = "words = {words!r}\nlongest = {longest}\n[word.upper() for word in words if len(word) <= longest]\n"


def shouted(number: int, **facts: Any) -> RecordedRun:
    """One of several runs of a program."""
    words = ["a" * length for length in range(1, number + 3)]
    result = [word.upper() for word in words if len(word) <= number]
    return ran(PROGRAM.format(words=words, longest=number), result, **facts)


@pytest.fixture
def hints() -> RunHints:
    return RunHints(RunStore(None))


def test_the_third_run_says_what_varied_and_which_call_keeps_it(hints: RunHints) -> None:
    runs = [shouted(number) for number in (1, 2, 3, 4)]
    *before, line, after = [hints.add_run(run, "one") for run in runs]
    assert before == ["", ""]
    ids = json.dumps([run.id for run in runs[:3]])
    assert line == (
        "this program ran 3 times with different values of words, longest. To keep it as a tool "
        f"`(words: list[str], longest: int) -> list[str]`, call `synthesize_tool` with a name and from_run {ids}"
    )
    assert after == ""


def test_values_of_arguments_count_too(hints: RunHints) -> None:
    runs = [ran("n * 2", n * 2, arguments={"n": n}) for n in (1, 2, 3)]
    *_, line = [hints.add_run(run, "one") for run in runs]
    assert "different values of n. " in line


@pytest.mark.parametrize(
    "runs",
    [
        [shouted(1), shouted(1), shouted(1), shouted(1)],
        [shouted(1), shouted(2), shouted(3, status="error", error_type="ValueError")],
        [shouted(1), shouted(2), shouted(3, session="s")],
        [shouted(1), shouted(2), ran("x = 3\nx", 3)],
        [ran(f"n = {n}\nobject()", "<object>", result_kind="repr") for n in (1, 2, 3)],
        [ran(f"n = {n}\nimport alita_tools", n) for n in (1, 2, 3)],
        [ran("n = (", None, status="error", error_type="SyntaxError") for _ in range(3)],
        [ran("f'{1}" + "x" * 10_000 + "'", "x", arguments={"n": n}) for n in (1, 2, 3)],
    ],
    ids=["same values", "failed", "session", "other program", "no JSON", "tools", "broken", "long"],
)
def test_there_is_no_hint_without_three_runs_that_make_a_function(
    hints: RunHints, runs: list[RecordedRun]
) -> None:
    assert [hints.add_run(run, "one") for run in runs] == [""] * len(runs)


def test_each_client_is_told_of_its_own_runs_alone(hints: RunHints) -> None:
    for number in (1, 2):
        assert hints.add_run(shouted(number), "one") == ""
    assert hints.add_run(shouted(3), "other") == ""
    assert hints.add_run(shouted(4), "one") != ""
    assert hints.add_run(shouted(5), "other") == ""
    assert hints.add_run(shouted(6), "other") != ""


def test_a_program_of_which_a_tool_was_made_is_not_proposed() -> None:
    store = RunStore(None)
    hints = RunHints(store)
    store.record_made(key_of(shouted(1).code))
    assert [hints.add_run(shouted(number), "one") for number in (1, 2, 3)] == [""] * 3


def test_runs_that_are_kept_on_the_disk_count_for_the_next_process(tmp_path: Path) -> None:
    folder = BoundedFolder(tmp_path, 100, 100_000)
    before, after = RunHints(RunStore(folder)), RunHints(RunStore(folder))
    first = [shouted(number) for number in (1, 2)]
    for run in first:
        before.add_run(run, "one")
    assert after.add_run(shouted(4), "other") == ""
    last = shouted(3)
    line = after.add_run(last, "one")
    assert re.findall("[0-9a-f]{32}", line) == [run.id for run in (*first, last)]


def test_the_newest_runs_are_named_and_memory_of_hints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints_module, "MAX_EXAMPLES", 2)
    monkeypatch.setattr(hints_module, "MAX_HINTED", 1)
    hints = RunHints(RunStore(None))
    runs = [shouted(number) for number in (1, 2, 3)]
    *_, line = [hints.add_run(run, "one") for run in runs]
    assert re.findall("[0-9a-f]{32}", line) == [run.id for run in runs[1:]]
    for n in (1, 2, 3):
        other = hints.add_run(ran(f"n = {n}\nn", n), "one")
    assert other != ""
    assert hints.add_run(shouted(4), "one") != "", "the first hint was forgotten"
