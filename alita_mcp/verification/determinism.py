"""The determinism gate: the same calls in fresh processes, with another hash seed and another clock."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.sandbox.seam import Environment, RunResult, Sandbox
from alita_mcp.values import Check, Draft
from alita_mcp.verification.compare import same_result
from alita_mcp.verification.difference import shown_pair
from alita_mcp.verification.examples import Trial
from alita_mcp.verification.findings import passed, shown, shown_arguments
from alita_mcp.verification.rehearsal import Rehearsal
from alita_mcp.verification.trials import job_of, outcome_in_words, run_jobs


async def determinism_gate(
    draft: Draft,
    trials: Sequence[Trial],
    sandbox: Sandbox,
    environment: Environment | None,
    rehearsal: Rehearsal | None = None,
) -> list[Check]:
    """Repeats each example that gave a result; another result is a hard failure.

    Raises:
        SandboxError: the sandbox failed.
    """
    first = [(trial, trial.result) for trial in trials if trial.result is not None and trial.result.ok]
    jobs = [job_of(draft, trial.example, environment, again=True) for trial, _ in first]
    again = await run_jobs(sandbox, jobs, rehearsal)
    checks = [
        _differs(trial, result, repeated)
        for (trial, result), repeated in zip(first, again, strict=True)
        if repeated is not None and not (repeated.ok and same_result(result.value, repeated.value))
    ]
    return checks or [passed("determinism", f"{len(first)} calls repeated with another hash seed and clock")]


def _differs(trial: Trial, result: RunResult, repeated: RunResult) -> Check:
    if repeated.ok:
        expected, got = shown_pair(result.value, repeated.value)
    else:
        expected, got = shown(result.value), outcome_in_words(repeated)
    return Check(
        stage="determinism",
        passed=False,
        message=f"example {trial.number} gave another result in a fresh process, with another hash seed and clock",
        fix="Sort what comes from sets, seed random numbers, take the time as an argument.",
        case=shown_arguments(trial.example.arguments),
        expected=expected,
        got=got,
        trace=repeated.trace[-10:],
        seconds=repeated.wall_seconds,
    )
