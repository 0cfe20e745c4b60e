"""Tools whose results vary: what may differ as declared, what is refused, and what the author is told to add."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple

import anyio
import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.sandbox.workers.calls import hash_seed
from alita_mcp.settings import Settings
from alita_mcp.values import Check, Draft, Example, VerificationReport
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.determinism import find_causes
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import verify
from tests.scripted_sandbox import ScriptedSandbox
from tests.verification.drafts import draft

pytestmark = pytest.mark.slow

REAL_NOW = 1_800_000_000
PROBE = '''\
{imports}

def probe(n: int) -> {returns}:
    """Gives something that may vary.

    Args:
        n: A number.

    Raises:
        ValueError: The number is negative.
    """
    if n < 0:
        raise ValueError("negative")
    return {result}
'''


class World(NamedTuple):
    """What a call finds."""

    now: float
    draw: Random
    hash_seed: int


Tool = Callable[[int, World], Any]


def dice(n: int, world: World) -> int:
    return world.draw.randint(1, n) if n else 0


def today(n: int, world: World) -> str:
    return datetime.fromtimestamp(world.now + n * 86_400, UTC).date().isoformat()


def dated_dice(n: int, world: World) -> str:
    return f"{today(n, world)} {dice(1_000_000, world)}"


def ordered_set(n: int, world: World) -> list[int]:
    return sorted(range(5 * n), key=lambda each: hash((each, world.hash_seed)))


def address(_n: int, _world: World) -> int:
    return secrets.randbits(60)


def in_worlds(tool: Tool) -> ScriptedSandbox:
    """A sandbox in which the tool finds the clock and the seeds of its job; checks are evaluated."""

    def answer(job: Job) -> RunResult:
        if job.function == "check":
            space: dict[str, Any] = {}
            exec(job.code, space)
            return RunResult(status="ok", value=space["check"](**job.arguments))
        if job.function != "probe" or job.arguments["n"] < 0:
            return RunResult(status="error", error_type="ValueError", message="negative")
        moment = REAL_NOW + job.clock_offset_s if job.moment is None else job.moment
        draw = Random(job.random_seed) if job.random_seed is not None else Random()
        seed = hash_seed(job.code, job.clock_offset_s) if job.hash_seed is None else job.hash_seed
        return RunResult(status="ok", value=tool(job.arguments["n"], World(moment, draw, seed)))

    return ScriptedSandbox(answer)


def varying(checks: dict[int, str], *more: Example, **changes: Any) -> Draft:
    code = PROBE.format(
        imports="import random", returns=changes.pop("returns", "int"), result="random.random()"
    )
    examples = [Example(arguments={"n": n}, check=check) for n, check in checks.items()]
    refusing = Example(arguments={"n": -1}, raises="ValueError")
    return draft(name="probe", code=code, examples=(*examples, *more, refusing), **changes)


async def report_of(candidate: Draft, sandbox: Sandbox) -> VerificationReport:
    async def on_stage(_stage: str) -> None:
        return None

    with anyio.fail_after(300):
        return (await verify(candidate, sandbox, on_stage)).report


async def failure_of(candidate: Draft, tool: Tool) -> Check:
    failure = (await report_of(candidate, in_worlds(tool))).failure
    assert failure is not None
    return failure


IN_RANGE = {1_000_000: "1 <= result <= arguments['n']", 2_000_000: "1 <= result <= arguments['n']"}
DATES = {0: "result == now.date().isoformat()", 3: "result > now.date().isoformat()"}


@pytest.mark.parametrize(
    ("candidate", "tool"),
    [
        (varying(IN_RANGE, varies=("random",)), dice),
        (varying(IN_RANGE, Example(arguments={"n": 1}, expected=1), varies=("random",)), dice),
        (
            varying({1_000_000: "result == random.Random(seed).randint(1, 1_000_000)"}, varies=("random",)),
            dice,
        ),
        (varying(DATES, varies=("clock",), returns="str"), today),
        (varying({0: "result > str(now.year)"}, varies=("clock", "random"), returns="str"), dated_dice),
        (varying({0: "result >= 0", 1: "result >= 0"}, varies=("random",)), address),
    ],
    ids=["dice", "one side", "by the seed", "today", "both", "no seed brings it back"],
)
async def test_results_may_differ_by_what_is_declared(candidate: Draft, tool: Tool) -> None:
    report = await report_of(candidate, in_worlds(tool))
    found = [check for check in report.checks if check.stage in ("examples", "determinism")]
    assert all(check.passed for check in found if check.hard), found
    assert "determinism" in {check.stage for check in found if check.passed}
    assert report.deterministic is False


@pytest.mark.parametrize(
    ("candidate", "tool", "told"),
    [
        (varying(IN_RANGE), dice, '"varies": ["random"]'),
        (varying({0: "len(result) == 10", 3: "result[4] == '-'"}, Example(arguments={"n": 4}, check="result != ''"),
                 returns="str"), today, '"varies": ["clock"]'),
        (varying({0: "len(result) > 10", 3: "result[4] == '-'"}, returns="str"), dated_dice,
         '"varies": ["clock", "random"]'),
        (varying({0: "len(result) > 10"}, returns="str", varies=("clock",)), dated_dice,
         '"varies": ["clock", "random"]'),
        (varying({0: "len(result) > 10"}, returns="str", varies=("random",)), dated_dice,
         '"varies": ["clock", "random"]'),
        (varying({0: "result >= 0", 1: "result > 0"}), address, '"varies": ["random"]'),
    ],
    ids=["chance", "clock", "both", "chance too", "clock too", "nothing that can be set"],
)  # fmt: skip
async def test_what_varies_undeclared_is_refused_with_what_to_add(
    candidate: Draft, tool: Tool, told: str
) -> None:
    failure = await failure_of(candidate, tool)
    assert failure.stage == "determinism", failure.message
    assert f"add {told}" in failure.fix


@pytest.mark.parametrize("varies", [(), ("random",), ("clock",), ("clock", "random")])
async def test_an_order_of_sets_is_never_a_variation(varies: tuple[Any, ...]) -> None:
    checks = {4: "len(result) == 20", 9: "len(result) == 45"}
    failure = await failure_of(varying(checks, returns="list[int]", varies=varies), ordered_set)
    assert failure.stage == "determinism"
    assert "Sort what comes from sets" in failure.fix
    assert "varies" not in failure.fix


async def test_a_check_that_held_by_chance_fails_in_another_rehearsal_and_names_what_checks_know() -> None:
    year = datetime.now(UTC).year
    failure = await failure_of(
        varying({0: f"result.startswith('{year}')"}, varies=("clock",), returns="str"), today
    )
    assert failure.stage == "determinism"
    assert "another clock" in failure.message
    assert "`now`" in failure.fix
    assert "`seed`" not in failure.fix


async def test_an_expected_result_that_varies_is_refused_with_check_as_the_way_out() -> None:
    wrong = Example(arguments={"n": 900_000}, expected=7)
    undeclared = await failure_of(varying(IN_RANGE, wrong), dice)
    assert undeclared.stage == "examples"
    assert 'add "varies": ["random"]' in undeclared.fix
    declared = await failure_of(varying(IN_RANGE, wrong, varies=("random",)), dice)
    assert declared.stage == "examples"
    assert "`check`" in declared.fix


async def test_a_wrong_result_that_does_not_vary_keeps_its_own_fix() -> None:
    wrong = Example(arguments={"n": 5}, expected="1999-01-01")
    failure = await failure_of(
        varying({0: "len(result) == 10"}, wrong, returns="str"), lambda n, _world: f"{n}" * 10
    )
    assert "varies" not in failure.fix


async def test_checks_that_name_the_clock_without_declaring_it_hear_what_to_declare() -> None:
    failure = await failure_of(varying(DATES, returns="str"), today)
    assert '"varies": ["clock"]' in failure.fix


async def test_a_tool_that_never_varies_does_not_pass_for_verified_by_saying_so() -> None:
    report = await report_of(varying({6: "1 <= result <= 6", 8: "1 <= result <= 8"}, varies=("random",)),
                             in_worlds(lambda _n, _world: 4))  # fmt: skip
    assert report.trust == "provisional"
    assert any("no result varied" in check.message for check in report.checks if not check.passed)


async def test_a_check_that_anything_passes_proves_nothing_of_a_tool_that_varies() -> None:
    failure = await failure_of(
        varying({6: "result is result", 7: "result is not seed"}, varies=("random",)), dice
    )
    assert (failure.stage, "holds for None" in failure.message) == ("examples", True)


async def test_a_network_call_without_a_host_is_told_what_to_ask_for() -> None:
    code = PROBE.format(
        imports="from urllib.request import urlopen",
        returns="int",
        result='len(urlopen("https://api.example.com/x").read())',
    )
    examples = tuple(Example(arguments={"n": n}, expected=n) for n in (1, 2, 3))

    def answer(_job: Job) -> RunResult:
        return RunResult(status="error", error_type="URLError", message="no network")

    for network, hinted in (((), True), (("api.example.com",), False)):
        grants = draft().grants.model_copy(update={"network": network})
        failure = (
            await report_of(
                draft(name="probe", code=code, examples=examples, grants=grants), ScriptedSandbox(answer)
            )
        ).failure
        assert failure is not None
        assert ('"needs": {"network": ["api.example.com"]}' in failure.fix) is hinted


DICE = PROBE.format(imports="import random", returns="int", result="random.randint(1, n)")
TODAY = PROBE.format(
    imports="import datetime",
    returns="str",
    result="(datetime.date.today() + datetime.timedelta(days=n)).isoformat()",
)
FRESH_ID = PROBE.format(imports="import uuid", returns="str", result="str(uuid.uuid4())[n:]")


@pytest.mark.sample(1)
@pytest.mark.bubblewrap
@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "checks", "varies"),
    [
        (
            DICE,
            {1_000_000: "result == random.Random(seed).randint(1, 1_000_000)", 3: "result in (1, 2, 3)"},
            "random",
        ),
        (TODAY, {0: "result == now.date().isoformat()", 40: "result > now.date().isoformat()"}, "clock"),
        (FRESH_ID, {0: "len(result) == 36 and result[14] == '4'", 9: "len(result) == 27"}, "random"),
    ],
    ids=["dice", "today", "uuid"],
)
async def test_it_holds_in_a_real_sandbox_and_later_calls_differ(
    settings: Settings, bubblewrap: None, code: str, checks: dict[int, str], varies: Any
) -> None:
    box = BubblewrapSandbox(settings)
    try:
        declared = varying(checks, varies=(varies,)).model_copy(update={"code": code})
        report = await report_of(declared, box)
        assert report.failure is None, report.failure
        one = Example(arguments={"n": next(iter(checks))}, expected=None)
        plain = declared.model_copy(update={"varies": ()})
        contract = read_contract(plain.code, plain.name, plain.description)
        moved = await find_causes(RehearsedDraft(plain, contract, None, Rehearsal(box)), one)
        assert moved == {varies}
        arguments = {"n": 1_000_000 if varies == "random" and "randint" in code else 0}
        with anyio.fail_after(60):
            results = [await box.run(Job(code=code, function="probe", arguments=arguments)) for _ in range(3)]
        assert len({result.value for result in results}) == (1 if varies == "clock" else 3)
    finally:
        await box.aclose()
