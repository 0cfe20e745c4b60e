"""The mutation gate in real sandboxes: weak examples are found out, and no mutant harms anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Broker, Job, RunResult, Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Draft, Example, MutationScore, ToolContract
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.examples.examples import Trial, examples_gate
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.mutation.mutation import MutationFound, looks_at_itself, mutation_gate
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.scripted_sandbox import ScriptedSandbox, brought_along
from tests.verification.drafts import draft

BAND = '''\
def band(value: int, low: int = 0, high: int = 10) -> str:
    """Says where a value lies."""
    if value < low:
        return "below"
    if value > high:
        return "above"
    return "inside"
'''
THOROUGH = (
    ({"value": -1}, "below"),
    ({"value": 0}, "inside"),
    ({"value": 1}, "inside"),
    ({"value": 10}, "inside"),
    ({"value": 11}, "above"),
    ({"value": 5, "low": 6}, "below"),
    ({"value": 5, "high": 4}, "above"),
)
WEAK = (({"value": 5}, "inside"), ({"value": 5, "low": 1}, "inside"), ({"value": 100, "low": 2}, "above"))


@pytest.fixture(params=["wasm", pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)])
async def sandbox(request: pytest.FixtureRequest, settings: Settings) -> AsyncIterator[Sandbox]:
    if request.param == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    kinds = {"wasm": WasmSandbox, "bubblewrap": BubblewrapSandbox}
    opened = kinds[request.param](settings)
    yield opened
    await opened.aclose()


def tool(code: str, cases: Any, name: str = "band", **fields: Any) -> Draft:
    examples = tuple(Example(arguments=arguments, expected=expected) for arguments, expected in cases)
    return draft(name=name, code=code, examples=fields.pop("examples", examples), **fields)


async def proved(candidate: Draft, sandbox: Sandbox) -> tuple[ToolContract, list[Trial]]:
    contract = read_contract(candidate.code, candidate.name, candidate.description)
    found = await examples_gate(RehearsedDraft(candidate, contract, None, Rehearsal(sandbox)))
    assert found.passed == len(found.trials) > 0, found.checks
    return contract, found.trials


async def measured(candidate: Draft, sandbox: Sandbox) -> MutationFound:
    with anyio.fail_after(120):
        contract, trials = await proved(candidate, sandbox)
        return await mutation_gate(RehearsedDraft(candidate, contract, None, Rehearsal(sandbox)), trials)


async def score_of(candidate: Draft, sandbox: Sandbox) -> MutationScore:
    score = (await measured(candidate, sandbox)).score
    assert score is not None
    return score


@pytest.mark.slow
@pytest.mark.embedded_first
async def test_thorough_examples_notice_every_mistake(sandbox: Sandbox) -> None:
    found = await measured(tool(BAND, THOROUGH), sandbox)
    (check,), score = found.checks, found.score
    assert score is not None
    assert (score.killed, score.survivors) == (score.total, ())
    assert score.total > 10
    assert check.passed
    assert check.stage == "mutation"


@pytest.mark.slow
@pytest.mark.embedded_first
async def test_weak_examples_are_told_which_mistakes_they_miss(sandbox: Sandbox) -> None:
    found = await measured(tool(BAND, WEAK), sandbox)
    (check,), score = found.checks, found.score
    assert score is not None
    assert (check.passed, check.hard) == (False, False)
    assert f"{score.killed} of {score.total}" in check.message
    assert score.killed + len(score.survivors) == score.total
    missed = {(one.line, one.was, one.now) for one in score.survivors}
    assert (3, "value < low", "value <= low") in missed
    assert (4, "'below'", "''") in missed
    assert any(f"line {line}: `{now}` for `{was}`" in check.fix for line, was, now in missed)


@pytest.mark.slow
@pytest.mark.embedded_first
async def test_examples_that_notice_next_to_nothing_end_the_run(sandbox: Sandbox) -> None:
    lines = "".join(
        f"    if value == {n}:\n        return 'n' * (value + {n}) + 's'\n" for n in range(20, 40)
    )
    code = f"def band(value: int) -> str:\n{lines}    return 'other' if value else 'zero'\n"
    (check,) = (await measured(tool(code, [({"value": 0}, "zero"), ({"value": 1}, "other")]), sandbox)).checks
    assert (check.passed, check.hard) == (False, True)


@pytest.mark.slow
@pytest.mark.embedded_first
async def test_check_expressions_and_errors_notice_too(sandbox: Sandbox) -> None:
    code = "def band(value: int) -> int:\n    if value < 0:\n        raise ValueError('no')\n    return value * 2\n"
    examples = (
        Example(arguments={"value": 4}, check="result == arguments['value'] * 2"),
        Example(arguments={"value": 0}, check="result == 0"),
        Example(arguments={"value": -1}, raises="ValueError"),
    )
    score = await score_of(tool(code, (), examples=examples), sandbox)
    assert {(one.was, one.now) for one in score.survivors} == set()


@pytest.mark.slow
@pytest.mark.embedded_first
async def test_other_results_that_meet_a_check_as_well_are_no_mistake(sandbox: Sandbox) -> None:
    code = "def band(value: int) -> int:\n    return value + 5\n"
    examples = (
        Example(arguments={"value": 4}, check="result > 7"),
        Example(arguments={"value": 0}, check="result < 7"),
        Example(arguments={"value": 9}, expected=14),
    )
    loose = tool(code, (), examples=examples[:2])
    assert {one.now for one in (await score_of(loose, sandbox)).survivors} >= {"6", "4"}
    assert "6" not in {
        one.now for one in (await score_of(tool(code, (), examples=examples), sandbox)).survivors
    }


@pytest.mark.slow
@pytest.mark.embedded_first
async def test_mutants_that_never_end_end_soon(sandbox: Sandbox) -> None:
    code = (
        "def band(value: int) -> int:\n    total = 0\n    while value > 0:\n        total = total + value\n"
        "        value = value - 1\n    return total\n"
    )
    with anyio.fail_after(60):
        score = await score_of(
            tool(code, [({"value": 3}, 6), ({"value": 0}, 0), ({"value": -2}, 0), ({"value": 1}, 1)]), sandbox
        )
    assert {one.was for one in score.survivors} <= {"0", "value > 0"}  # one more round adds nothing


@pytest.mark.bubblewrap
async def test_no_mutant_leaves_anything_for_the_next(bubblewrap: None, settings: Settings) -> None:
    """Each mutant would be noticed if one that ran before it had left a file, a variable or a patched module."""
    code = (
        "import json, os, pathlib\n\nSEEN = []\n\ndef band(value: int) -> str:\n"
        "    mark = pathlib.Path('/tmp/mark')\n"
        "    left = mark.exists() or bool(SEEN) or json.loads is str or 'MARK' in os.environ\n"
        "    mark.write_text('x')\n    SEEN.append(1)\n    json.loads = str\n    os.environ['MARK'] = '1'\n"
        "    return 'left' if left else 'clean'\n"
    )
    box = BubblewrapSandbox(settings)
    examples = tuple(Example(arguments={"value": n}, check="result in ('clean', 'x')") for n in range(3))
    try:
        score = await score_of(tool(code, (), examples=examples), box)
        gone = {(one.was, one.now) for one in score.survivors}
        assert ("SEEN.append(1)", "pass") in gone  # nothing notices, because nothing is ever left
        assert ("mark.write_text('x')", "pass") in gone
        figures = box.figures()
        assert figures.started <= 12  # not a worker for each of the mutants
        assert score.total > 12
    finally:
        await box.aclose()


@pytest.mark.bubblewrap
async def test_dataclasses_coroutines_and_modules_work_in_variants(
    bubblewrap: None, settings: Settings
) -> None:
    code = (
        "import asyncio\nimport urllib.parse\nfrom dataclasses import dataclass\n\n@dataclass\nclass Point:\n"
        "    x: int\n    y: int = 1\n\nasync def band(point: Point) -> Point:\n    await asyncio.sleep(0)\n"
        "    return Point(point.x + 1, len(urllib.parse.quote(' ' * point.y)))\n"
    )
    cases = [({"point": {"x": n, "y": n}}, {"x": n + 1, "y": 3 * n}) for n in range(4)]
    box = BubblewrapSandbox(settings)
    try:
        score = await score_of(tool(code, cases), box)
        assert score.killed / score.total > 0.5
    finally:
        await box.aclose()


@pytest.mark.parametrize(
    "line",
    [
        "import inspect",
        "from inspect import getsource",
        "x = f.__code__.co_code",
        "x = getattr(f, '__code__')",
        "import sys; sys._getframe()",
        "x = open(__file__)",
        "from sys import settrace",
    ],
)
async def test_code_that_could_find_out_that_it_was_changed_proves_nothing(
    line: str, settings: Settings
) -> None:
    code = f"{line}\n\n{BAND}"
    assert looks_at_itself(code)
    box = ScriptedSandbox(lambda job: RunResult(status="crashed"))
    contract = read_contract(BAND, "band", "Says where.")
    found = await mutation_gate(RehearsedDraft(tool(code, THOROUGH), contract, None, Rehearsal(box)), [])
    assert [(check.passed, check.hard) for check in found.checks] == [(False, False)]
    assert found.score is None
    assert box.jobs == []
    assert not looks_at_itself(BAND)


@pytest.mark.bubblewrap
async def test_code_that_works_only_when_imported_as_usual_gets_its_own_processes(
    bubblewrap: None, settings: Settings
) -> None:
    """It tells one way of loading from the other; so its mutants are loaded as it is itself."""
    code = (
        "import sys\n\nLOADED = 'run_variant' not in vars(sys.modules['tool']) and len(sys.argv) == 1\n"
        "EARLY = 'shapes' in str(sys.modules) or '_preload' in str(vars(sys.modules.get('__main__', sys)))\n"
        "def band(value: int) -> int:\n    import threading\n"
        "    depth = len(threading.current_thread().name)\n    return value + 1\n"
    )
    box = BubblewrapSandbox(settings)
    try:
        score = await score_of(tool(code, [({"value": 1}, 2), ({"value": 0}, 1)]), box)
        assert score.killed > 0
    finally:
        await box.aclose()


@pytest.mark.slow
async def test_a_tool_in_which_nothing_can_go_wrong_passes(settings: Settings) -> None:
    code = "def band(value: str) -> str:\n    return value\n"
    box = WasmSandbox(settings)
    try:
        found = await measured(tool(code, [({"value": "a"}, "a"), ({"value": "b"}, "b")]), box)
        assert all(check.passed for check in found.checks)
        code = "def band() -> list[str]:\n    return []\n"
        contract, trials = await proved(tool(code, [({}, [])]), box)
        subject = RehearsedDraft(tool(code, [({}, [])]), contract, None, Rehearsal(box))
        found = await mutation_gate(subject, trials)
        assert [check.passed for check in found.checks] == [True]
        assert found.score is None
    finally:
        await box.aclose()


class Behaving(ScriptedSandbox):
    """Answers the code itself from a table; for mutants it does what it is told."""

    def __init__(self, mutant: RunResult | Exception, loads_on_call: bool = True) -> None:
        super().__init__(lambda job: RunResult(status="ok", value=job.arguments["value"] + 1))
        self.mutant, self.loads_on_call = mutant, loads_on_call
        self.fresh: list[bool] = []

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        variants = brought_along(job)
        if variants is not None and not self.loads_on_call:
            raise SandboxRefused("no exec here")
        told, *more = variants or [job]
        if more or "value" not in told.arguments:
            raise SandboxRefused("one call at a time")
        if told.code == SMALL.code:
            return self._answer(told)
        self.fresh.append(job.fresh)
        if isinstance(self.mutant, Exception):
            raise self.mutant
        return self.mutant


TABLE = ((1, 2), (5, 6), (0, 1))
SMALL = tool("def band(value: int) -> int:\n    return value + 1\n", [({"value": a}, b) for a, b in TABLE])


async def test_a_failing_sandbox_says_nothing_about_the_draft() -> None:
    gone = SandboxError("gone")
    with pytest.raises(SandboxError) as caught:
        await measured(SMALL, Behaving(gone))
    assert caught.value is gone


async def test_cancelling_in_the_middle_leaves_no_mutant_running() -> None:
    class Endless(Behaving):
        began, ended = 0, 0

        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            told = (brought_along(job) or [job])[0]
            if told.code == SMALL.code:
                return self._answer(told)
            Endless.began += 1
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                Endless.ended += 1

    started = anyio.Event()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(measured, SMALL, Endless(RunResult(status="crashed")))
            await started.wait()
            group.cancel_scope.cancel()
    assert Endless.began == Endless.ended > 0
