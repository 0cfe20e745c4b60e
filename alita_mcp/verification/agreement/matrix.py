"""Pass matrix: each draft run once in the sandbox against each test of every suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from alita_mcp.errors import SandboxRefused
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Environment, RunResult
from alita_mcp.values import Check, Draft, Example, ToolContract
from alita_mcp.verification.agreement.agreement import Candidate, Matrix
from alita_mcp.verification.comparison.result_words import result_word, rounded_json
from alita_mcp.verification.environment import environment_gate
from alita_mcp.verification.examples.clock_and_seed import clock_and_seed_of
from alita_mcp.verification.examples.examples import Trial, judge_all
from alita_mcp.verification.examples.suite import distinct_examples
from alita_mcp.verification.examples.trials import job_of, run_jobs
from alita_mcp.verification.findings import failed
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.static import static_gate


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

    candidates: tuple[Prepared, ...] = ()
    tests: tuple[Example, ...] = ()
    suites: tuple[frozenset[int], ...] = ()
    rows: tuple[Row | None, ...] = ()

    def as_matrix(self, barred: Collection[int] = ()) -> Matrix:
        """The matrix in the form of the acceptance rule; barred drafts count as candidates without evidence."""
        none = Row((), ())
        known = [none if row is None or place in barred else row for place, row in enumerate(self.rows)]
        return Matrix(tuple(Candidate(row.outputs, row.passes) for row in known), self.suites)


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
    draft, fresh = candidate.draft, tests[len(known.results) :]
    jobs = [job_of(draft, test, candidate.environment) for test in fresh] if known.is_whole else []
    ran = await run_jobs(rehearsal, jobs)
    ran += [None] * (len(fresh) - len(ran))
    numbered = enumerate(zip(fresh, ran, strict=True), len(known.results) + 1)
    trials = [Trial(number, *pair) for number, pair in numbered]
    ended = [trial for trial in trials if trial.result is not None]
    judged = iter(await judge_all(ended, contract, rehearsal.sandbox, clock_and_seed_of(draft)))
    checks = (*known.checks, *(next(judged) if trial.result is not None else None for trial in trials))
    results = (*known.results, *ran)
    if draft.varies:  # those that draw otherwise are one behaviour where both are right
        return Row(checks, tuple("right" if check and check.passed else "wrong" for check in checks), results)
    errors: defaultdict[str, set[str]] = defaultdict(set)  # for each call those that some test expects of it
    for test in tests:
        errors[rounded_json(test.arguments)] |= {test.raises} if test.raises is not None else set()
    named = zip(tests, results, strict=True)
    words = tuple(result_word(result, errors[rounded_json(test.arguments)]) for test, result in named)
    return Row(checks, words, results)


def pooled(suites: Sequence[Sequence[Example]]) -> tuple[tuple[Example, ...], tuple[frozenset[int], ...]]:
    """All tests, each once, and the numbers of each suite's tests among them."""
    tests = tuple(example for _, example in distinct_examples([test for suite in suites for test in suite]))
    place = {rounded_json(test.as_json()): number for number, test in enumerate(tests)}
    keys = [[rounded_json(test.as_json()) for test in suite] for suite in suites]
    return tests, tuple(frozenset(place[key] for key in suite if key in place) for suite in keys)


def _refusal(refused: SandboxRefused) -> Check:
    return failed("environment", refused.message, refused.hint or "Write it without that feature.")


def _hard_failure(checks: Sequence[Check]) -> Check | None:
    return next((check for check in checks if check.hard and not check.passed), None)
