"""Examples gate: calls the draft as later calls do and compares on the host, where the expectations stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.values import Check, Example, ToolContract
from alita_mcp.verification.comparison import cut_pair, kinds_of, matches_error, same_result
from alita_mcp.verification.examples.conditions import NOTHING_PINNED, evaluate
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

_FIX = "Fix the function; if the example is wrong, correct the example."
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


async def examples_gate(subject: RehearsedDraft) -> ExamplesFound:
    """Runs all examples of a draft.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    draft, contract, sandbox = subject.draft, subject.contract, subject.rehearsal.sandbox
    numbered = distinct_examples(draft.examples)
    examples = [example for _, example in numbered]
    pinned = clock_and_seed_of(draft)
    problems = suite_checks(draft, contract) or await constant_stub_checks(
        examples, contract.input_schema, sandbox, pinned
    )
    if problems:
        return ExamplesFound(problems, [], 0)
    jobs = [job_of(draft, each, subject.environment) for each in examples]
    results = await run_jobs(subject.rehearsal, jobs)
    trials = [Trial(*pair, result) for pair, result in zip(numbered, results, strict=True)]
    checks = await judge_all(trials, contract, sandbox, pinned)
    count = sum(check.passed for check in checks)
    if count < len(trials):
        return ExamplesFound(checks, trials, count)
    first = trials[0].result
    only_checks = all(trial.example.check is not None for trial in trials)
    constant = []
    if first is not None and only_checks and contract.input_schema["properties"] and not pinned.is_set:
        # examples with checks only: the first result must not satisfy all of them
        verdicts = await evaluate(sandbox, [(trial.example, [first.value]) for trial in trials])
        if all(held == [True] for held in verdicts):
            constant = [constant_passes(cut_value(first.value), len(trials))]
    checks += constant or thin_suite_checks(draft, examples, contract)
    for trial in trials:
        expected, result = trial.example.raises, trial.result
        if result is not None and expected in _ANY_ERROR and result.error_type != expected:
            message = f"example {trial.number}: any mistake in the code raises {expected} too"
            fix = f"Say raises {result.error_type!r}, which it raised."
            checks.append(fail_check("examples", message, fix, hard=False))
    return ExamplesFound(checks, trials, count)


async def judge_all(
    trials: Sequence[Trial], contract: ToolContract, sandbox: Sandbox, pinned: ClockAndSeed = NOTHING_PINNED
) -> list[Check]:
    """One check per example that ran under that clock and seed, in the order of the examples."""
    judged = {trial.number: check for trial in trials if (check := _judge(trial, contract)) is not None}
    undecided = [
        (trial, trial.result) for trial in trials if trial.result is not None and trial.number not in judged
    ]
    conditions = [(trial.example, [result.value]) for trial, result in undecided]
    for (trial, result), (held,) in zip(undecided, await evaluate(sandbox, conditions, pinned), strict=True):
        if held is True:
            judged[trial.number] = _pass(trial, result)
        elif held is False:
            got = cut_value(result.value)
            judged[trial.number] = _fail(trial, result, "the check does not hold", got, _FIX)
        else:
            fix, got = "Correct the check expression.", cut_value(result.value)
            judged[trial.number] = _fail(trial, result, f"the check raised {held}", got, fix)
    return [judged[number] for number in sorted(judged)]


def _judge(trial: Trial, contract: ToolContract) -> Check | None:
    """The verdict that needs no code; None for a check expression, and where nothing ran."""
    example, result = trial.example, trial.result
    if result is None:
        return None
    # The call (1) raised, as wanted or not, (2) ended without a value, or gave (3) a value where an error is wanted,
    # (4) one of another type, (5) one for a check expression, or (6) one to compare.
    if result.status == "error":
        got = describe_failure(result)
        if example.raises is None:
            return _fail(trial, result, f"it {got}", got, FIXES["error"])
        if matches_error(example.raises, result):
            return _pass(trial, result)
        name = kinds_of(result)[0].removeprefix("builtins.")
        fix = f"Raise {example.raises}, or say raises {name!r} in the example."
        return _fail(trial, result, f"it {got}", got, fix)
    if not result.ok:
        got = describe_failure(result)
        return _fail(trial, result, got, got, FIXES[result.status])
    if example.raises is not None:
        fix = f"Make the function raise {example.raises} for these arguments, or correct the example."
        return _fail(trial, result, "it returned a result", cut_value(result.value), fix)
    value = wrap_result(result.value, wraps_result=contract.wraps_result)
    if misfit := validate_result(contract.output_schema, value):
        what = f"the result does not fit the return annotation: {misfit}"
        fix = "Return what the annotation declares, or correct the annotation."
        check = _fail(trial, result, what, cut_value(result.value), fix)
        return check.model_copy(update={"stage": "schema"})
    if example.check is not None:
        return None
    if same_result(example.expected, result.value, example.exact):
        return _pass(trial, result)
    expected, got = cut_pair(example.expected, result.value)
    check = _fail(trial, result, "it returned another result", got, _FIX)
    return check.model_copy(update={"expected": expected})


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
    conditions, pinned = [(trial.example, [result.value])], clock_and_seed_of(subject.draft)
    return await evaluate(subject.rehearsal.sandbox, conditions, pinned) == [[True]]


def _pass(trial: Trial, result: RunResult) -> Check:
    facts = {"case": cut_arguments(trial.example.arguments), "seconds": result.wall_seconds}
    return pass_check("examples", f"example {trial.number}").model_copy(update=facts)


def _fail(trial: Trial, result: RunResult, what: str, got: object, fix: str) -> Check:
    facts = call_facts(trial.example.arguments, result)
    facts |= {"expected": expectation_of(trial.example), "got": got}
    return fail_check("examples", f"example {trial.number}: {what}", fix, **facts)
