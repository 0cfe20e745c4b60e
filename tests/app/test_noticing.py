"""Programs that come back are noticed: once a program and session, with a call that works, and by no false alarm."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.app.learning import ClientIdentity
from alita_mcp.app.runs import noticing as noticing_module
from alita_mcp.app.runs.noticing import Noticing
from alita_mcp.library.runs.code_runs import CodeRuns
from alita_mcp.runs.recorded_run import RecordedRun, ResultKind

ONE, OTHER = ClientIdentity("one", "tester 1"), ClientIdentity("other", "tester 2")
PROGRAM = """
words = {words!r}
longest = {longest}
result = [word.upper() for word in words if len(word) <= longest]
"""
UNLIKE = """
import datetime
def week(text):
    return datetime.date.fromisoformat(text).isocalendar()[1]
result = {{day: week(day) for day in {days!r}}}
"""
OBJECT = """
class Point:
    def __init__(self, x):
        self.x = x
    def __repr__(self):
        return f"<Point {{self.x}}>"
result = Point({number})
"""


def ran(code: str, result: Any = None, kind: ResultKind = "json", **facts: Any) -> RecordedRun:
    return RecordedRun(
        id=secrets.token_hex(16),
        at="2026-11-23T15:00:00Z",
        code=code,
        result=result,
        result_kind="none" if result is None else kind,
        **facts,
    )


def shouted(number: int, **facts: Any) -> RecordedRun:
    """One of a family of like runs."""
    words = ["a" * length for length in range(1, number + 3)]
    found = [word.upper() for word in words if len(word) <= number]
    return ran(PROGRAM.format(words=words, longest=number), found, **facts)


@asynccontextmanager
async def noticing_in(folder: Path, *, keep: bool = False) -> AsyncIterator[tuple[Noticing, CodeRuns]]:
    runs = CodeRuns(folder, keep_values=keep)
    try:
        yield Noticing(runs, 3), runs
    finally:
        runs.close()


def ids_in(line: str) -> list[str]:
    return re.findall(r"[0-9a-f]{32}", line)


async def test_the_third_run_with_other_values_says_how_to_keep_the_code(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, runs):
        several = [shouted(number) for number in (1, 2, 3)]
        lines = [await noticing.noticed(run, ONE) for run in several]
        assert lines[:2] == ["", ""]
        assert lines[2].startswith("ran 3 times with other values: `synthesize_tool` with from_run [")
        assert ids_in(lines[2]) == [run.id for run in several]
        assert re.search(r", as `\w+\(words: list\[str\], longest: int\) -> list\[str\]`$", lines[2])
        assert [await runs.read(each) for each in ids_in(lines[2])] == several


async def test_it_is_said_once_a_program_and_session(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, _):
        lines = [await noticing.noticed(shouted(number), ONE) for number in range(1, 8)]
        assert [bool(line) for line in lines] == [False, False, True, False, False, False, False]
        days = [["2026-01-01"], ["2026-02-02", "2026-03-03"], ["2025-05-05"]]
        again = [await noticing.noticed(ran(UNLIKE.format(days=each), {each[0]: 1}), ONE) for each in days]
        assert [bool(line) for line in again] == [False, False, True]


async def test_another_client_hears_of_its_own_runs_only(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, _):
        for number in (1, 2, 3):
            await noticing.noticed(shouted(number), ONE)
        mine = shouted(4)
        line = await noticing.noticed(mine, OTHER)
        assert line.startswith("ran 4 times")
        assert ids_in(line) == [mine.id]


async def test_the_same_values_every_time_are_no_reason_for_a_tool(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, _):
        assert [await noticing.noticed(shouted(2), ONE) for _ in range(6)] == [""] * 6
        assert await noticing.noticed(shouted(3), ONE) == ""
        assert await noticing.noticed(shouted(1), ONE) != ""


@pytest.mark.parametrize("facts", [{"status": "error", "error_type": "ValueError"}, {"session": "s1"}])
async def test_failing_runs_and_steps_of_sessions_do_not_count(tmp_path: Path, facts: dict[str, Any]) -> None:
    async with noticing_in(tmp_path) as (noticing, runs):
        for number in range(1, 6):
            assert await noticing.noticed(shouted(number, **facts), ONE) == ""
        assert len(runs.all()) == 5
        assert await noticing.noticed(shouted(6), ONE) == ""


async def test_small_edits_and_other_names_do_not_hide_a_program(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, _):
        await noticing.noticed(shouted(1), ONE)
        await noticing.noticed(
            ran("# again\n" + shouted(2).code.replace("longest", "limit"), ["A", "AA"]), ONE
        )
        line = await noticing.noticed(shouted(3), ONE)
        assert line.startswith("ran 3 times")


async def test_code_that_does_not_parse_is_remembered_and_not_compared(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, runs):
        for code in ("def (", "\0", "(" * 5_000, "x = '\ud800'".encode("utf-8", "replace").decode()):
            await noticing.noticed(ran(code, status="error", error_type="SyntaxError"), ONE)
        assert len(runs.all()) == 4


async def test_programs_of_which_a_tool_was_made_are_not_proposed_again(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, runs):
        first = shouted(1)
        await noticing.noticed(first, ONE)
        await runs.record_made([first.id], "shout")
        assert [await noticing.noticed(shouted(number), ONE) for number in (2, 3, 4)] == [""] * 3


@pytest.mark.parametrize("keep", [False, True])
async def test_runs_of_other_processes_count_and_are_named_where_they_can_be_read(
    tmp_path: Path, keep: bool
) -> None:
    async with noticing_in(tmp_path, keep=keep) as (before, _):
        earlier = [shouted(1), shouted(2)]
        for run in earlier:
            await before.noticed(run, ONE)
    async with noticing_in(tmp_path, keep=keep) as (noticing, runs):
        mine = shouted(3)
        line = await noticing.noticed(mine, ONE)
        assert line.startswith("ran 3 times")
        assert ids_in(line) == [run.id for run in ([*earlier, mine] if keep else [mine])]
        assert [(await runs.read(each)).id for each in ids_in(line)] == ids_in(line)


async def test_what_syntax_alone_cannot_generalise_is_not_proposed(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, _):
        several = [
            ran(OBJECT.format(number=number), f"<Point {number}>", kind="repr") for number in (1, 2, 3)
        ]
        lines = [await noticing.noticed(run, ONE) for run in several]
        assert lines == ["", "", ""]


async def test_a_run_too_large_for_the_memory_is_not_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alita_mcp.library.runs.memory.MAX_BYTES", 100)
    async with noticing_in(tmp_path) as (noticing, _):
        assert [await noticing.noticed(shouted(number), ONE) for number in range(1, 6)] == [""] * 5


async def test_what_was_said_to_whom_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noticing_module, "MAX_CLIENTS", 1)
    monkeypatch.setattr(noticing_module, "MAX_TOLD", 1)
    async with noticing_in(tmp_path) as (noticing, _):
        said = []
        for number, identity in enumerate([ONE, ONE, ONE, ONE, OTHER, ONE, ONE], 1):
            said.append(bool(await noticing.noticed(shouted(number), identity)))
        assert said == [False, False, True, False, True, True, False]


async def test_ten_thousand_runs_leave_the_answers_quick_and_the_disk_bounded(tmp_path: Path) -> None:
    async with noticing_in(tmp_path) as (noticing, runs):
        for number in range(10_000):
            runs.note(ran(f"x = {number}", number), {"features": {f"{number:05x}": 1, "00": 2}}, f"d{number}")
            if number % 250 == 0:
                runs.write()
        lines = [await noticing.noticed(shouted(number), ONE) for number in (1, 2, 3)]
        assert json.loads(lines[2].split("from_run ")[1].split(", as")[0]) == ids_in(lines[2])
