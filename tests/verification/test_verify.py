"""All gates in order, against scripted sandboxes: what the report says, what is heard, what is never run."""

from __future__ import annotations

import time
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from alita_mcp import __version__
from alita_mcp.errors import PackagesRejected, SandboxError, SandboxRefused
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Broker, Environment, Job, Progress, RunResult
from alita_mcp.sandbox.workers.calls import hash_seed
from alita_mcp.settings import Settings
from alita_mcp.values import Draft, Example, Lock
from alita_mcp.verification.examples.trials import SECOND_CLOCK_OFFSET_S
from alita_mcp.verification.properties import INPUTS, seed_of
from alita_mcp.verification.verify import Verdict, verify
from tests.scripted_sandbox import ScriptedSandbox
from tests.verification.drafts import SHOUT, SHOUT_EXAMPLES, Stages, behaves_as, draft, shout


async def judged(candidate: Draft, sandbox: Any, stages: Stages | None = None) -> Verdict:
    with anyio.fail_after(60):
        return await verify(candidate, sandbox, Stages() if stages is None else stages)


async def test_a_good_draft_is_verified_and_the_report_tells_how() -> None:
    stages, sandbox = Stages(), behaves_as(shout)
    verdict = await judged(draft(), sandbox, stages)
    report = verdict.report
    assert stages == ["static", "examples", "determinism", "properties", "mutation"]
    assert report.trust == "verified"
    assert report.failure is None
    assert [check.stage for check in report.checks] == [
        "static",
        "examples",
        "examples",
        "examples",
        "determinism",
        "properties",
        "mutation",
    ]
    assert (report.examples_passed, report.examples_total) == (3, 3)
    assert report.deterministic
    assert report.seeds == (hash_seed(SHOUT, 0), hash_seed(SHOUT, SECOND_CLOCK_OFFSET_S))
    assert 20 < report.properties <= INPUTS
    assert report.properties_seed == seed_of(draft())
    assert report.mutation is not None
    assert report.mutation.killed == report.mutation.total > 5
    assert list(report.seconds_by_gate) == stages
    assert report.sandbox == report.software["sandbox"] == "scripted"
    assert report.software["alita"] == __version__
    assert report.software.keys() == {"alita", "pyflakes", "python", "sandbox"}
    assert datetime.fromisoformat(report.created_at).tzinfo == UTC
    assert verdict.contract is not None
    assert verdict.contract.function == "shout"
    assert verdict.lock == Lock()


async def test_results_are_repeated_under_another_clock_and_no_job_names_its_hash_seed() -> None:
    sandbox = behaves_as(shout)
    await judged(draft(), sandbox)
    first, again, generated = sandbox.jobs[:3], sandbox.jobs[3:5], sandbox.jobs[5:]
    assert {job.hash_seed for job in sandbox.jobs} == {None}, "real calls name none, so no rehearsal may"
    assert {job.clock_offset_s for job in first} == {0}
    assert [job.arguments for job in again] == [example.arguments for example in SHOUT_EXAMPLES[:2]]
    assert all(job.clock_offset_s > 365 * 86_400 for job in again)
    assert all(job.limits == draft().limits and job.code == SHOUT for job in sandbox.jobs)
    assert {job.clock_offset_s for job in generated} == {0}


@pytest.mark.parametrize(
    ("second", "got"),
    [
        (RunResult(status="ok", value="HEY?"), "HEY?"),
        (RunResult(status="error", error_type="KeyError", message="x"), "raised KeyError: x"),
        (RunResult(status="timeout", message="30 s"), "out of time: 30 s"),
    ],
)
async def test_another_result_the_second_time_is_refused(second: RunResult, got: str) -> None:
    def answer(job: Job) -> RunResult:
        return second if job.clock_offset_s and job.arguments["text"] == "hey" else steady(job)

    steady = behaves_as(shout)._answer
    verdict = await judged(draft(), ScriptedSandbox(answer))
    failure = verdict.report.failure
    assert verdict.report.trust == "rejected"
    assert not verdict.report.deterministic
    assert failure is not None
    assert failure.stage == "determinism"
    assert failure.message.startswith("example 1 gave another result")
    assert (failure.case, failure.expected, failure.got) == ({"text": "hey"}, "HEY!", got)
    assert "random" in failure.fix


async def test_the_last_digit_of_a_float_is_no_difference() -> None:
    code = "def probe(x: float) -> float:\n    return x"
    examples = tuple(Example(arguments={"x": x}, expected=x) for x in (0.0, 1.5, 0.3))

    def answer(job: Job) -> RunResult:
        return RunResult(status="ok", value=job.arguments["x"] * (1 + 1e-12 * bool(job.clock_offset_s)))

    verdict = await judged(draft(name="probe", code=code, examples=examples), ScriptedSandbox(answer))
    assert verdict.report.trust == "verified"


