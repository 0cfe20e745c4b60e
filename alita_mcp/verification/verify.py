"""Verification pipeline: runs all gates in order and returns a verdict with its report."""

from __future__ import annotations

import platform
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import anyio.to_thread

from alita_mcp import __version__
from alita_mcp.errors import SandboxRefused
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Environment, Sandbox
from alita_mcp.sandbox.workers.hash_seeds import hash_seed
from alita_mcp.values import (
    Check,
    Draft,
    Lock,
    MutationScore,
    Stage,
    ToolContract,
    Trust,
    Value,
    VerificationReport,
)
from alita_mcp.verification.determinism import (
    declaration,
    determinism_gate,
    find_causes,
    may_vary,
    variation_checks,
)
from alita_mcp.verification.environment import environment_gate
from alita_mcp.verification.examples.examples import ExamplesFound, Trial, examples_gate
from alita_mcp.verification.examples.trials import SECOND_CLOCK_OFFSET_S, RehearsedDraft
from alita_mcp.verification.findings import fail_check
from alita_mcp.verification.mutation.mutation import mutation_gate
from alita_mcp.verification.properties.input_source import input_source
from alita_mcp.verification.properties.properties import INPUTS, properties_gate, seed_of
from alita_mcp.verification.rehearsal.rehearsal import ReadTool, Rehearsal
from alita_mcp.verification.static.needs import network_hint
from alita_mcp.verification.static.static import static_gate


async def with_hints(subject: RehearsedDraft, found: ExamplesFound) -> list[Check]:
    """The checks of the examples gate; the first failure says what to add to the request, if known.

    Raises:
        SandboxError: the sandbox failed.
    """
    failing = next(
        (place for place, check in enumerate(found.checks) if check.hard and not check.passed), None
    )
    if failing is None or failing >= len(found.trials):
        return found.checks
    trial, check = found.trials[failing], found.checks[failing]
    fix = await _variation(subject, trial)
    if not fix and (hint := await anyio.to_thread.run_sync(network_hint, subject.draft)):
        fix = f"{check.fix} {hint}"
    if not fix:
        return found.checks
    mended = check.model_copy(update={"fix": fix})
    return [mended if each is check else each for each in found.checks]


async def _variation(subject: RehearsedDraft, trial: Trial) -> str:
    """What to do about a result that was not the expected one because it is another one each time."""
    example, result = trial.example, trial.result
    told = "expected" in example.outcome_fields and result is not None and result.ok
    if not told or not may_vary(subject.contract.imports):
        return ""
    moved = await find_causes(subject, example)
    undeclared = declaration(subject.draft, moved)
    if undeclared or not moved - {"hash seed"}:
        return undeclared
    return "This result varies: say with `check` what holds of each, instead of `expected`."


class Verdict(Value):
    """Verdict of the gates on a draft; it is accepted when the report's trust is not `rejected`."""

    report: VerificationReport
    contract: ToolContract | None
    """None when the code declares none."""
    lock: Lock | None
    """Empty for a draft without packages; None when they could not be locked or were not requested."""


@dataclass
class _Course:
    """One verification as it goes along; becomes a report at the end."""

    checks: list[Check] = field(default_factory=list)
    contract: ToolContract | None = None
    lock: Lock | None = None
    environment: Environment | None = None
    trials: list[Trial] = field(default_factory=list)
    examples_passed: int = 0
    deterministic: bool = False
    seeds: tuple[int, ...] = ()
    properties: int = 0
    properties_seed: int | None = None
    mutation: MutationScore | None = None
    seconds_by_gate: dict[str, float] = field(default_factory=dict)

    def add(self, checks: list[Check]) -> bool:
        """Keeps a gate's checks; true when none of them ends the run."""
        self.checks += checks
        return all(check.passed or not check.hard for check in checks)


