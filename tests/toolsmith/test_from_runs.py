"""Runs of code become tools in the embedded sandbox: what they showed is marked, what a caller confirms counts."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.errors import ToolNotFound, UsageError
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import contradiction
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.carried_examples import make_record
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith
from tests.toolsmith.kept_runs import DISCOUNT, RunBench, discounted

pytestmark = pytest.mark.slow

SEEN = (([10, 20, 30], 10), ([5, 5], 50), ([100], 0), ([7, 8], 25))
OWN = [
    {"arguments": {"prices": [40, 2], "percent": 50}, "expected": 21},
    {"arguments": {"prices": [], "percent": 5}, "raises": "ValueError"},
    {"arguments": {"prices": [1, 1, 1], "percent": 100}, "expected": 0},
]
NAMED: dict[str, Any] = {
    "name": "discounted_total",
    "description": "Adds up prices and takes a discount off.",
}


@pytest.fixture
async def bench(library: Library, sandbox: WasmSandbox, settings: Settings) -> RunBench:
    return RunBench(library, sandbox, settings)


async def made(bench: RunBench) -> tuple[list[str], Created]:
    ids = bench.runs.discounts(*SEEN)
    outcome = await bench.make(*ids, **NAMED)
    assert isinstance(outcome, Created), outcome
    return ids, outcome


async def test_runs_become_a_provisional_tool_whose_examples_are_what_happened(bench: RunBench) -> None:
    ids, outcome = await made(bench)
    stored = await bench.library.read("discounted_total")
    assert (outcome.trust, outcome.version, outcome.tests) == ("provisional", 1, "4/4")
    assert [each.as_json() for each in stored.examples] == [
        {"arguments": {"prices": prices, "percent": percent}, "expected": discounted(prices, percent)}
        for prices, percent in SEEN
    ]
    assert stored.report.recorded == make_record(ids, stored.examples)
    assert not any(each in stored.report.model_dump_json() for each in ids), "ids would give the runs away"
    assert contradiction(stored.manifest, stored.report) == ""


async def test_the_answer_says_what_is_missing(bench: RunBench) -> None:
    _, outcome = await made(bench)
    assert outcome.to_raise_trust.startswith("Send the same name with tests of your own")
    assert "4 examples were only recorded" in outcome.to_raise_trust


async def test_own_examples_verify_the_same_version_even_when_the_runs_are_gone(
    bench: RunBench, library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    ids, _ = await made(bench)
    bench = RunBench(library, sandbox, settings)
    raised = await bench.make(*reversed(ids), name="discounted_total", tests=OWN)
    assert isinstance(raised, Exists), raised
    assert (raised.trust_before, raised.trust, raised.version) == ("provisional", "verified", 1)
    stored = await bench.library.read("discounted_total")
    assert stored.report.recorded == make_record(ids, stored.examples[:4])


async def test_a_correction_that_the_code_contradicts_is_rejected_with_its_case_and_nothing_is_lost(
    bench: RunBench,
) -> None:
    ids, _ = await made(bench)
    wrong = {"arguments": {"prices": [3], "percent": 50}, "expected": 1.5}
    refused = await bench.make(*ids, name="discounted_total", tests=[*OWN, wrong])
    assert isinstance(refused, Rejected), refused
    assert (refused.stage, refused.case) == ("examples", wrong["arguments"])
    stored = await bench.library.read("discounted_total")
    assert (stored.manifest.trust, len(stored.examples)) == ("provisional", 4)


async def test_another_result_for_a_recorded_call_is_held_against_the_code(bench: RunBench) -> None:
    ids, _ = await made(bench)
    wrong = {"arguments": {"prices": [100], "percent": 0}, "expected": 99}
    refused = await bench.make(*ids, name="discounted_total", tests=[wrong])
    assert isinstance(refused, Rejected), refused
    assert (refused.stage, refused.expected, refused.got) == ("examples", 99, 100)
    first = await bench.make(*bench.runs.discounts(*SEEN), name="other_name", tests=[wrong])
    assert isinstance(first, Rejected), first
    assert (first.expected, first.got, first.case) == (99, 100, wrong["arguments"])


async def test_recorded_examples_that_a_caller_sends_are_its_own(bench: RunBench) -> None:
    ids, _ = await made(bench)
    stored = await bench.library.read("discounted_total")
    same = [each.as_json() for each in stored.examples]
    again = await bench.make(*ids, name="discounted_total", tests=[*same[:3], OWN[1]])
    assert isinstance(again, Exists), again
    assert again.trust == "verified", again.to_raise_trust
    kept = (await bench.library.read("discounted_total")).report.recorded
    assert kept is not None
    assert kept == make_record(ids, stored.examples[3:])


async def test_a_name_that_another_tool_has_is_not_taken_from_it(bench: RunBench) -> None:
    await made(bench)
    others = [
        bench.runs.add("max(numbers)\n", {"numbers": each}, result=max(each))
        for each in ([1, 2], [5], [7, 3])
    ]
    taken = await bench.make(*others, name="discounted_total")
    assert isinstance(taken, Exists), taken
    assert "a tool of this name exists" in taken.why
    place = bench.library.home / "generated_tools" / "discounted_total" / "v1" / "tool.py"
    place.chmod(0o600)
    place.write_text("broken")
    assert isinstance(await bench.make(*others, name="discounted_total"), Exists)


async def test_own_examples_beside_the_runs_verify_at_once(bench: RunBench) -> None:
    outcome = await bench.make(*bench.runs.discounts(*SEEN), **NAMED, tests=OWN)
    assert isinstance(outcome, Created), outcome
    assert (outcome.trust, outcome.tests) == ("verified", "7/7")


async def test_an_update_made_of_runs_is_the_next_version_and_keeps_its_marks(bench: RunBench) -> None:
    ids, _ = await made(bench)
    changed = DISCOUNT + "\n".join(["", "total - total * percent // 100 + 0"])
    more = [
        bench.runs.add(changed, {"prices": prices, "percent": percent}, result=discounted(prices, percent))
        for prices, percent in (([1, 2], 10), ([90], 20))
    ]
    outcome = await bench.make(*more, **NAMED, update=True)
    assert isinstance(outcome, Created), outcome
    assert (outcome.version, outcome.trust) == (2, "provisional")
    stored = await bench.library.read("discounted_total", 2)
    assert stored.report.recorded == make_record([*ids, *more], stored.examples)


async def test_an_update_with_code_of_a_callers_own_confirms_nothing_that_was_recorded(
    bench: RunBench,
) -> None:
    await made(bench)
    stored = await bench.library.read("discounted_total")
    code = stored.code.replace("return ", "return 0 + ")
    request = read_request({**NAMED, "code": code, "tests": OWN[:1], "update": True})
    assert not isinstance(request, Rejected)

    async def silent(_stage: str) -> None:
        return None

    outcome = await bench.smith.make(request, silent)
    assert isinstance(outcome, Created), outcome
    assert outcome.trust == "provisional"
    assert "4 examples were only recorded, 1 are" in outcome.to_raise_trust


@pytest.mark.parametrize("update", [False, True])
async def test_code_and_runs_exclude_one_another(bench: RunBench, update: bool) -> None:
    outcome = await bench.make("a" * 32, name="some_tool", code="x = 1", update=update)
    assert isinstance(outcome, Rejected), outcome
    assert (outcome.stage, "exclude one another" in outcome.reason) == ("policy", True)


async def test_unknown_runs_and_a_server_without_runs_are_told_clearly(
    bench: RunBench, library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    with pytest.raises(ToolNotFound, match=r"There is no run 'f+'"):
        await bench.make("f" * 32, name="some_tool")
    bench.smith = Toolsmith(library, sandbox, settings, lambda _manifest: ())
    with pytest.raises(UsageError, match="keeps no runs of code"):
        await bench.make("f" * 32, name="some_tool")


def test_nobody_says_by_arguments_what_was_recorded() -> None:
    request = read_request({"recorded": {"runs": [], "examples": ["a"]}, "description": "x"})
    assert not isinstance(request, Rejected)
    assert request.recorded is None
