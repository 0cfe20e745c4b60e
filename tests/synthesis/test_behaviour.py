from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.duplicates.behaviour import (
    ALL_LOST,
    ENOUGH_LOST,
    SHOWN,
    ComparedTool,
    Comparison,
    DifferentialRun,
    inputs_for,
    kind_of,
)
from alita_mcp.values import Example, Limits
from alita_mcp.verification.mutation.mutated_inputs import mutated_inputs
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

WAIT_S = 300
NUMBERS = [{"number": number} for number in range(12)]
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
LIMITS = Limits(wall_seconds=1.5, cpu_seconds=1.5)
DOUBLE = "def tool(number: int) -> int:\n    return 2 * number\n"


def compared(code: str) -> ComparedTool:
    return ComparedTool(Job(code=code, function="tool", arguments={}, limits=LIMITS), {"number": "number"})


def both(
    mine: Callable[[Job], RunResult], theirs: Callable[[Job], RunResult], *, shown: bool = True
) -> tuple[DifferentialRun, ScriptedSandbox]:
    sandbox = ScriptedSandbox(lambda job: (mine if job.code == "mine" else theirs)(job))
    return DifferentialRun(compared("mine"), compared("theirs"), Rehearsal(sandbox), lambda _: shown), sandbox


def value(job: Job) -> RunResult:
    return RunResult(status="ok", value=2 * int(job.arguments["number"]))


def refused(_job: Job) -> RunResult:
    return RunResult(status="error", error_type="ValueError", message="no")


def late(_job: Job) -> RunResult:
    return RunResult(status="timeout", message="wall")


async def looked(
    pair: DifferentialRun, inputs: list[dict[str, Any]] = NUMBERS, *, whole: bool = False
) -> Comparison:
    with anyio.fail_after(WAIT_S):
        await pair.compare_on(inputs, whole=whole)
        return await pair.confirm()


async def test_the_same_values_on_all_inputs_are_the_same_behaviour() -> None:
    pair, sandbox = both(value, value)
    found = await looked(pair)
    assert (found.is_same, found.alike, found.score) == (True, 12, 1.0)
    assert {job.hash_seed for job in sandbox.jobs} == {None}
    assert {bool(job.clock_offset_s) for job in sandbox.jobs} == {False, True}, (
        "it was tried under another clock too"
    )


async def test_one_difference_ends_the_comparison() -> None:
    pair, sandbox = both(value, lambda job: RunResult(status="ok", value=job.arguments["number"]))
    found = await looked(pair)
    assert not found.is_same
    assert found.difference is not None
    assert (found.difference.one, found.difference.other) == ("2", "1")
    assert len(sandbox.jobs) < 12
    assert found.score < 0.5


async def test_what_was_seen_is_not_run_again() -> None:
    pair, sandbox = both(value, value)
    await pair.compare_on(NUMBERS)
    await pair.compare_on([*NUMBERS, {"number": 40}])
    assert len(sandbox.jobs) == 2 * 13


@pytest.mark.parametrize(("shown", "same"), [(True, False), (False, True)])
async def test_an_error_of_one_alone_counts_where_examples_show_such_inputs(
    *, shown: bool, same: bool
) -> None:
    def refuses_some(job: Job) -> RunResult:
        return refused(job) if job.arguments["number"] == 11 else value(job)

    pair, _ = both(value, refuses_some, shown=shown)
    found = await looked(pair)
    assert found.is_same is same
    assert found.counts["one refused"] == 1


@pytest.mark.parametrize("theirs", [refused, late, lambda _job: RunResult(status="crashed")])
async def test_two_that_never_give_a_value_are_not_the_same(theirs: Callable[[Job], RunResult]) -> None:
    pair, _ = both(theirs, theirs)
    found = await looked(pair)
    assert not found.is_same
    assert found.score == 0.5, "no evidence either way"


