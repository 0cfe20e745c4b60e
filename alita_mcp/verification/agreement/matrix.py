"""Pass matrix: each draft run once in the sandbox against each test of every suite."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from alita_mcp.errors import SandboxRefused
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Environment, RunResult
from alita_mcp.values import Check, Draft, Example, ToolContract
from alita_mcp.verification.agreement.agreement import Candidate, Matrix
from alita_mcp.verification.comparison.compare import raised
from alita_mcp.verification.environment import environment_gate
from alita_mcp.verification.examples.clock_and_seed import clock_and_seed_of
from alita_mcp.verification.examples.examples import Trial, judge_all
from alita_mcp.verification.examples.suite import distinct_examples
from alita_mcp.verification.examples.trials import job_of, run_jobs
from alita_mcp.verification.findings import failed
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.static import static_gate

SIGNIFICANT_DIGITS = 9
"""Floats that agree so far are the same behaviour, as in every comparison of results."""
_LONGEST_TOKEN = 200


@dataclass(frozen=True)
class Prepared:
    """A draft that can be run, or the check that says why it cannot."""

    draft: Draft
    contract: ToolContract | None = None
    environment: Environment | None = None
    failure: Check | None = None


@dataclass(frozen=True)
class Row:
    """Results of one draft for every test: a check for each that ran, and a word for each behaviour."""

    checks: tuple[Check | None, ...]
    outputs: tuple[str, ...]
    results: tuple[RunResult | None, ...] = ()
    """What came out of each call, as it came; None where it was not run."""

    @property
    def is_whole(self) -> bool:
        """Whether every call ended: where one ran out of time, no more are made."""
        return all(result is not None and result.status != "timeout" for result in self.results)

    @property
    def passes(self) -> tuple[bool, ...]:
        """Which tests the draft passes."""
        return tuple(check is not None and check.passed for check in self.checks)


@dataclass(frozen=True)
class PassMatrix:
    """The tests of all suites, each once, and a row of results for every draft that can run."""

    candidates: tuple[Prepared, ...]
    tests: tuple[Example, ...]
    suites: tuple[frozenset[int], ...]
    rows: tuple[Row | None, ...]

    def as_matrix(self, texts: Sequence[str], barred: Collection[int] = ()) -> Matrix:
        """The matrix in the form of the acceptance rule; barred drafts count as candidates without evidence.

        A suite that was written twice, as models do that are held to one answer, is one opinion.
        """
        candidates = []
        for number, (text, row) in enumerate(zip(texts, self.rows, strict=True)):
            known = None if number in barred else row
            outputs, passes = (known.outputs, known.passes) if known else ((), ())
            candidates.append(Candidate(text=text, outputs=outputs, passes=passes))
        return Matrix(candidates=tuple(candidates), suites=tuple(dict.fromkeys(self.suites)))


async def prepare(draft: Draft, rehearsal: Rehearsal, on_stage: ReportStage) -> Prepared:
    """Reads a draft and builds its environment, without running the draft.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    checks, contract = await static_gate(draft, rehearsal.sandbox)
    failure = _hard_failure(checks)
    if failure is not None or contract is None or not draft.packages:
        return Prepared(draft, contract, failure=failure)
    try:
        checks, _lock, environment = await environment_gate(draft, rehearsal.sandbox, on_stage)
    except SandboxRefused as refused:
        return Prepared(draft, contract, failure=_refusal(refused))
    return Prepared(draft, contract, environment, _hard_failure(checks))


async def run_matrix(
    candidates: Sequence[Prepared], suites: Sequence[Sequence[Example]], rehearsal: Rehearsal
) -> PassMatrix:
    """Runs every test of every suite once with every candidate.

    Raises:
        SandboxError: the sandbox failed.
    """
    return await extend_matrix(PassMatrix((), (), (), ()), candidates, suites, rehearsal)


async def extend_matrix(
    matrix: PassMatrix, more: Sequence[Prepared], suites: Sequence[Sequence[Example]], rehearsal: Rehearsal
) -> PassMatrix:
    """Adds drafts and suites to a matrix; no pair that was run before is run again.

    Raises:
        SandboxError: the sandbox failed.
    """
    tests, (_, *numbers) = pooled([matrix.tests, *suites])
    known = zip(matrix.candidates, matrix.rows, strict=True)
    ran = [await run_row(candidate, tests, rehearsal, row) for candidate, row in known]
    ran += [await run_row(candidate, tests, rehearsal) for candidate in more]
    return PassMatrix(
        candidates=tuple(candidate for candidate, _ in ran),
        tests=tests,
        suites=(*matrix.suites, *numbers),
        rows=tuple(row for _, row in ran),
    )


