"""`alita runs` over runs that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_mcp.agent.values import TaskEvent, TaskRequest
from alita_mcp.cli.main import main
from alita_mcp.cli.output import Output
from alita_mcp.cli.tasks.flow import kept_runs
from alita_mcp.cli.tasks.listing import show_runs
from alita_mcp.errors import ToolNotFound
from alita_mcp.settings import read_settings
from tests.cli.tasks.scripted_flow import PLAN, RUN, ScriptedFlow, options, solved, step

Captured = pytest.CaptureFixture[str]


async def shown(*words: str) -> int:
    said = options("runs", *words)
    return await show_runs(said, Output(as_json=said.as_json))


async def test_runs_are_listed_with_how_they_ended(capsys: Captured) -> None:
    assert await shown() == 0
    assert capsys.readouterr().out == "No tasks were worked on yet.\n"
    await solved(ScriptedFlow(step(1), cost=0.25), "Sum\x1b[31m the\nsales.")
    other = "6" * 32
    runs = kept_runs(read_settings())
    await runs.begin_run(other, TaskRequest(task="another"))
    capsys.readouterr()
    await shown()
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == [other[:12], *first.split()[1:3], "running", "0", "steps", "0", "s", "another"]
    assert second.endswith("Sum\\u001b[31m the sales.")
    assert "solved" in second
    assert "0.2500 USD" in second
    await shown("--json", "--limit", "1")
    told = json.loads(capsys.readouterr().out)
    assert [(run["run"], run["status"]) for run in told["runs"]] == [(other, "running")]


async def test_a_log_tells_all_that_happened_and_escapes_what_strangers_wrote(capsys: Captured) -> None:
    hostile = step(1, observation="line\n\x1b]0;owned\x07 second")
    await solved(ScriptedFlow([("plan", "why", PLAN), ("plan", "odd", {"chosen": [1]}), *hostile]), "x")
    capsys.readouterr()
    assert await shown(RUN[:4]) == 0
    out = capsys.readouterr().out
    assert "10:00:00  started: Sum the sales." in out
    assert "1. read the sales (reuse read_csv)" in out
    assert "  | line\n  | \\u001b]0;owned\\u0007 second" in out
    assert "\x1b" not in out
    await shown(RUN, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["run"]["answer"], told["events"][-1]["kind"]) == ("42", "finished")


async def test_a_log_that_is_followed_ends_with_the_run(capsys: Captured) -> None:
    await solved(ScriptedFlow(step(1)), "x")
    capsys.readouterr()
    await shown(RUN, "--follow", "--json")
    events = [TaskEvent.model_validate_json(line) for line in capsys.readouterr().out.splitlines()]
    assert [event.number for event in events] == [1, 2, 3, 4]
    await shown(RUN, "--follow")
    assert "finished: 42" in capsys.readouterr().out


async def test_a_run_is_named_by_its_beginning_where_that_is_one(capsys: Captured) -> None:
    runs = kept_runs(read_settings())
    for end in "ab":
        await runs.begin_run("5" * 31 + end, TaskRequest(task="x"))
    for prefix, said in (("55", "Several"), ("", "no run"), ("../", "no run"), ("7", "no run")):
        with pytest.raises(ToolNotFound, match=said):
            await shown(prefix)
    assert await shown("5" * 31 + "a") == 0
    assert capsys.readouterr().out == ""


def test_the_commands_are_there(home: Path, capsys: Captured) -> None:
    assert main(["runs"]) == 0
    assert main(["runs", "--follow"]) == 2
    assert main(["runs", "abc"]) == 2
    assert "alita runs" in capsys.readouterr().err
    assert main(["solve", " "]) == 2
    assert not home.exists()