async def verify(
    draft: Draft, sandbox: Sandbox, on_stage: ReportStage, read_tool: ReadTool | None = None
) -> Verdict:
    """Runs the gates in order; the first hard failure ends the run.

    `on_stage` hears the name of each stage as it begins, and lines such as `environment: …` in between.
    A draft that asks for grants is rehearsed: no real host, model, secret or file is touched. `read_tool` finds
    the tools that it calls; without it every such call is an error.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft. A sandbox that *refuses* what the
            draft needs is a check of the stage `environment` instead.
    """
    started = time.monotonic()
    course = _Course()
    try:
        await _run_gates(course, draft, on_stage, Rehearsal(sandbox, read_tool))
    except SandboxRefused as refused:
        fix = refused.hint or "Install Docker or bubblewrap, or do without the feature."
        offers = (await sandbox.abilities()).offers
        course.add([fail_check("environment", refused.message, " ".join((fix, *offers)))])
    return Verdict(
        report=_report(course, draft, sandbox.kind, time.monotonic() - started),
        contract=course.contract,
        lock=course.lock,
    )


async def _run_gates(course: _Course, draft: Draft, on_stage: ReportStage, rehearsal: Rehearsal) -> None:
    async with _stage(course, "static", on_stage):
        checks, contract = await static_gate(draft, rehearsal.sandbox)
        course.contract = contract
    if not course.add(checks) or contract is None:
        return
    course.lock = Lock()
    if draft.packages:
        async with _stage(course, "environment", on_stage):
            found = await environment_gate(draft, rehearsal.sandbox, on_stage)
            checks, course.lock, course.environment = found
        if not course.add(checks):
            return
    subject, seed = RehearsedDraft(draft, contract, course.environment, rehearsal), seed_of(draft)
    # started now: its imports take as long as the examples do
    async with input_source(contract.input_schema, draft.examples, seed, INPUTS) as source:
        if not await _run_examples(course, subject, on_stage):
            return
        async with _stage(course, "properties", on_stage):
            course.properties_seed = seed
            tried = await properties_gate(subject, course.trials, source)
            course.properties = tried.tried
        if not course.add(tried.checks):
            return
    async with _stage(course, "mutation", on_stage):
        mutated = await mutation_gate(subject, course.trials, tried.seen)
        course.mutation = mutated.score
    course.add(mutated.checks)


async def _run_examples(course: _Course, subject: RehearsedDraft, on_stage: ReportStage) -> bool:
    draft = subject.draft
    async with _stage(course, "examples", on_stage):
        course.seeds = (hash_seed(draft.code, 0),)
        found = await examples_gate(subject)
        course.trials, course.examples_passed = found.trials, found.passed
    if not course.add(await with_hints(subject, found)):
        return False
    async with _stage(course, "determinism", on_stage):
        course.seeds += (hash_seed(draft.code, SECOND_CLOCK_OFFSET_S),)
        checks = await determinism_gate(subject, course.trials)
        if all(check.passed for check in checks):
            checks += await variation_checks(subject, course.trials)
    same = course.add(checks)
    # what tools reach outside changes, rehearsals do not
    course.deterministic = same and draft.grants.is_pure and not draft.varies
    return same


@asynccontextmanager
async def _stage(course: _Course, name: Stage, on_stage: ReportStage) -> AsyncIterator[None]:
    """Says that a stage begins and keeps how long it took."""
    await on_stage(name)
    started = time.monotonic()
    try:
        yield
    finally:
        course.seconds_by_gate[name] = round(time.monotonic() - started, 3)


def _report(course: _Course, draft: Draft, kind: str, seconds: float) -> VerificationReport:
    from importlib.metadata import version

    return VerificationReport(
        trust=_trust(course.checks),
        checks=tuple(course.checks),
        sandbox=kind,
        examples_passed=course.examples_passed,
        examples_total=len(course.trials) or len(draft.examples),
        deterministic=course.deterministic,
        seeds=course.seeds,
        properties=course.properties,
        properties_seed=course.properties_seed,
        mutation=course.mutation,
        environment=course.environment.digest if course.environment else None,
        seconds=round(seconds, 3),
        seconds_by_gate=course.seconds_by_gate,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        recorded=draft.recorded,
        software={
            "alita": __version__,
            "python": platform.python_version(),
            "pyflakes": version("pyflakes"),
            "hypothesis": version("hypothesis"),
            "sandbox": kind,
        },
    )


def _trust(checks: list[Check]) -> Trust:
    if any(check.hard and not check.passed for check in checks):
        return "rejected"
    return "verified" if all(check.passed for check in checks) else "provisional"