async def test_tools_that_never_end_are_left_after_a_few_inputs() -> None:
    pair, sandbox = both(value, late)
    found = await looked(pair)
    assert found.is_over
    assert not found.is_same
    assert len(sandbox.jobs) <= 2 * (ENOUGH_LOST + 3)


async def test_too_few_values_or_one_value_for_all_prove_nothing() -> None:
    def mostly_refused(job: Job) -> RunResult:
        return value(job) if job.arguments["number"] < 4 else refused(job)

    few, _ = both(mostly_refused, mostly_refused)
    assert not (await looked(few)).is_same
    constant, _ = both(lambda _: RunResult(status="ok", value=0), lambda _: RunResult(status="ok", value=0))
    assert not (await looked(constant)).is_same


async def test_a_failing_sandbox_is_raised() -> None:
    def fails(_job: Job) -> RunResult:
        raise SandboxError("gone")

    pair, _ = both(value, fails)
    with pytest.raises(SandboxError, match="gone"):
        await looked(pair)


async def test_outcomes_are_told_in_a_few_words() -> None:
    pair, _ = both(lambda _: RunResult(status="ok", value="x" * 9_000), refused)
    found = await looked(pair)
    assert found.difference is not None
    assert len(found.difference.one) <= SHOWN + 1
    assert found.difference.other == "raised ValueError: no"


def test_a_value_beside_a_dead_process_says_little() -> None:
    ok, dead = RunResult(status="ok", value=1), RunResult(status="memory")
    assert kind_of(ok, dead) == "one lost"
    assert kind_of(dead, dead) == "lost"


async def test_inputs_are_the_examples_first_each_once_and_the_same_each_time() -> None:
    examples = [Example(arguments={"number": 7}, expected=14), Example(arguments={"number": 7}, expected=14)]
    with anyio.fail_after(WAIT_S):
        first, again = [await inputs_for(SCHEMA, examples, 3) for _ in range(2)]
        nothing = await inputs_for({"type": "object", "properties": {}}, [], 3)
    assert first == again
    assert first[0] == {"number": 7}
    assert len({str(each) for each in first}) == len(first) > 20
    assert nothing == [{}]


def test_mutated_inputs_keep_the_types_and_the_choices() -> None:
    schema = {
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["up", "down"]},
            "text": {"type": "string"},
            "share": {"type": "number"},
            "loud": {"type": "boolean"},
            "rows": {"type": "array", "items": {"type": "integer"}},
            "by": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
    }
    known = {"mode": "up", "text": "abc", "share": 0.5, "loud": True, "rows": [3, 1, 2], "by": {"a": 1}}
    found = mutated_inputs(schema, [known, {}], 1, 60)
    assert len(found) == 60
    assert known not in found
    for each in found:
        assert each["mode"] in ("up", "down")
        assert {name: type(part) for name, part in each.items()} == {
            name: type(part) for name, part in known.items()
        }
        assert all(type(part) is int for part in (*each["rows"], *each["by"].values()))
    assert mutated_inputs(schema, [known], 1, 60) == mutated_inputs(schema, [known], 1, 60)


def test_there_is_nothing_near_huge_inputs_or_a_single_choice() -> None:
    assert mutated_inputs({"properties": {}}, [{"text": "x" * 9_000}], 1, 5) == []
    only = {"properties": {"mode": {"type": "string", "enum": ["up"]}}}
    assert mutated_inputs(only, [{"mode": "up"}], 1, 5) == []


@pytest.fixture
async def walled(bubblewrap: None, settings: Settings) -> AsyncIterator[Rehearsal]:
    sandbox = BubblewrapSandbox(settings)
    yield Rehearsal(sandbox)
    with anyio.CancelScope(shield=True):
        await sandbox.aclose()


