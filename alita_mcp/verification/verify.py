"""All gates in order: a draft in, a verdict with its whole report out."""

from __future__ import annotations

import platform
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from alita_mcp import __version__
from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.seam import Environment, Sandbox
from alita_mcp.values import Check, Draft, Lock, ToolContract, Trust, Value, VerificationReport
from alita_mcp.verification.determinism import determinism_gate
from alita_mcp.verification.environment import environment_gate
from alita_mcp.verification.examples import Trial, examples_gate
from alita_mcp.verification.findings import failed
from alita_mcp.verification.rehearsal import ReadTool, Rehearsal
from alita_mcp.verification.static import static_gate
from alita_mcp.verification.trials import FIRST_SEED, SECOND_SEED

OnStage = Callable[[str], Awaitable[None]]


class Verdict(Value):
    """What the gates made of a draft; it is accepted when the report's trust is not `rejected`."""

    report: VerificationReport
    contract: ToolContract | None
    """None when the code declares none."""
    lock: Lock | None
    """Empty for a draft without packages; None when they could not be locked or nobody asked."""


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

    def add(self, checks: list[Check]) -> bool:
        """Keeps a gate's checks; true when none of them ends the run."""
        self.checks += checks
        return all(check.passed or not check.hard for check in checks)


async def verify(
    draft: Draft, sandbox: Sandbox, on_stage: OnStage, read_tool: ReadTool | None = None
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
        course.add([failed("environment", refused.message, fix)])
    return Verdict(
        report=_report(course, draft, sandbox.kind, time.monotonic() - started),
        contract=course.contract,
        lock=course.lock,
    )


async def _run_gates(course: _Course, draft: Draft, on_stage: OnStage, rehearsal: Rehearsal) -> None:
    sandbox = rehearsal.sandbox
    await on_stage("static")
    checks, contract = await static_gate(draft)
    course.contract = contract
    if not course.add(checks) or contract is None:
        return
    course.lock = Lock()
    if draft.packages:
        await on_stage("environment")
        checks, course.lock, course.environment = await environment_gate(draft, sandbox, on_stage)
        if not course.add(checks):
            return
    await on_stage("examples")
    course.seeds = (FIRST_SEED,)
    found = await examples_gate(draft, contract, sandbox, course.environment, rehearsal)
    course.trials, course.examples_passed = found.trials, found.passed
    if not course.add(found.checks):
        return
    await on_stage("determinism")
    course.seeds = (FIRST_SEED, SECOND_SEED)
    checks = await determinism_gate(draft, course.trials, sandbox, course.environment, rehearsal)
    course.deterministic = course.add(checks) and draft.grants.is_pure  # the world changes, rehearsals do not


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
        environment=course.environment.digest if course.environment else None,
        seconds=round(seconds, 3),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        software={
            "alita": __version__,
            "python": platform.python_version(),
            "ruff": version("ruff"),
            "sandbox": kind,
        },
    )


def _trust(checks: list[Check]) -> Trust:
    if any(check.hard and not check.passed for check in checks):
        return "rejected"
    return "verified" if all(check.passed for check in checks) else "provisional"
