"""Conformance suite: runs every claim on a back end, one after the other, and reports instead of raising."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection

from alita_mcp.errors import SandboxError, SandboxRefused, SandboxUnavailable
from alita_mcp.sandbox.conformance.calls_at_once import CANCELLATION, CONCURRENCY
from alita_mcp.sandbox.conformance.claims import Broken, Claim, Lacking, Subject, Untried, said
from alita_mcp.sandbox.conformance.cleanliness import CLEANLINESS
from alita_mcp.sandbox.conformance.environments import ENVIRONMENTS
from alita_mcp.sandbox.conformance.errors_and_traces import ERRORS
from alita_mcp.sandbox.conformance.grants import GRANTS
from alita_mcp.sandbox.conformance.isolation import ISOLATION
from alita_mcp.sandbox.conformance.limits import LIMITS
from alita_mcp.sandbox.conformance.report import ConformanceReport, Verdict, VerdictKind
from alita_mcp.sandbox.conformance.results import RESULTS
from alita_mcp.sandbox.interface import Sandbox

CLAIMS: tuple[Claim, ...] = (
    *RESULTS, *ERRORS, *LIMITS, *ISOLATION, *CLEANLINESS, *CONCURRENCY, *CANCELLATION, *ENVIRONMENTS, *GRANTS,
)  # fmt: skip
"""The whole suite, chapter by chapter."""
_FAILED: VerdictKind = "failed"
_SKIPPED: VerdictKind = "skipped"
OnVerdict = Callable[[Verdict], Awaitable[None]]


async def conform(
    sandbox: Sandbox, *, skip: Collection[str] = (), on_verdict: OnVerdict | None = None
) -> ConformanceReport:
    """Tries each claim of the interface on a back end.

    `skip` names chapters that are left out: `environments` needs the package index. The sandbox is used, not closed;
    `on_verdict` hears each verdict as it is found. Isolation is tried first of all: a back end that reads the
    host's files is told so before anything else is run in it.

    Raises:
        SandboxUnavailable: the back end does not work here at all, so nothing can be said about it.
    """
    started = time.monotonic()
    subject = Subject(sandbox)
    await _start(subject)
    verdicts = {}
    for claim in sorted(CLAIMS, key=lambda claim: claim.chapter != "isolation"):
        verdicts[claim.sentence] = verdict = await _tried(claim, subject, skip)
        if on_verdict is not None:
            await on_verdict(verdict)
    return ConformanceReport(
        kind=sandbox.kind,
        verdicts=tuple(verdicts[claim.sentence] for claim in CLAIMS),
        seconds=round(time.monotonic() - started, 3),
    )


async def _start(subject: Subject) -> None:
    try:
        await subject.run("def f():\n    return 1\n")
    except SandboxUnavailable:
        raise
    except Exception:  # noqa: BLE001 - the claims will say what is wrong with it
        return


async def _tried(claim: Claim, subject: Subject, skip: Collection[str]) -> Verdict:
    started = time.monotonic()
    if claim.chapter in skip:
        outcome, detail = _SKIPPED, "its chapter was left out"
    else:
        outcome, detail = await _outcome(claim, subject)
    if outcome == "refused" and claim.essential:
        outcome, detail = _FAILED, f"no sandbox can do without it: {detail}"
    return Verdict(
        chapter=claim.chapter, claim=claim.sentence, outcome=outcome, detail=detail,
        seconds=round(time.monotonic() - started, 3),
    )  # fmt: skip


async def _outcome(claim: Claim, subject: Subject) -> tuple[VerdictKind, str]:
    try:
        await claim.attempt(subject)
    except Exception as problem:  # noqa: BLE001 - a stranger's back end may raise anything, which is a finding
        return _judged(problem)
    return "passed", ""


def _judged(problem: BaseException) -> tuple[VerdictKind, str]:
    """What an attempt that did not return says about the claim."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if isinstance(problem, SandboxError):
        return ("refused" if isinstance(problem, SandboxRefused) else _FAILED), said(problem)
    if isinstance(problem, Lacking):
        return "refused", str(problem)
    if isinstance(problem, Untried):
        return _SKIPPED, str(problem)
    if isinstance(problem, Broken):
        return _FAILED, str(problem)
    return _FAILED, f"it raised {type(problem).__name__}: {problem}"[:300]
