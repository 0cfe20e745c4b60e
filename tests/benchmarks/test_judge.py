from __future__ import annotations

import pytest

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.values import Example
from benchmarks.synthesis.judge import BrokenRequest, Unbroken, break_request
from benchmarks.synthesis.mutate import drawn
from benchmarks.synthesis.tool_requests import ToolRequest
from tests.scripted_sandbox import ScriptedSandbox

CODE = "def larger(a: int, b: int) -> bool:\n    return a > b\n"


def example(a: int, b: int, expected: bool) -> Example:
    return Example(arguments={"a": a, "b": b}, expected=expected)


def request(*, hidden: tuple[Example, ...] = (), code: str = CODE) -> ToolRequest:
    tests = (example(2, 1, True), example(1, 2, False))
    return ToolRequest(
        task_id="T/1", name="larger", description="Larger.", code=code, tests=tests, hidden=hidden
    )


def as_written(job: Job) -> RunResult:
    """What the code and each of its mutants would give, told by their text."""
    a, b = job.arguments["a"], job.arguments["b"]
    body = job.code.partition("return ")[2].strip() or job.code.rpartition("    ")[2].strip()
    known = {
        "a > b": a > b,
        "(a >= b)": a >= b,
        "(a <= b)": a <= b,
        "(not (a > b))": not a > b,
        "pass": None,
    }
    return RunResult(status="ok", value=known[body])


async def test_the_tests_notice_a_mistake_that_shows_in_them() -> None:
    broken = await break_request(request(), 1, ScriptedSandbox(as_written))
    assert isinstance(broken, BrokenRequest)
    assert broken.noticed_by == "tests"
    assert broken.request.code == broken.mutation.code != CODE
    assert broken.request.tests == request().tests


async def test_a_mistake_that_only_hidden_examples_notice_is_told_apart() -> None:
    equal = (example(1, 1, False),)
    found = [
        await break_request(request(hidden=equal), seed, ScriptedSandbox(as_written)) for seed in range(30)
    ]
    assert {each.noticed_by for each in found if isinstance(each, BrokenRequest)} == {"tests", "hidden"}
    for each in found:
        assert isinstance(each, BrokenRequest)
        assert (each.noticed_by == "hidden") == (each.mutation.after == "(a >= b)")


async def test_mutants_are_drawn_until_one_is_noticed() -> None:
    seed = next(seed for seed in range(100) if drawn(CODE, f"{seed} T/1")[0].after == "(a >= b)")
    broken = await break_request(request(), seed, ScriptedSandbox(as_written))
    assert isinstance(broken, BrokenRequest)
    assert broken.drawn == 2
    assert broken.mutation == drawn(CODE, f"{seed} T/1")[1]


async def test_a_task_whose_mistakes_nobody_notices_is_reported() -> None:
    sandbox = ScriptedSandbox(
        lambda job: RunResult(status="ok", value=job.arguments["a"] > job.arguments["b"])
    )
    unbroken = await break_request(request(), 1, sandbox)
    assert unbroken == Unbroken(task_id="T/1", why="none of 4 mutants is noticed")


async def test_code_that_the_sandbox_refuses_or_nobody_can_read_is_reported() -> None:
    def refuse(_job: Job) -> RunResult:
        raise SandboxRefused("no yield here", hint="Install Docker.")

    refused = await break_request(request(), 1, ScriptedSandbox(refuse))
    assert isinstance(refused, Unbroken)
    assert "no yield here" in refused.why
    fine = ScriptedSandbox(lambda _job: RunResult(status="ok", value=True))
    unreadable = await break_request(request(code="def larger(:"), 1, fine)
    assert isinstance(unreadable, Unbroken)
    assert "does not parse" in unreadable.why


async def test_a_sandbox_that_fails_is_no_verdict() -> None:
    def fail(_job: Job) -> RunResult:
        raise SandboxError("the engine is gone")

    with pytest.raises(SandboxError):
        await break_request(request(), 1, ScriptedSandbox(fail))
