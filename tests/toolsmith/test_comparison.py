"""Comparison of two tools: signatures, and runs side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.toolsmith.duplicates.comparison import (
    ENOUGH_LOST,
    ComparedTool,
    Comparison,
    inputs_for,
    parameter_map,
    takes,
)
from alita_mcp.values import Example, Limits
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.scripted_sandbox import ScriptedSandbox

WAIT_S = 300
NUMBERS = [{"number": number} for number in range(12)]
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
LIMITS = Limits(wall_seconds=1.5, cpu_seconds=1.5)
Behaviour = Callable[[int], RunResult]


def compared(code: str, rehearsal: Rehearsal) -> ComparedTool:
    job = Job(code=code, function="tool", arguments={}, limits=LIMITS)
    return ComparedTool(job, {"number": "number"}, rehearsal)


def both(mine: Behaviour, theirs: Behaviour, *, shown: bool = True) -> tuple[Comparison, ScriptedSandbox]:
    sandbox = ScriptedSandbox(
        lambda job: (mine if job.code == "mine" else theirs)(int(job.arguments["number"]))
    )
    rehearsal = Rehearsal(sandbox)
    pair = Comparison(compared("mine", rehearsal), compared("theirs", rehearsal), lambda _: shown)
    return pair, sandbox


def gives(value: Any) -> RunResult:
    return RunResult(status="ok", value=value)


def double(number: int) -> RunResult:
    return gives(2 * number)


def refuse(_number: int) -> RunResult:
    return RunResult(status="error", error_type="ValueError", message="no")


def run_out_of_time(_number: int) -> RunResult:
    return RunResult(status="timeout", message="wall")


def either(condition: Callable[[int], bool], one: Behaviour, other: Behaviour) -> Behaviour:
    return lambda number: (one if condition(number) else other)(number)


async def is_same(pair: Comparison, inputs: list[dict[str, Any]] = NUMBERS) -> bool:
    with anyio.fail_after(WAIT_S):
        await pair.compare_on(inputs)
        return pair.is_same


async def test_the_same_values_on_all_inputs_are_the_same_behaviour() -> None:
    pair, sandbox = both(double, double)
    assert await is_same(pair)
    assert pair.alike == 12
    assert {job.hash_seed for job in sandbox.jobs} == {None}


async def test_one_difference_ends_the_comparison() -> None:
    pair, sandbox = both(lambda _: gives("x" * 9_000), refuse)
    assert not await is_same(pair)
    assert pair.differs
    assert len(sandbox.jobs) == 2


async def test_what_was_seen_is_not_run_again() -> None:
    pair, sandbox = both(double, double)
    await pair.compare_on(NUMBERS)
    await pair.compare_on([*NUMBERS, {"number": 40}])
    assert len(sandbox.jobs) == 2 * 13


@pytest.mark.parametrize(
    ("mine", "theirs", "shown", "same"),
    [
        (double, either(lambda n: n == 11, refuse, double), True, False),
        (double, either(lambda n: n == 11, refuse, double), False, True),
        (double, either(lambda n: n < 3, refuse, double), False, False),
        (refuse, refuse, True, False),
        (run_out_of_time, run_out_of_time, True, False),
        (double, run_out_of_time, True, False),
        (either(lambda n: n >= 10, run_out_of_time, double),) * 2 + (True, True),
        (either(lambda n: n < 4, double, refuse),) * 2 + (True, False),
        (lambda _: gives(0), lambda _: gives(0), True, False),
    ],
    ids=[
        "an error of one alone where examples are", "an error of one alone elsewhere", "several errors of one alone",
        "both always refuse", "both never end", "one never ends", "both end on most", "too few values", "one value",
    ],
)  # fmt: skip
async def test_what_is_enough_to_be_the_same(
    mine: Behaviour, theirs: Behaviour, *, shown: bool, same: bool
) -> None:
    pair, _ = both(mine, theirs, shown=shown)
    assert await is_same(pair) is same
    assert pair.lost <= ENOUGH_LOST


async def test_a_failing_sandbox_is_raised() -> None:
    def fail(_number: int) -> RunResult:
        raise SandboxError("gone")

    pair, _ = both(double, fail)
    with pytest.raises(SandboxError, match="gone"):
        await is_same(pair)


@pytest.mark.slow
def test_inputs_are_the_examples_first_each_once_and_the_same_each_time() -> None:
    examples = [Example(arguments={"number": 7}, expected=14), Example(arguments={"number": 7}, expected=14)]
    first, again = [inputs_for(SCHEMA, examples, 3) for _ in range(2)]
    nothing = inputs_for({"type": "object", "properties": {}}, [], 3)
    assert first == again
    assert first[0] == {"number": 7}
    assert len({str(each) for each in first}) == len(first) > 20
    assert nothing == [{}]


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
CHOICE = {"type": "string", "enum": ["up", "down"]}


def taking(_required: tuple[str, ...] | None = None, **parts: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts if _required is None else _required),
    }


def listed(part: Any) -> dict[str, Any]:
    return {"type": "array", "items": part}


@pytest.mark.parametrize(
    ("wanted", "known", "way"),
    [
        (taking(a=TEXT), taking(b=TEXT), {"a": "b"}),
        (taking(), taking(), {}),
        (taking(a=TEXT, b=TEXT), taking(x=TEXT, y=TEXT), {"a": "x", "b": "y"}),
        (taking(a=TEXT, b=TEXT), taking(b=TEXT, a=TEXT), {"a": "a", "b": "b"}),
        (taking(text=TEXT, n=WHOLE), taking(count=WHOLE, words=TEXT), None),
        (taking(text=TEXT, n=WHOLE), taking(text=TEXT, times=WHOLE), {"text": "text", "n": "times"}),
        (taking(a=TEXT), taking(("b",), b=TEXT, more=WHOLE), {"a": "b"}),
        (taking(a=TEXT), taking(b=TEXT, more=WHOLE), None),
        (taking(a=TEXT, more=WHOLE), taking(b=TEXT), None),
        (taking((), a=TEXT), taking(b=TEXT), None),
        (taking(a=TEXT), taking(b=WHOLE), None),
        (taking(a=WHOLE), taking(b=NUMBER), {"a": "b"}),
        (taking(a=NUMBER), taking(b=WHOLE), None),
    ],
)
def test_parameters_are_matched_by_name_then_by_place(
    wanted: Any, known: Any, way: dict[str, str] | None
) -> None:
    assert parameter_map(wanted, known) == way


@pytest.mark.parametrize(
    ("known", "wanted", "does"),
    [
        (TEXT, CHOICE, True),
        (CHOICE, TEXT, False),
        (CHOICE, CHOICE, True),
        (CHOICE, {"type": "string", "enum": ["up", "left"]}, False),
        (listed(NUMBER), listed(WHOLE), True),
        (listed(TEXT), listed(WHOLE), False),
        (
            {"type": "object", "additionalProperties": NUMBER},
            {"type": "object", "additionalProperties": WHOLE},
            True,
        ),
        ({"type": "object", "additionalProperties": NUMBER}, taking(a=WHOLE), False),
        (taking(("a",), a=TEXT, b=TEXT), taking(a=TEXT), True),
        (taking(a=TEXT, b=TEXT), taking(a=TEXT), False),
        (taking(a=TEXT), taking(b=TEXT), False),
    ],
)
def test_a_tool_takes_what_is_no_wider_than_its_own(known: Any, wanted: Any, *, does: bool) -> None:
    assert takes(known, wanted) is does
