"""Examples gate: calls the draft as later calls do and compares on the host, where the expectations stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.values import Check, Example, ToolContract
from alita_mcp.verification.comparison import cut_pair, kinds_of, matches_error, same_result
from alita_mcp.verification.examples.conditions import NOTHING_PINNED, ConditionResult, evaluate
from alita_mcp.verification.examples.suite import (
    constant_passes,
    constant_stub_checks,
    distinct_examples,
    expectation_of,
    suite_checks,
    thin_suite_checks,
)
from alita_mcp.verification.examples.trials import (
    FIXES,
    ClockAndSeed,
    RehearsedDraft,
    clock_and_seed_of,
    describe_failure,
    job_of,
    run_jobs,
)
from alita_mcp.verification.findings import call_facts, cut_arguments, cut_value, fail_check, pass_check
from alita_mcp.verification.json_schema import validate_result, wrap_result

_UNTOLD = {
    "now": 'Checks know `now` where the request says "varies": ["clock"].',
    "seed": 'Checks know `seed` where the request says "varies": ["random"].',
}
_MEND = "Mend the function; if the example itself is wrong, correct the example."

_ANY_ERROR = {"Exception", "BaseException"}


@dataclass(frozen=True)
class Trial:
    """One example and its result; None when an earlier time-out ended the gate."""

    number: int
    example: Example
    result: RunResult | None


@dataclass(frozen=True)
class ExamplesFound:
    """Findings of the gate: its checks, and the trials for later gates."""

    checks: list[Check]
    trials: list[Trial]
    passed: int
    total: int


async def examples_gate(subject: RehearsedDraft) -> ExamplesFound:
    """Runs all examples of a draft.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    draft, contract, sandbox = subject.draft, subject.contract, subject.rehearsal.sandbox
    problems = suite_checks(draft, contract)
    numbered = distinct_examples(draft.examples)
    examples = [example for _, example in numbered]
    pinned = clock_and_seed_of(draft)
    problems = problems or await constant_stub_checks(examples, contract.input_schema, sandbox, pinned)
    if problems:
        return ExamplesFound(problems, [], 0, len(numbered))
    jobs = [job_of(draft, each, subject.environment) for each in examples]
    results = await run_jobs(subject.rehearsal, jobs)
    trials = [Trial(*pair, result) for pair, result in zip(numbered, results, strict=True)]
    checks = await judge_all(trials, contract, sandbox, pinned)
    count = sum(check.passed for check in checks)
    if count == len(trials):
        constant = [] if pinned.is_set else await _first_result_stub(trials, contract, sandbox)
        checks += constant or thin_suite_checks(draft, examples, contract)
        checks += _any_error_checks(trials)
    return ExamplesFound(checks, trials, count, len(numbered))


async def judge_all(
    trials: Sequence[Trial], contract: ToolContract, sandbox: Sandbox, pinned: ClockAndSeed = NOTHING_PINNED
) -> list[Check]:
    """One check per example that ran under that clock and seed, in the order of the examples."""
    judged = {trial.number: check for trial in trials if (check := _judge(trial, contract)) is not None}
    open_ones = [trial for trial in trials if trial.result is not None and trial.number not in judged]
    asked = [(trial.example, [trial.result.value]) for trial in open_ones if trial.result is not None]
    for trial, held in zip(open_ones, await evaluate(sandbox, asked, pinned), strict=True):
        judged[trial.number] = _by_condition(trial, held[0])
    return [judged[number] for number in sorted(judged)]