async def test_thin_evidence_is_provisional_and_says_why() -> None:
    verdict = await judged(draft(examples=SHOUT_EXAMPLES[:2]), behaves_as(shout))
    assert verdict.report.trust == "provisional"
    assert verdict.report.failure is None
    assert [check.message for check in verdict.report.checks if not check.passed] == [
        "2 distinct examples; `verified` needs 3"
    ]


async def test_a_draft_that_fails_statically_never_reaches_the_sandbox() -> None:
    for broken in (draft(code="import nowhere\n" + SHOUT), draft(code="("), draft(description="")):
        stages, sandbox = Stages(), behaves_as(shout)
        verdict = await judged(broken, sandbox, stages)
        assert stages == ["static"]
        assert sandbox.jobs == []
        assert verdict.report.trust == "rejected"
        assert verdict.report.seeds == ()
        assert (verdict.report.examples_passed, verdict.report.examples_total) == (0, 3)
        assert verdict.lock is None


async def test_a_failing_example_ends_the_run_before_determinism() -> None:
    stages = Stages()
    verdict = await judged(draft(), behaves_as(lambda text, times=1: text), stages)
    assert stages == ["static", "examples"]
    assert verdict.report.failure is not None
    assert verdict.report.failure.stage == "examples"
    assert verdict.contract is not None


async def test_packages_are_built_first_and_every_call_has_them() -> None:
    stages, sandbox = Stages(), behaves_as(shout)
    packages = draft(packages=("six>=1.16",), code="import six\n" + SHOUT)
    verdict = await judged(packages, sandbox, stages)
    assert stages == [
        "static",
        "environment",
        "environment: resolving six>=1.16",
        "environment: installing 1 packages",
        "examples",
        "determinism",
        "properties",
        "mutation",
    ]
    assert verdict.report.trust == "verified"
    assert verdict.report.environment == "scripted"
    assert verdict.lock is not None
    assert verdict.lock.requirements
    assert all(job.environment == Environment(digest="scripted", location="nowhere") for job in sandbox.jobs)


class Unwilling(ScriptedSandbox):
    """Raises one error wherever it is told to."""

    def __init__(self, error: Exception, where: str) -> None:
        super().__init__(behaves_as(shout)._answer)
        self.error, self.where = error, where

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        if self.where == "resolve":
            raise self.error
        return await super().resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        if self.where == "prepare":
            raise self.error
        return await super().prepare(lock, progress)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if self.where == "run":
            raise self.error
        return await super().run(job)


@pytest.mark.parametrize("where", ["resolve", "prepare"])
@pytest.mark.parametrize("hint", ["", "Try five instead."])
async def test_packages_that_cannot_be_had_are_an_answer(where: str, hint: str) -> None:
    error = PackagesRejected("There is no package 'six'.", hint=hint)
    verdict = await judged(draft(packages=("six",)), Unwilling(error, where))
    failure = verdict.report.failure
    assert failure is not None
    assert (failure.stage, failure.message) == ("environment", "There is no package 'six'.")
    assert failure.fix == hint or (not hint and "wheels" in failure.fix)
    assert verdict.lock is None


@pytest.mark.parametrize("where", ["resolve", "prepare", "run"])
async def test_what_a_sandbox_refuses_is_an_answer_that_says_what_to_install(where: str) -> None:
    error = SandboxRefused("wasm runs no packages.", hint="Install Docker.")
    verdict = await judged(draft(packages=("six",)), Unwilling(error, where))
    failure = verdict.report.failure
    assert failure is not None
    assert (failure.stage, failure.message, failure.fix) == (
        "environment",
        "wasm runs no packages.",
        "Install Docker. Nothing runs here: answers come from a script.",
    )
    assert verdict.report.trust == "rejected"


@pytest.mark.parametrize("where", ["resolve", "prepare", "run"])
async def test_a_failing_sandbox_says_nothing_about_the_draft(where: str) -> None:
    error = SandboxError("The engine is gone.")
    with pytest.raises(SandboxError) as caught:
        await judged(draft(packages=("six",)), Unwilling(error, where))
    assert caught.value is error


@pytest.mark.bubblewrap
async def test_a_tool_that_waits_for_a_known_hash_seed_does_not_pass_for_deterministic(
    bubblewrap: None, settings: Settings
) -> None:
    code = f"""
import os
import time


def era(add: int) -> int:
    \"\"\"Counts.\"\"\"
    now = time.time()
    if os.environ["PYTHONHASHSEED"] != "0":  # what real calls used to have, and the repeated ones not
        now -= {SECOND_CLOCK_OFFSET_S}
    return int(now // {SECOND_CLOCK_OFFSET_S}) + add
"""
    now = int(time.time() // SECOND_CLOCK_OFFSET_S)
    examples = tuple(Example(arguments={"add": add}, expected=now + add) for add in (0, 1, 7))
    async with aclosing(BubblewrapSandbox(settings)) as sandbox:
        verdict = await judged(draft(name="era", code=code, examples=examples), sandbox)
    assert verdict.report.trust == "rejected"
    assert not verdict.report.deterministic
