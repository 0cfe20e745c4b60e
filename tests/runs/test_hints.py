"""Programs that come back are noticed: once a program and client, with what varied, and by no false alarm."""

from __future__ import annotations

import re
from typing import Any

import pytest

from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history import hints as hints_module
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.history.store import RunStore
from tests.runs.runs import ran

PROGRAM = "words = {words!r}\nlongest = {longest}\n[word.upper() for word in words if len(word) <= longest]\n"


def shouted(number: int, **facts: Any) -> RecordedRun:
    """One of several runs of a program."""
    words = ["a" * length for length in range(1, number + 3)]
    result = [word.upper() for word in words if len(word) <= number]
    return ran(PROGRAM.format(words=words, longest=number), result, **facts)


@pytest.fixture
def hints() -> RunHints:
    return RunHints(RunStore())


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


def test_the_newest_runs_are_named_and_memory_of_hints_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints_module, "MAX_EXAMPLES", 2)
    monkeypatch.setattr(hints_module, "MAX_HINTED", 1)
    hints = RunHints(RunStore())
    runs = [shouted(number) for number in (1, 2, 3)]
    *_, line = [hints.add_run(run, "one") for run in runs]
    assert re.findall("[0-9a-f]{32}", line) == [run.id for run in runs[1:]]
    for n in (1, 2, 3):
        other = hints.add_run(ran(f"n = {n}\nn", n), "one")
    assert other != ""
    assert hints.add_run(shouted(4), "one") != "", "the first hint was forgotten"
