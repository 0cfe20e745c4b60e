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
from alita_mcp.progress import ReportStage, report_end
from alita_mcp.sandbox.interface import Environment, Sandbox
from alita_mcp.sandbox.workers.calls import hash_seed
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
    advise_varies,
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
from alita_mcp.verification.properties import properties_gate, seed_of
from alita_mcp.verification.rehearsal.rehearsal import ReadTool, Rehearsal
from alita_mcp.verification.static.needs import network_hint
from alita_mcp.verification.static.static import static_gate


class Verdict(Value):
    """Verdict of the gates on a draft; it is accepted when the report's trust is not `rejected`."""

    report: VerificationReport
    contract: ToolContract | None
    """None when the code declares none."""
    lock: Lock | None
    """Empty for a draft without packages; None when they could not be locked or were not requested."""


@dataclass
class _Progress:
    """What one verification has found so far; becomes a report at the end."""

    on_stage: ReportStage
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

    def add(self, gate: Stage, checks: list[Check]) -> bool:
        """Keeps a gate's checks and reports how it ended; returns whether the run goes on."""
        self.checks += checks
        failed = [check for check in checks if not check.passed]
        goes_on = not any(check.hard for check in failed)
        told = [check.message for check in failed or checks]
        text = f"{len(told)} checks" if not failed and len(told) > 1 else "; ".join(told)
        report_end(self.on_stage, gate, "passed" if not failed else "weak" if goes_on else "failed", text)
        return goes_on


async def verify(
    draft: Draft,
    sandbox: Sandbox,
    on_stage: ReportStage,
    read_tool: ReadTool | None = None,
    *,
    mutates: bool = True,
) -> Verdict:
    """Runs the gates in order; the first hard failure ends the run.

    A draft that asks for grants is rehearsed: no real host, model, secret or file is touched.

    Args:
        draft: What to verify.
        sandbox: Where its code runs.
        on_stage: Hears the name of each stage as it begins, and lines such as `environment: …` in between.
        read_tool: Finds the tools that it calls; without it every such call is an error.
        mutates: Whether the examples are measured too, which takes most of the time and depends on no sandbox.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft. A sandbox that *refuses* what the
            draft needs is a check of the stage `environment` instead.
    """
    started = time.monotonic()
    progress = _Progress(on_stage)
    try:
        await _run_gates(progress, draft, Rehearsal(sandbox, read_tool), mutates=mutates)
    except SandboxRefused as refused:
        fix = refused.hint or "Install Docker or bubblewrap, or do without the feature."
        offers = (await sandbox.abilities()).offers
        progress.add("environment", [fail_check("environment", refused.message, " ".join((fix, *offers)))])
    report = _report(progress, draft, sandbox.kind, time.monotonic() - started)
    return Verdict(report=report, contract=progress.contract, lock=progress.lock)


async def _run_gates(progress: _Progress, draft: Draft, rehearsal: Rehearsal, *, mutates: bool) -> None:
    async with _stage(progress, "static"):
        checks, contract = await static_gate(draft, rehearsal.sandbox)
        progress.contract = contract
    if not progress.add("static", checks) or contract is None:
        return

    progress.lock = Lock()
    if draft.packages:
        async with _stage(progress, "environment"):
            built = await environment_gate(draft, rehearsal.sandbox, progress.on_stage)
            checks, progress.lock, progress.environment = built
        if not progress.add("environment", checks):
            return

    subject = RehearsedDraft(draft, contract, progress.environment, rehearsal)
    async with _stage(progress, "examples"):
        progress.seeds = (hash_seed(draft.code, 0),)
        found = await examples_gate(subject)
        progress.trials, progress.examples_passed = found.trials, found.passed
    if not progress.add("examples", await _add_hint(subject, found)):
        return

    async with _stage(progress, "determinism"):
        progress.seeds += (hash_seed(draft.code, SECOND_CLOCK_OFFSET_S),)
        checks = await determinism_gate(subject, progress.trials)
        if all(check.passed for check in checks):
            checks += await variation_checks(subject, progress.trials)
    if not progress.add("determinism", checks):
        return
    # what tools reach outside changes, rehearsals do not
    progress.deterministic = draft.grants.is_pure and not draft.varies

    async with _stage(progress, "properties"):
        progress.properties_seed = seed_of(draft)
        tried = await properties_gate(subject, progress.trials)
        progress.properties = tried.tried
    if not progress.add("properties", tried.checks) or not mutates:
        return

    async with _stage(progress, "mutation"):
        mutated = await mutation_gate(subject, progress.trials, tried.seen)
        progress.mutation = mutated.score
    progress.add("mutation", mutated.checks)


async def _add_hint(subject: RehearsedDraft, found: ExamplesFound) -> list[Check]:
    """The checks of the examples gate; the first failure says what to add to the request, if that is known."""
    place = next((at for at, check in enumerate(found.checks) if check.hard and not check.passed), None)
    if place is None or place >= len(found.trials):
        return found.checks
    example, result = found.trials[place].example, found.trials[place].result
    check, fix = found.checks[place], ""
    # The example fails (1) because its result is another one each time, or (2) because it asks for no host.
    has_value = "expected" in example.outcome_fields and result is not None and result.ok
    if has_value and may_vary(subject.contract.imports):
        causes = await find_causes(subject, example)
        fix = advise_varies(subject.draft, causes)
        if not fix and causes - {"hash seed"}:
            fix = "This result varies: write a `check` that holds for every result, instead of `expected`."
    if not fix and (hint := await anyio.to_thread.run_sync(network_hint, subject.draft)):
        fix = f"{check.fix} {hint}"
    if not fix:
        return found.checks
    return [*found.checks[:place], check.model_copy(update={"fix": fix}), *found.checks[place + 1 :]]


@asynccontextmanager
async def _stage(progress: _Progress, name: Stage) -> AsyncIterator[None]:
    """Reports that a stage begins, and keeps how long it took."""
    await progress.on_stage(name)
    started = time.monotonic()
    try:
        yield
    finally:
        progress.seconds_by_gate[name] = round(time.monotonic() - started, 3)


def _report(progress: _Progress, draft: Draft, kind: str, seconds: float) -> VerificationReport:
    from importlib.metadata import version

    failed = [check for check in progress.checks if not check.passed]
    trust: Trust = (
        "rejected" if any(check.hard for check in failed) else "provisional" if failed else "verified"
    )
    return VerificationReport(
        trust=trust,
        checks=tuple(progress.checks),
        sandbox=kind,
        examples_passed=progress.examples_passed,
        examples_total=len(progress.trials) or len(draft.examples),
        deterministic=progress.deterministic,
        seeds=progress.seeds,
        properties=progress.properties,
        properties_seed=progress.properties_seed,
        mutation=progress.mutation,
        environment=progress.environment.digest if progress.environment else None,
        seconds=round(seconds, 3),
        seconds_by_gate=progress.seconds_by_gate,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        recorded=draft.recorded,
        software={
            "alita": __version__,
            "python": platform.python_version(),
            "pyflakes": version("pyflakes"),
            "sandbox": kind,
        },
    )