HOSTILE = {
    "never ends": "def tool(number: int) -> int:\n    while True:\n        pass\n",
    "dies": "import os\ndef tool(number: int) -> int:\n    os._exit(0)\n",
    "fills the memory": "def tool(number: int) -> int:\n    return len([0] * 10**11)\n",
    "floods": "def tool(number: int) -> int:\n    while True:\n        print('x' * 100_000)\n",
    "huge": "def tool(number: int) -> str:\n    return 'x' * 50_000_000\n",
    "random": "import random\ndef tool(number: int) -> int:\n    return random.SystemRandom().randrange(10**9)\n",
    "does not load": "import no_such_module\ndef tool(number: int) -> int:\n    return 2 * number\n",
    "dates": "import datetime\ndef tool(number: int) -> int:\n    return number * datetime.date.today().year\n",
    "remembers": "seen = []\ndef tool(number: int) -> int:\n    seen.append(1)\n    return 2 * number + len(seen)\n",
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
async def test_hostile_tools_are_never_the_same_as_a_good_one(code: str, walled: Rehearsal) -> None:
    remembers = code == HOSTILE["remembers"]
    pair = DifferentialRun(compared(code if remembers else DOUBLE), compared(code), walled, lambda _: True)
    found = await looked(pair)
    assert found.is_same is remembers, "no call remembers another one, so that one behaves"


@pytest.mark.parametrize("name", ["random", "dates"])
async def test_a_tool_that_changes_by_itself_is_not_the_same_as_its_own_copy_by_chance(
    name: str, walled: Rehearsal
) -> None:
    pair = DifferentialRun(compared(HOSTILE[name]), compared(HOSTILE[name]), walled, lambda _: True)
    found = await looked(pair)
    assert found.is_same is (name == "dates"), "both read the same clock, and dice differ"


async def test_inputs_that_neither_ends_on_say_nothing_and_the_others_decide() -> None:
    def slow_from_ten(job: Job) -> RunResult:
        return late(job) if job.arguments["number"] >= 10 else value(job)

    pair, _ = both(slow_from_ten, slow_from_ten)
    found = await looked(pair)
    assert (found.is_same, found.counts["lost"]) == (True, 2)
    few, _ = both(lambda job: late(job) if job.arguments["number"] > 4 else value(job), late)
    assert not (await looked(few)).is_same
    mostly, sandbox = both(late, late)
    assert not (await looked(mostly, [{"number": number} for number in range(60)])).is_same
    assert len(sandbox.jobs) == 2 * ENOUGH_LOST
    whole, sandbox = both(late, late)
    await looked(whole, [{"number": number} for number in range(60)], whole=True)
    assert len(sandbox.jobs) == 2 * ALL_LOST


async def test_agreement_by_chance_is_worth_nothing() -> None:
    def rarely(job: Job) -> RunResult:
        return RunResult(status="ok", value=job.arguments["number"] == 3)

    def seldom(job: Job) -> RunResult:
        return RunResult(status="ok", value=job.arguments["number"] == 5)

    pair, _ = both(rarely, seldom, shown=False)
    assert (await looked(pair, whole=True)).score < 0.1, "they agree on ten of twelve inputs"
    constant, _ = both(lambda _: RunResult(status="ok", value=0), lambda _: RunResult(status="ok", value=0))
    assert (await looked(constant)).score == 0.5
    alone, _ = both(value, refused, shown=False)
    assert (await looked(alone, whole=True)).score == 0.0
    same, _ = both(rarely, rarely)
    assert (await looked(same)).score == 1.0


@pytest.mark.parametrize(
    ("refuses", "is_same", "may_be_same"),
    [(0, True, True), (2, True, True), (6, False, True), (30, False, False)],
)
async def test_two_of_which_one_refuses_much_are_the_same_only_perhaps(
    refuses: int, is_same: bool, may_be_same: bool
) -> None:
    def picky(job: Job) -> RunResult:
        return refused(job) if job.arguments["number"] < refuses else value(job)

    pair, _ = both(value, picky, shown=False)
    found = await pair.compare_on([{"number": number} for number in range(60)])

    assert (found.is_same, found.may_be_same) == (is_same, may_be_same)