def _judge(trial: Trial, contract: ToolContract) -> Check | None:
    """The verdict that needs no code; None for a check expression, and where nothing ran."""
    example, result = trial.example, trial.result
    if result is None:
        return None
    if not result.ok:
        return _without_value(trial, result)
    if example.raises is not None:
        fix = f"Make the function raise {example.raises} for these arguments, or correct the example."
        return _fail_trial(trial, "it returned a result", cut_value(result.value), fix)
    value = wrap_result(result.value, wraps_result=contract.wraps_result)
    if misfit := validate_result(contract.output_schema, value):
        what = f"the result does not fit the return annotation: {misfit}"
        fix = "Return what the annotation declares, or correct the annotation."
        return _fail_trial(trial, what, cut_value(result.value), fix).model_copy(update={"stage": "schema"})
    if example.check is not None:
        return None
    if same_result(example.expected, result.value, example.exact):
        return _pass_trial(trial)
    expected, got = cut_pair(example.expected, result.value)
    missed = _fail_trial(trial, "it returned another result", got, _MEND)
    return missed.model_copy(update={"expected": expected})


def _without_value(trial: Trial, result: RunResult) -> Check:
    got = describe_failure(result)
    wanted_error = trial.example.raises
    if result.status == "error" and wanted_error is not None:
        if matches_error(wanted_error, result):
            return _pass_trial(trial)
        name = kinds_of(result)[0].removeprefix("builtins.")
        fix = f"Raise {wanted_error}, or say raises {name!r} in the example."
        return _fail_trial(trial, f"it {got}", got, fix)
    return _fail_trial(trial, f"it {got}" if result.status == "error" else got, got, FIXES[result.status])


def _by_condition(trial: Trial, held: ConditionResult) -> Check:
    got = cut_value(trial.result.value if trial.result else None)
    if held is True:
        return _pass_trial(trial)
    if held is False:
        return _fail_trial(trial, "the check does not hold", got, _MEND)
    fix = next((fix for name, fix in _UNTOLD.items() if f"name '{name}' is not defined" in held), "")
    return _fail_trial(trial, f"the check raised {held}", got, fix or "Correct the check expression.")


async def still_met(subject: RehearsedDraft, trial: Trial, result: RunResult) -> bool:
    """Whether another result meets the example too; one equal to the first is not evaluated again.

    Raises:
        SandboxError: the sandbox failed while a check expression was evaluated.
    """
    check = _judge(replace(trial, result=result), subject.contract)
    if check is not None:
        return check.passed
    if trial.result is not None and same_result(trial.result.value, result.value, exact=True):
        return True
    asked, pinned = [(trial.example, [result.value])], clock_and_seed_of(subject.draft)
    return await evaluate(subject.rehearsal.sandbox, asked, pinned) == [[True]]


async def _first_result_stub(
    trials: Sequence[Trial], contract: ToolContract, sandbox: Sandbox
) -> list[Check]:
    """Examples with checks only: the first result must not satisfy all of them."""
    first = trials[0].result
    only_checks = all(trial.example.check is not None for trial in trials)
    if first is None or not only_checks or not contract.input_schema["properties"]:
        return []
    verdicts = await evaluate(sandbox, [(trial.example, [first.value]) for trial in trials])
    if all(held == [True] for held in verdicts):
        return [constant_passes(cut_value(first.value), len(trials))]
    return []


def _any_error_checks(trials: Sequence[Trial]) -> list[Check]:
    """Soft checks of examples that any mistake in the code would meet as well."""
    return [
        fail_check(
            "examples",
            f"example {trial.number}: a mistake in the code is an {trial.example.raises} too",
            f"Say raises {trial.result.error_type!r}, which it raised.",
            hard=False,
        )
        for trial in trials
        if trial.result is not None
        and trial.example.raises in _ANY_ERROR
        and trial.result.error_type != trial.example.raises
    ]


def _pass_trial(trial: Trial) -> Check:
    seconds = trial.result.wall_seconds if trial.result else 0.0
    seen = {"case": cut_arguments(trial.example.arguments), "seconds": seconds}
    return pass_check("examples", f"example {trial.number}").model_copy(update=seen)


def _fail_trial(trial: Trial, what: str, got: object, fix: str) -> Check:
    result = trial.result or RunResult(status="crashed")
    facts = call_facts(trial.example.arguments, result) | {
        "expected": expectation_of(trial.example),
        "got": got,
    }
    return fail_check("examples", f"example {trial.number}: {what}", fix, **facts)
