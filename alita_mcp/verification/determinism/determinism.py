"""Determinism gate: repeats calls in fresh processes, with another hash seed and another clock.

What a draft declares in `varies` stays as it was; then its examples are held to other clocks and seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Check, Draft
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.comparison.difference import shown_pair
from alita_mcp.verification.determinism.variation import Mover, declaration, moved_by
from alita_mcp.verification.examples.clock_and_seed import OTHER_REHEARSALS, clock_and_seed_of
from alita_mcp.verification.examples.examples import Trial, judge_all
from alita_mcp.verification.examples.trials import RehearsedDraft, failure_in_words, job_of, run_jobs
from alita_mcp.verification.findings import call_facts, failed, passed, shown

_STEADY = "Sort what comes from sets, seed random numbers, take the time as an argument."


async def determinism_gate(subject: RehearsedDraft, trials: Sequence[Trial]) -> list[Check]:
    """Repeats each example that gave a result; a different result is a hard failure, unless declared in `varies`.

    Raises:
        SandboxError: the sandbox failed.
    """
    draft = subject.draft
    first = [(trial, trial.result) for trial in trials if trial.result is not None and trial.result.ok]
    jobs = [job_of(draft, trial.example, subject.environment, again=True) for trial, _ in first]
    again = await run_jobs(subject.rehearsal, jobs)
    differing = [
        (trial, result, repeated)
        for (trial, result), repeated in zip(first, again, strict=True)
        if repeated is not None and not (repeated.ok and same_result(result.value, repeated.value))
    ]
    if not differing:
        kept = f", the {' and '.join(draft.varies)} as declared" if draft.varies else ""
        message = f"{len(first)} calls repeated with another hash seed and clock{kept}"
        return [passed("determinism", message)]
    moved = await moved_by(subject, differing[0][0].example)
    if moved == {"chance"} and "random" in draft.varies:
        return [passed("determinism", f"{len(first)} calls repeated; no seed brings their results back")]
    return [_differs(draft, *each, moved) for each in differing]


def _differs(draft: Draft, trial: Trial, result: RunResult, repeated: RunResult, moved: set[Mover]) -> Check:
    if repeated.ok:
        expected, got = shown_pair(result.value, repeated.value)
    else:
        expected, got = shown(result.value), failure_in_words(repeated)
    message = (
        f"example {trial.number} gave another result in a fresh process, with another hash seed and clock"
    )
    facts = call_facts(trial.example.arguments, repeated) | {"expected": expected, "got": got}
    return failed("determinism", message, declaration(draft, moved) or _STEADY, **facts)


async def variation_checks(subject: RehearsedDraft, trials: Sequence[Trial]) -> list[Check]:
    """Checks the examples of a draft that varies under other clocks and seeds; empty for any other draft.

    Raises:
        SandboxError: the sandbox failed.
    """
    draft, moved = subject.draft, False
    for number in range(1, OTHER_REHEARSALS + 1) if draft.varies else ():
        pinned = clock_and_seed_of(draft, number)
        jobs = [job_of(draft, trial.example, subject.environment, pinned=pinned) for trial in trials]
        results = await run_jobs(subject.rehearsal, jobs)
        pairs = list(zip(trials, results, strict=True))
        there = [replace(trial, result=result) for trial, result in pairs if result is not None]
        checks = await judge_all(there, subject.contract, subject.rehearsal.sandbox, pinned)
        missed = next((check for check in checks if not check.passed), None)
        if missed is not None:
            return [_chance_hit(draft, missed)]
        moved = moved or any(_is_other(trial.result, result) for trial, result in pairs)
    if draft.varies and not moved:
        message = f"no result varied in {OTHER_REHEARSALS} rehearsals with other clocks and seeds"
        fix = "Leave out varies, or add an example that varies."
        return [failed("determinism", message, fix, hard=False)]
    return []


def _is_other(one: RunResult | None, other: RunResult | None) -> bool:
    return one is not None and other is not None and not same_result(one.value, other.value)


def _chance_hit(draft: Draft, missed: Check) -> Check:
    names = {"clock": "`now` (a datetime in UTC)", "random": "`seed` (of `random.Random(seed)`)"}
    known = " and ".join(names[each] for each in draft.varies)
    message = f"{missed.message}, in a rehearsal with another {' and '.join(draft.varies)}"
    fix = f"Say with `check` what holds of every result; checks know `result`, `arguments`, {known}."
    return missed.model_copy(update={"stage": "determinism", "message": message, "fix": fix})
