"""`alita solve` over a scripted flow: what it prints, asks, refuses, and how it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest

from alita_mcp.agent.values import Claim, Solution, TaskBudget
from alita_mcp.errors import ModelError
from alita_mcp.settings import read_settings
from tests.cli.tasks.conftest import Solve
from tests.cli.tasks.scripted_flow import PLAN, RUN, ScriptedFlow, kept_runs, step
from tests.tables import each_case


def test_the_answer_alone_goes_to_stdout_and_what_happened_to_stderr(solve: Solve) -> None:
    flow = ScriptedFlow(
        [("plan", "one plan", PLAN), *step(1), *step(2, ok=False)], calls=7, tokens=120, cost=0.5
    )
    said = solve(flow, "Sum the sales.")
    assert (said.status, said.out) == (0, "42\n")
    lines = said.err.splitlines()
    assert "solve: preparing the sandbox" in lines
    assert "solve: step: 2. run_code failed" in lines
    assert lines[-1] == "solved: 0 steps, 7 model calls, 120 tokens, 0.5000 USD, 0.0 s; run 555555555555"


def test_json_is_exactly_one_document_with_the_whole_solution(solve: Solve) -> None:
    told = solve(ScriptedFlow(step(1), tools_made=("sum_sales",)), "x", "--json").json
    assert Solution.model_validate(told).answer == "42"
    wanted = "answer solved steps tools_made tools_used calls tokens cost sources stopped run"
    assert told.keys() >= set(wanted.split())
    assert told["tools_made"] == ["sum_sales"]


def test_what_is_not_solved_is_exit_status_1_and_says_why(solve: Solve) -> None:
    claims = (Claim(claim="it is 42"), Claim(claim="it rains", reference="o1"))
    sources = ({"url": "https://example.org/\x1b[31m"},)
    said = solve(
        ScriptedFlow(solved=False, stopped="money", stopped_why="spent", claims=claims, sources=sources)
    )
    assert said.status == 1
    assert "stopped (money): spent" in said.err
    assert "unsupported: it is 42" in said.err
    assert "it rains" not in said.err
    assert "\x1b" not in said.err


def test_options_become_the_request_and_settings_what_they_leave_out(solve: Solve, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a\n1")
    flow = ScriptedFlow()
    words = "x --host a.org --host b.org --max-steps 5 --max-tokens 0 --max-usd 0.5 --plans 2 --no-memory"
    solve(flow, *words.split(), "--file", str(tmp_path / "sales.csv"), "--file", str(tmp_path))
    (request,) = flow.requests
    assert request.files == (tmp_path / "sales.csv", tmp_path)
    assert (request.hosts, request.plans, request.memory) == (("a.org", "b.org"), 2, False)
    seconds = read_settings().limits.task_seconds
    assert request.budget == TaskBudget(steps=5, tokens=0, usd=0.5, seconds=seconds)
    other = ScriptedFlow(run="6" * 32)
    solve(other)
    assert other.requests[0].memory
    assert other.requests[0].budget.steps == read_settings().limits.task_steps


@each_case(
    "words, says",
    [
        (["x", "--file", "/no/such/file"], "no file or folder"),
        ([" "], "no task"),
        (["x", "--plans", "99"], "for plans"),
        (["x", "--max-steps", "99999"], "for steps"),
        (["x" * 20_001], "for task"),
        (["x", "--max-usd", "-1"], "--max-usd"),
        (["x", "--max-usd", "nan"], "--max-usd"),
        (["x", "--max-usd", "inf"], "--max-usd"),
        (["x", "--max-tokens", "1.5"], "--max-tokens"),
        (["x", "--max-steps", "0"], "--max-steps"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_done(words: list[str], says: str, solve: Solve) -> None:
    flow = ScriptedFlow()
    said = solve(flow, *words)
    assert (said.status, said.out, flow.requests) == (2, "", [])
    assert says in said.err


def test_without_a_model_it_says_what_to_set(solve: Solve) -> None:
    said = solve(ScriptedFlow(has_model=False))
    assert (said.status, "ALITA_MODEL" in said.err) == (2, True)


def test_without_a_terminal_a_question_has_no_answer(solve: Solve) -> None:
    flow = ScriptedFlow(question="Which year?")
    assert solve(flow).status == 0
    assert flow.answers == [None]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_run_and_prints_the_best_answer_so_far(solve: Solve, number: int) -> None:
    async def interrupt() -> None:
        os.kill(os.getpid(), number)
        with anyio.fail_after(60):
            await anyio.sleep_forever()

    said = solve(ScriptedFlow(step(1), before_the_end=interrupt), "x", "--json")
    assert said.status == 130
    assert (said.json["answer"], said.json["solved"], said.json["stopped"]) == ("42", False, "cancelled")
    summary = anyio.run(kept_runs().summary, RUN)
    assert (summary.status, summary.stopped) == ("stopped", "cancelled")


def test_an_interrupt_before_the_first_event_ends_with_130_and_no_answer(solve: Solve) -> None:
    class SlowFlow(ScriptedFlow):
        async def solve(self, *_: object, **__: object) -> Solution:
            os.kill(os.getpid(), signal.SIGINT)
            with anyio.fail_after(60):
                await anyio.sleep_forever()
            raise AssertionError

    said = solve(SlowFlow())
    assert (said.status, said.out) == (130, "")


def test_a_model_that_does_not_answer_is_an_error_of_its_own(solve: Solve) -> None:
    async def fail() -> None:
        raise ModelError("The model did not answer.")

    said = solve(ScriptedFlow(before_the_end=fail))
    assert (said.status, said.err.splitlines()[-1]) == (8, "error: The model did not answer.")
