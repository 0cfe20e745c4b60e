"""Determinism gate: repeats calls in fresh processes, with another hash seed and another clock.

What a draft declares in `varies` stays as it was; then its examples are held to other clocks and seeds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from alita_mcp.values import Check, Draft, Example, Varying
from alita_mcp.verification.comparison import cut_pair, same_result
from alita_mcp.verification.examples.examples import Trial, judge_all
from alita_mcp.verification.examples.trials import (
    OTHER_REHEARSALS,
    RehearsedDraft,
    clock_and_seed_of,
    describe_failure,
    job_of,
    pin_clock_and_seed,
    run_jobs,
)
from alita_mcp.verification.findings import call_facts, cut_value, fail_check, pass_check

Cause = Literal["clock", "random", "hash seed", "chance"]
"""`chance`: what cannot be set, such as addresses, threads and how long something took."""
_MAY_VARY = {"random", "secrets", "uuid", "time", "datetime", "os", "numpy", "calendar", "zoneinfo"}


def may_vary(imports: tuple[str, ...]) -> bool:
    """Whether a tool imports a module that gives time or random numbers."""
    return not _MAY_VARY.isdisjoint(imports)


async def find_causes(subject: RehearsedDraft, example: Example) -> set[Cause]:
    """The causes that alone change an example's result; `chance` where it changes while all are pinned.

    Raises:
        SandboxError: the sandbox failed.
    """
    one, other = (pin_clock_and_seed(subject.draft.code, number) for number in (0, 1))
    plain = job_of(subject.draft, example, subject.environment)
    base: dict[str, Any] = {
        "clock_offset_s": 0, "moment": one.moment, "random_seed": one.seed, "hash_seed": 1, "fresh": True,
    }  # fmt: skip
    changes: dict[Cause, dict[str, Any]] = {
        "chance": {},
        "clock": {"moment": other.moment},
        "random": {"random_seed": other.seed},
        "hash seed": {"hash_seed": 2},
    }
    jobs = [plain.model_copy(update={**base, **change}) for change in ({}, *changes.values())]
    first, *changed = await run_jobs(subject.rehearsal, jobs)
    causes: set[Cause] = set()
    for cause, result in zip(changes, changed, strict=True):
        if first is not None and result is not None:
            same_end = (first.status, first.error_type) == (result.status, result.error_type)
            if not same_end or not same_result(first.value, result.value):
                causes.add(cause)
    return {"chance"} if "chance" in causes else causes


def advise_varies(draft: Draft, causes: set[Cause]) -> str:
    """Advice to declare what a result varies by; empty where nothing can be declared."""
    named: set[Varying] = {
        "random" if each in ("random", "chance") else "clock" for each in causes - {"hash seed"}
    }
    missing = sorted(named - {*draft.varies})
    if not missing:
        return ""
    varies = json.dumps(sorted({*draft.varies, *missing}))
    what = {"clock": "the clock", "random": "random numbers"}
    if causes == {"chance"}:
        cause = "It changes with each call, whatever the clock and the seed"
    else:
        cause = f"It changes with {' and '.join(what[each] for each in missing)}"
    steady = (
        "take the time as an argument" if missing == ["clock"] else "seed them, or sort what comes from sets"
    )
    return f'{cause}. If that is meant, add "varies": {varies} and use `check` in the tests; else {steady}.'


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
        return [pass_check("determinism", message)]
    # a result that no seed brings back is what `random` declares; any other difference is a failure
    causes = await find_causes(subject, differing[0][0].example)
    if causes == {"chance"} and "random" in draft.varies:
        return [pass_check("determinism", f"{len(first)} calls repeated; no seed brings their results back")]
    checks = []
    for trial, result, repeated in differing:
        if repeated.ok:
            expected, got = cut_pair(result.value, repeated.value)
        else:
            expected, got = cut_value(result.value), describe_failure(repeated)
        message = (
            f"example {trial.number} gave another result in a fresh process, with another hash seed and clock"
        )
        facts = call_facts(trial.example.arguments, repeated) | {"expected": expected, "got": got}
        checks.append(fail_check("determinism", message, advise_varies(draft, causes) or _STEADY, **facts))
    return checks


async def variation_checks(subject: RehearsedDraft, trials: Sequence[Trial]) -> list[Check]:
    """Checks the examples of a draft that varies under other clocks and seeds; empty for any other draft.

    Raises:
        SandboxError: the sandbox failed.
    """
    draft, varied = subject.draft, False
    for number in range(1, OTHER_REHEARSALS + 1) if draft.varies else ():
        pinned = clock_and_seed_of(draft, number)
        jobs = [job_of(draft, trial.example, subject.environment, pinned=pinned) for trial in trials]
        results = await run_jobs(subject.rehearsal, jobs)
        pairs = list(zip(trials, results, strict=True))
        there = [replace(trial, result=result) for trial, result in pairs if result is not None]
        checks = await judge_all(there, subject.contract, subject.rehearsal.sandbox, pinned)
        missed = next((check for check in checks if not check.passed), None)
        if missed is not None:  # it held by chance before
            names = {"clock": "`now` (a datetime in UTC)", "random": "`seed` (of `random.Random(seed)`)"}
            known = " and ".join(names[each] for each in draft.varies)
            message = f"{missed.message}, in a rehearsal with another {' and '.join(draft.varies)}"
            fix = f"Write a `check` that holds for every result; checks know `result`, `arguments`, {known}."
            update = {"stage": "determinism", "message": message, "fix": fix}
            return [missed.model_copy(update=update)]
        varied = varied or any(
            trial.result is not None
            and result is not None
            and not same_result(trial.result.value, result.value)
            for trial, result in pairs
        )
    if draft.varies and not varied:
        message = f"no result varied in {OTHER_REHEARSALS} rehearsals with other clocks and seeds"
        fix = "Leave out varies, or add an example that varies."
        return [fail_check("determinism", message, fix, hard=False)]
    return []