async def run_row(
    candidate: Prepared, tests: Sequence[Example], rehearsal: Rehearsal, known: Row | None = None
) -> tuple[Prepared, Row | None]:
    """Runs one draft on each test; a time-out ends the row, and without a row the check says why.

    `known` is what it did with the first of these tests: they are not run again.

    Raises:
        SandboxError: the sandbox failed.
    """
    if candidate.failure is not None or candidate.contract is None:
        return candidate, None
    try:
        return candidate, await _ran(candidate, candidate.contract, tests, rehearsal, known or Row((), ()))
    except SandboxRefused as refused:
        return replace(candidate, failure=_refusal(refused)), None


async def _ran(
    candidate: Prepared, contract: ToolContract, tests: Sequence[Example], rehearsal: Rehearsal, known: Row
) -> Row:
    fresh = tests[len(known.results) :]
    jobs = [job_of(candidate.draft, test, candidate.environment) for test in fresh] if known.is_whole else []
    results: list[RunResult | None] = [None] * len(fresh)
    results[: len(jobs)] = await run_jobs(rehearsal, jobs)
    numbered = enumerate(zip(fresh, results, strict=True), len(known.results) + 1)
    trials = [Trial(number, *pair) for number, pair in numbered]
    ran = [trial for trial in trials if trial.result is not None]
    judged = await judge_all(ran, contract, rehearsal.sandbox, clock_and_seed_of(candidate.draft))
    by_number = dict(zip([trial.number for trial in ran], judged, strict=True))
    checks = (*known.checks, *(by_number.get(trial.number) for trial in trials))
    results = [*known.results, *results]
    words = _words(candidate.draft, tests, checks, results)
    return Row(checks, words, tuple(results))


def _words(
    draft: Draft,
    tests: Sequence[Example],
    checks: Sequence[Check | None],
    results: Sequence[RunResult | None],
) -> tuple[str, ...]:
    if draft.varies:  # those that draw otherwise are one behaviour where both are right
        return tuple("right" if check is not None and check.passed else "wrong" for check in checks)
    errors = _errors_of_calls(tests)
    return tuple(
        result_word(result, errors[_text(test.arguments)])
        for test, result in zip(tests, results, strict=True)
    )


def pooled(suites: Sequence[Sequence[Example]]) -> tuple[tuple[Example, ...], tuple[frozenset[int], ...]]:
    """All tests, each once, and the numbers of each suite's tests among them."""
    tests = tuple(example for _, example in distinct_examples([test for suite in suites for test in suite]))
    place = {_key(test): number for number, test in enumerate(tests)}
    return tests, tuple(
        frozenset(place[_key(test)] for test in suite if _key(test) in place) for suite in suites
    )


def result_word(result: RunResult | None, errors: Collection[str] = ()) -> str:
    """A word for a result; equal behaviour has equal words, whatever an error's message says.

    `errors` are those that tests expect of this call: an error is told by which of them it satisfies, if any.
    """
    if result is None:
        return "not run"
    if met := sorted(name for name in errors if raised(name, result)):
        return f"raises {' '.join(met)}"
    if result.status == "error":
        return f"error {result.error_type.rsplit('.', 1)[-1]}"
    if not result.ok:
        return result.status
    text = _text(result.value)
    if len(text) > _LONGEST_TOKEN:
        text = hashlib.sha256(text.encode()).hexdigest()
    return f"value {text}"


def _errors_of_calls(tests: Sequence[Example]) -> defaultdict[str, set[str]]:
    """For each call, by its arguments, the errors that one test or another expects of it."""
    errors: defaultdict[str, set[str]] = defaultdict(set)
    for test in tests:
        if test.raises is not None:
            errors[_text(test.arguments)].add(test.raises)
    return errors


def _rounded(value: Any) -> Any:
    """The value with floats as they compare: few digits, and whole ones as integers."""
    if isinstance(value, float):
        shortened = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return int(shortened) if shortened.is_integer() and abs(shortened) < 1e15 else shortened
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return value


def _key(test: Example) -> str:
    return _text(test.as_json())


def _text(value: Any) -> str:
    return json.dumps(_rounded(value), sort_keys=True)


def _refusal(refused: SandboxRefused) -> Check:
    return failed("environment", refused.message, refused.hint or "Write it without that feature.")


def _hard_failure(checks: Sequence[Check]) -> Check | None:
    return next((check for check in checks if check.hard and not check.passed), None)
