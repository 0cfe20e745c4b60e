"""Properties gate: generated inputs, and what fails on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Broker, Job, RunResult, Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Check, Draft, Example, Grants, Limits, Schema
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.comparison import matches_error
from alita_mcp.verification.examples.examples import Trial
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.generated_inputs import (
    MAX_DRAWN_TEXT,
    MAX_SHOWN_ITEMS,
    MAX_SIZE,
    draw_inputs,
)
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.properties import (
    INPUTS,
    PropertiesFound,
    properties_gate,
)
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.scripted_sandbox import ScriptedSandbox
from tests.verification.drafts import draft


@pytest.fixture
async def wasm(settings: Settings) -> AsyncIterator[WasmSandbox]:
    opened = WasmSandbox(settings)
    yield opened
    await opened.aclose()


def tool(signature: str, *lines: str, head: str = "", **fields: Any) -> Draft:
    body = "\n".join(f"    {line}" for line in lines)
    examples = fields.pop("examples", (Example(arguments={"x": 1}, expected=1),))
    return draft(name="probe", code=f"{head}def probe{signature}:\n{body}\n", examples=examples, **fields)


async def found_in(candidate: Draft, sandbox: Sandbox, trials: list[Trial] | None = None) -> PropertiesFound:
    contract = read_contract(candidate.code, candidate.name, candidate.description)
    shown = [
        Trial(n, each, RunResult(status="ok", wall_seconds=0.001))
        for n, each in enumerate(candidate.examples)
    ]
    with anyio.fail_after(120):
        subject = RehearsedDraft(candidate, contract, None, Rehearsal(sandbox))
        return await properties_gate(subject, trials or shown)


async def failures(candidate: Draft, sandbox: Sandbox) -> list[Check]:
    return [check for check in (await found_in(candidate, sandbox)).checks if not check.passed]


@pytest.mark.slow
async def test_what_works_for_every_input_passes(wasm: WasmSandbox) -> None:
    found = await found_in(tool("(x: list[int]) -> int", "return sum(x)"), wasm)
    assert [check.passed for check in found.checks] == [True]
    assert 30 < found.tried <= INPUTS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("returns", "line", "words"),
    [
        ("int", "return x if x > -3 else None", "does not fit the return annotation"),
        ("list[int]", "return [x] if x > -3 else [str(x)]", "does not fit the return annotation"),
        ("float", "return 1.5 if x > -3 else float('inf')", "not JSON"),
        ("int", "return x if x > -3 else {1, 2}", "not JSON"),
        ("int", "return x if x > -3 else 10 ** 5000", "not JSON"),
    ],
)
async def test_a_result_that_breaks_the_contract_ends_the_run_with_the_smallest_input(
    returns: str, line: str, words: str, wasm: WasmSandbox
) -> None:
    (check,) = await failures(tool(f"(x: int) -> {returns}", line), wasm)
    assert check.hard
    assert words in check.message
    assert check.stage == ("schema" if "annotation" in words else "properties")
    assert check.case["x"] <= -3
    assert len(str(check.case["x"])) == 2


@pytest.mark.slow
async def test_an_error_that_nobody_announced_lowers_the_trust_and_says_which_example_would_settle_it(
    wasm: WasmSandbox,
) -> None:
    (check,) = await failures(tool("(x: list[int]) -> int", "return x[0]"), wasm)
    assert (check.hard, check.stage, check.case) == (False, "properties", {"x": []})
    assert "IndexError" in check.message
    assert "raises 'IndexError'" in check.fix
    assert check.got == "raised IndexError: list index out of range"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "announced"),
    [
        ("ValueError", "ValueError"),
        ("UnicodeDecodeError('utf-8', b'', 0, 1, 'x')", "ValueError"),
        ("ZeroDivisionError", "ArithmeticError"),
        ("KeyError", "Exception"),
        ("IndexError", "builtins.LookupError"),
    ],
)
async def test_an_announced_error_is_none(error: str, announced: str, wasm: WasmSandbox) -> None:
    lines = ("if x < 0:", f"    raise {error}", "return x")
    said = tool(
        "(x: int) -> int",
        '"""Does it.\n\n    Raises:\n        ' + announced + ': Below zero.\n    """',
        *lines,
    )
    shown = tool("(x: int) -> int", *lines, examples=(Example(arguments={"x": -1}, raises=announced),))
    assert await failures(said, wasm) == []
    assert await failures(shown, wasm) == []
    assert matches_error(announced, RunResult(status="error", error_type=error.partition("(")[0]))


@pytest.mark.slow
async def test_a_loop_within_what_the_examples_show_is_a_hard_failure(wasm: WasmSandbox) -> None:
    candidate = tool(
        "(x: int) -> int",
        "while 3 < x < 9: pass",
        "return 1",
        examples=(Example(arguments={"x": 0}, expected=1), Example(arguments={"x": 40}, expected=1)),
        limits=Limits(wall_seconds=2, cpu_seconds=2),
    )
    (check,) = await failures(candidate, wasm)
    assert check.hard
    assert "took more than 2 s" in check.message  # under the limits of the tool itself
    assert check.case is not None
    assert 3 < check.case["x"] < 9


@pytest.mark.slow
async def test_a_loop_beyond_what_the_examples_show_caps_the_trust(wasm: WasmSandbox) -> None:
    candidate = tool(
        "(x: int) -> int",
        "while x < 0: pass",
        "return 1",
        examples=(Example(arguments={"x": 0}, expected=1), Example(arguments={"x": 40}, expected=1)),
    )
    (check,) = await failures(candidate, wasm)
    assert not check.hard
    assert "out of time" in check.message
    assert "declared error" in check.fix
    assert check.case is not None
    assert check.case["x"] < 0


async def test_what_is_only_slow_is_no_failure() -> None:
    def answer(job: Job) -> RunResult:
        if job.limits.wall_seconds < 30 and job.arguments["x"] == 1:
            return RunResult(status="timeout", message="took more than 0.5 s (wall_seconds)")
        return RunResult(status="ok", value=1)

    class Slow(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            if job.limits.wall_seconds == 30 and job.arguments["x"] == 1 and not self.jobs:
                self.jobs.append(job)
                await anyio.sleep_forever()
            return await super().run(job)

    found = await found_in(tool("(x: int) -> int", "return 1"), Slow(answer))
    assert [check.passed for check in found.checks] == [True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "hard"),
    [("crashed", True), ("output_flood", True), ("bad_result", True), ("memory", False), ("timeout", False)],
)
async def test_each_way_to_end_badly_has_its_weight(status: Any, hard: bool) -> None:
    def answer(job: Job) -> RunResult:
        return RunResult(status=status) if job.arguments["x"] < -5 else RunResult(status="ok", value=1)

    (check,) = await failures(tool("(x: int) -> int", "return 1"), ScriptedSandbox(answer))
    assert check.hard == hard
    assert -10 < check.case["x"] < -5


async def test_errors_of_a_made_up_world_are_not_held_against_a_tool_with_grants() -> None:
    def answer(job: Job) -> RunResult:
        name = "PermissionError" if job.arguments["x"] > 0 else "KeyError"
        return RunResult(status="error", error_type=name, message="403")

    grants = Grants(network=("api.example.org",))
    (check,) = await failures(tool("(x: int) -> int", "return 1", grants=grants), ScriptedSandbox(answer))
    assert "KeyError" in check.message
    both = await failures(tool("(x: int) -> int", "return 1"), ScriptedSandbox(answer))
    assert len(both) == 2


async def test_a_failing_sandbox_says_nothing_about_the_draft() -> None:
    class Gone(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            raise error

    error = SandboxError("gone")
    with pytest.raises(SandboxError) as caught:
        await found_in(tool("(x: int) -> int", "return 1"), Gone(lambda job: RunResult(status="crashed")))
    assert caught.value is error


async def test_cancelling_ends_the_calls() -> None:
    class Endless(ScriptedSandbox):
        began, ended = 0, 0

        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            Endless.began += 1
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                Endless.ended += 1

    started = anyio.Event()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            sandbox = Endless(lambda job: RunResult(status="crashed"))
            group.start_soon(found_in, tool("(x: int) -> int", "return 1"), sandbox)
            await started.wait()
            group.cancel_scope.cancel()
    assert Endless.began == Endless.ended > 0


RECORD: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "size": {"type": "number"}},
    "required": ["name"],
}
SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "text": {"type": "string"},
        "kind": {"type": "string", "enum": ["one", "two"]},
        "sure": {"type": "boolean"},
        "items": {"type": "array", "items": {"type": "integer"}},
        "free": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        "record": RECORD,
    },
    "required": ["count", "text"],
    "additionalProperties": False,
}


def drawn(schema: Schema, examples: list[dict[str, Any]], seed: int = 7, count: int = 200) -> list[Any]:
    shown = [Example(arguments=each, expected=None) for each in examples]
    return draw_inputs(schema, shown, seed, count)


def test_all_that_is_drawn_fits_and_every_part_of_the_schema_is_met() -> None:
    inputs = drawn(SCHEMA, [{"count": 3, "text": "a, b", "record": {"name": "x"}}])
    for each in inputs:
        validate_arguments(SCHEMA, each)
    assert {name for each in inputs for name in each} == set(SCHEMA["properties"])
    assert {each["kind"] for each in inputs if "kind" in each} == {"one", "two"}
    assert any("size" in each.get("record", {}) for each in inputs)
    assert any(each.get("free") for each in inputs)


@pytest.mark.slow
def test_the_seed_decides_what_is_drawn() -> None:
    assert drawn(SCHEMA, []) == drawn(SCHEMA, [])
    assert drawn(SCHEMA, []) != drawn(SCHEMA, [], seed=8)


@pytest.mark.slow
def test_sizes_stay_near_what_was_shown() -> None:
    inputs = drawn(SCHEMA, [{"count": 400, "text": "y" * 5, "items": [1] * 90}])
    assert max(abs(each["count"]) for each in inputs) <= 800
    assert max(abs(each["count"]) for each in inputs) > 100
    assert (
        max(len(each["items"]) for each in inputs if "items" in each and each["items"] != [1] * 90)
        <= MAX_SHOWN_ITEMS
    )
    assert all(len(each["text"]) <= 5 + MAX_DRAWN_TEXT for each in inputs)
    plain = drawn(SCHEMA, [])
    assert max(abs(each["count"]) for each in plain) <= 100
    huge = drawn(SCHEMA, [{"count": 10**40, "text": "", "share": 1e300}])
    assert all(abs(each["count"]) <= MAX_SIZE or each["count"] == 10**40 for each in huge)


def test_half_of_them_are_examples_with_one_argument_new() -> None:
    example = {"count": 12_345, "text": "a rare text", "kind": "two", "sure": True, "items": [9, 9, 9]}
    inputs = drawn(SCHEMA, [example])
    near = [each for each in inputs if sum(each.get(name) == value for name, value in example.items()) >= 4]
    assert len(near) > len(inputs) / 5
