"""`alita solve` over a scripted flow: what it prints, asks, refuses, and how it ends."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import anyio
import pytest

from alita_mcp.agent.values import Claim, Solution, TaskBudget
from alita_mcp.cli.tasks.flow import kept_runs
from alita_mcp.errors import ModelError, UsageError
from alita_mcp.settings import read_settings
from tests.cli.tasks.scripted_flow import PLAN, RUN, ScriptedFlow, options, solved, step

OTHER = "6" * 32
Captured = pytest.CaptureFixture[str]


async def test_the_answer_alone_goes_to_stdout_and_what_happened_to_stderr(capsys: Captured) -> None:
    flow = ScriptedFlow(
        [("plan", "one plan", PLAN), *step(1), *step(2, ok=False)], calls=7, tokens=120, cost=0.5
    )
    assert await solved(flow, "Sum the sales.") == 0
    said = capsys.readouterr()
    assert said.out == "42\n"
    lines = said.err.splitlines()
    assert "solve: preparing the sandbox" in lines
    assert "solve: step: 2. run_code failed" in lines
    assert lines[-1] == "solved: 0 steps, 7 model calls, 120 tokens, 0.5000 USD, 0.0 s; run 555555555555"


async def test_json_is_exactly_one_document_with_the_whole_solution(capsys: Captured) -> None:
    assert await solved(ScriptedFlow(step(1), tools_made=("sum_sales",)), "x", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert Solution.model_validate(told).answer == "42"
    wanted = "answer solved steps tools_made tools_used calls tokens cost sources stopped run"
    assert told.keys() >= set(wanted.split())
    assert told["tools_made"] == ["sum_sales"]


async def test_what_is_not_solved_is_exit_status_1_and_says_why(capsys: Captured) -> None:
    claims = (Claim(claim="it is 42"), Claim(claim="it rains", reference="o1"))
    sources = ({"url": "https://example.org/\x1b[31m"},)
    flow = ScriptedFlow(solved=False, stopped="money", stopped_why="spent", claims=claims, sources=sources)
    assert await solved(flow, "x") == 1
    err = capsys.readouterr().err
    assert "stopped (money): spent" in err
    assert "nothing shows: it is 42" in err
    assert "it rains" not in err
    assert "\x1b" not in err


async def test_options_become_the_request_and_settings_what_they_leave_out(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a\n1")
    flow = ScriptedFlow()
    words = [
        "x",
        "--host",
        "a.org",
        "--host",
        "b.org",
        "--max-steps",
        "5",
        "--max-tokens",
        "0",
        "--max-usd",
        "0.5",
        "--plans",
        "2",
        "--no-memory",
    ]
    await solved(flow, *words, "--file", str(tmp_path / "sales.csv"), "--file", str(tmp_path))
    (request,) = flow.requests
    assert request.files == (tmp_path / "sales.csv", tmp_path)
    assert (request.hosts, request.plans, request.memory) == (("a.org", "b.org"), 2, False)
    assert request.budget == TaskBudget(
        steps=5, tokens=0, usd=0.5, seconds=read_settings().limits.task_seconds
    )
    other = ScriptedFlow(run=OTHER)
    await solved(other, "x")
    assert other.requests[0].memory
    assert other.requests[0].budget.steps == read_settings().limits.task_steps


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x", "--file", "/no/such/file"], "not a file or folder"),
        ([], "no task"),
        (["  "], "no task"),
        (["x", "--plans", "99"], "plans does not fit"),
        (["x", "--max-steps", "999999"], "steps does not fit"),
        (["x" * 20_001], "task does not fit"),
        (["x", "--confirm"], "no terminal"),
    ],
)
async def test_what_does_not_fit_is_said_before_anything_is_done(words: list[str], said: str) -> None:
    flow = ScriptedFlow()
    with pytest.raises(UsageError, match=said):
        await solved(flow, *words)
    assert flow.requests == []


@pytest.mark.parametrize(
    "words",
    [
        *("--max-usd -1", "--max-usd nan", "--max-usd inf", "--max-tokens 1.5", "--max-steps 0"),
        "--yes --confirm",
    ],
)
def test_options_that_make_no_sense_are_refused(words: str) -> None:
    with pytest.raises(SystemExit):
        options("solve", "x", *words.split())


async def test_without_a_model_it_says_what_to_set() -> None:
    with pytest.raises(UsageError, match="ALITA_MODEL"):
        await solved(ScriptedFlow(has_model=False), "x")


async def test_without_a_terminal_a_question_has_no_answer() -> None:
    flow = ScriptedFlow(question="Which year?")
    assert await solved(flow, "x") == 0
    assert flow.answers == [None]


async def test_ctrl_c_ends_the_run_and_prints_the_best_answer_so_far(capsys: Captured) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    for run, number in ((RUN, signal.SIGINT), (OTHER, signal.SIGTERM)):

        async def interrupt(number: int = number) -> None:
            os.kill(os.getpid(), number)
            await anyio.sleep_forever()

        with anyio.fail_after(60):
            assert (
                await solved(ScriptedFlow(step(1), before_the_end=interrupt, run=run), "x", "--json") == 130
            )
        told = json.loads(capsys.readouterr().out)
        assert (told["answer"], told["solved"], told["stopped"]) == ("42", False, "cancelled")
        summary = await kept_runs(read_settings()).summary(run)
        assert (summary.status, summary.stopped) == ("stopped", "cancelled")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


async def test_an_interrupt_before_the_first_event_ends_with_130_and_no_answer(capsys: Captured) -> None:
    class SlowFlow(ScriptedFlow):
        async def solve(self, *_: object, **__: object) -> Solution:
            os.kill(os.getpid(), signal.SIGINT)
            await anyio.sleep_forever()
            raise AssertionError

    with anyio.fail_after(60):
        assert await solved(SlowFlow(), "x") == 130
    assert capsys.readouterr().out == ""


async def test_a_model_that_does_not_answer_is_an_error_of_its_own() -> None:
    async def fail() -> None:
        raise ModelError("The model did not answer.")

    with pytest.RaisesGroup(ModelError):
        await solved(ScriptedFlow(before_the_end=fail), "x")
