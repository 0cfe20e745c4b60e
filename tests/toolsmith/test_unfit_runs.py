"""Runs of which no tool can be made as they are: each is answered with what is wrong, and nothing is published."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import NeedsApproval, Outcome, Rejected
from tests.toolsmith.kept_runs import DISCOUNT, RunBench

pytestmark = pytest.mark.slow

SUM = "sum(numbers)\n"
KEY = "sk-ant-" + "a1B2c3D4e5" * 3


@pytest.fixture
async def bench(library: Library, sandbox: WasmSandbox, settings: Settings) -> RunBench:
    return RunBench(library, sandbox, settings)


def rejected(outcome: Outcome, bench: RunBench) -> Rejected:
    assert isinstance(outcome, Rejected), outcome
    assert list(bench.library.tools.entries()) == []
    return outcome


async def test_runs_that_all_failed_say_with_what(bench: RunBench) -> None:
    run = bench.runs.add(
        DISCOUNT, {"prices": [], "percent": 1}, status="error", error_type="ValueError", error="no prices"
    )
    refused = rejected(await bench.make(run, name="some_tool"), bench)
    assert refused.reason == "from_run: all of these runs failed, the last one with ValueError: no prices."
    assert rejected(
        await bench.make(bench.runs.add(SUM, status="timeout"), name="some_tool"), bench
    ).reason.endswith("with timeout.")


@pytest.mark.parametrize(
    ("code", "arguments", "result"),
    [
        (f"api_key = {KEY!r}\nsum(numbers)\n", {"numbers": [1, 2]}, 3),
        ("len(text)\n", {"text": KEY}, len(KEY)),
        ("text * 2\n", {"text": "a"}, KEY),
    ],
    ids=["code", "argument", "result"],
)
async def test_secrets_in_runs_go_nowhere(
    bench: RunBench, code: str, arguments: dict[str, Any], result: Any
) -> None:
    run = bench.runs.add(code, arguments, result=result)
    refused = rejected(await bench.make(run, name="some_tool"), bench)
    assert refused.stage == "static"
    assert KEY not in refused.model_dump_json()


async def test_runs_that_differ_for_the_same_arguments_are_no_examples(bench: RunBench) -> None:
    ids = [bench.runs.add(SUM, {"numbers": [1, 2]}, result=result) for result in (3, 4)]
    refused = rejected(await bench.make(*ids, name="sum_numbers"), bench)
    assert "runs gave different results for the same values" in refused.reason


async def test_a_run_that_the_code_does_not_repeat_is_told_as_one(bench: RunBench) -> None:
    seen = (([1, 2], 3), ([4], 4), ([5, 5], 11))
    ids = [bench.runs.add(SUM, {"numbers": numbers}, result=result) for numbers, result in seen]
    refused = rejected(await bench.make(*ids, name="sum_numbers"), bench)
    assert (refused.stage, refused.expected, refused.got) == ("examples", 11, 10)
    assert "than in its run" in refused.fix


async def test_runs_with_rights_need_them_named_again(bench: RunBench) -> None:
    run = bench.runs.add(SUM, {"numbers": [1]}, result=1, pure=False, tools=("convert_units",))
    refused = rejected(await bench.make(run, name="sum_numbers"), bench)
    assert (refused.stage, "calls convert_units" in refused.reason) == ("policy", True)
    assert '"tools": ["name"]' in refused.fix
    refused = rejected(await bench.make(run, name="sum_numbers", needs={"network": ["http://x"]}), bench)
    assert refused.reason.startswith("network: ")


async def test_runs_with_rights_become_a_tool_that_waits_for_a_person(bench: RunBench) -> None:
    ids = [
        bench.runs.add(SUM, {"numbers": each}, result=sum(each), pure=False)
        for each in ([1, 2], [5], [7, 8, 9])
    ]
    outcome = await bench.make(*ids, name="sum_numbers", needs={"workspace": "read"})
    assert isinstance(outcome, NeedsApproval), outcome
    assert outcome.trust == "provisional"
    assert "Only verified tools are given grants" in outcome.how


async def test_different_programs_are_named(bench: RunBench) -> None:
    first = bench.runs.add("print(sum(numbers))\n", {"numbers": [1]}, stdout="1\n")
    other = bench.runs.add(
        "for line in text.splitlines():\n    key, _, value = line.partition('=')\n    print(key.strip(), len(value))\n",
        {"text": "a=1"},
        stdout="a 1\n",
    )
    refused = rejected(await bench.make(first, other, name="some_tool"), bench)
    assert refused.reason == f"from_run: run {other} differs from run {first} in more than literals."
