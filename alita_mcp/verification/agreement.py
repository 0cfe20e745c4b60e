"""Pass matrix of drafts and blind test suites, and the rule that selects a draft from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from alita_mcp.errors import SandboxRefused
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Environment, RunResult
from alita_mcp.values import Check, Draft, Example, ToolContract, Value
from alita_mcp.verification.comparison import comparison_key, result_word
from alita_mcp.verification.environment import environment_gate
from alita_mcp.verification.examples.examples import Trial, judge_all
from alita_mcp.verification.examples.suite import distinct_examples
from alita_mcp.verification.examples.trials import clock_and_seed_of, job_of, run_jobs
from alita_mcp.verification.findings import fail_check
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.static import static_gate

T = TypeVar("T")
MAJORITY = 2
"""Fewer candidates than these cannot overrule a test: one opinion against another is no majority."""
HALF = 0.5
"""Where fewer of the tests hold, not the tests are in doubt but the candidates, or what was asked of both."""
NEARLY_ALL = 0.85
"""A candidate that passes so many of the tests of `ENOUGH_SUITES` suites is chosen, whatever the others did."""
ENOUGH_SUITES = 3
FEWEST_TESTS = 5
"""Candidates that pass fewer tests in all hardly had a chance to differ."""
WINDOW, ENOUGH = 5, 4
"""Of so many syntheses of a model before or after one, so many must agree fully."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Results of a candidate for every test of every suite."""

    outputs: tuple[str, ...]
    """What it gave for the call of each test, as JSON or a hash of it; empty when it cannot be loaded at all."""
    passes: tuple[bool, ...]
    """Whether it passes each test; empty as `outputs`."""


class Decision(Value):
    """Decision of the acceptance rule."""

    chosen: int | None = None
    """Number of the chosen candidate; None when none is to be trusted at all."""
    agrees: bool = False
    """Whether all candidates, two at least, behave alike and pass every test."""
    alike: tuple[int, ...] = ()
    """Candidates that behave as the chosen one, or as the one that came nearest."""
    kept: tuple[int, ...] = ()
    """Tests that they pass."""
    dropped: tuple[int, ...] = ()
    """Tests that contradict them."""


def accept(candidates: Sequence[Candidate | Row | None], suites: Sequence[frozenset[int]]) -> Decision:
    """The candidate to prove, from those that behave alike on every call.

    `suites` are the numbers of each suite's tests; suites may share tests, and one may be empty. None is a candidate
    without evidence, which counts all the same.

    The most candidates times passed tests win (CodeT, arXiv 2207.10397); of those that pass nearly all, if any do.
    """
    tests = tuple(sorted(frozenset[int]().union(*suites)))
    passes = [candidate.passes if candidate is not None else () for candidate in candidates]
    clusters: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, candidate in enumerate(candidates):
        if tests and candidate is not None and candidate.outputs:
            clusters[tuple(candidate.outputs[test] for test in tests)].append(number)
    if not clusters:
        return Decision(dropped=tests)

    def tests_passed_by(members: Sequence[int]) -> tuple[int, ...]:
        # calls that end alike may still pass unlike: a check can look at more than the word for a result
        return tuple(test for test in tests if all(passes[each][test] for each in members))

    def weight(members: Sequence[int]) -> tuple[int, int, int]:
        return len(members) * len(tests_passed_by(members)), len(members), -members[0]

    most = len(tests) * (1 - NEARLY_ALL)
    nearly = [each for each in clusters.values() if len(tests) - len(tests_passed_by(each)) <= most]
    reliable = nearly if sum(map(bool, suites)) >= ENOUGH_SUITES else []
    best = max(reliable or clusters.values(), key=weight)
    kept = tests_passed_by(best)
    dropped = tuple(sorted(set(tests) - set(kept)))
    # chosen is (1) what nearly passes several suites, (2) a majority that passes half of the tests, and
    # (3) a lone candidate that no test contradicts
    standing = len(kept) >= HALF * len(tests) and (len(best) >= MAJORITY or not dropped)
    return Decision(
        chosen=best[0] if reliable or standing else None,
        agrees=MAJORITY <= len(best) == len(candidates) and not dropped and len(tests) >= FEWEST_TESTS,
        alike=tuple(best),
        kept=kept,
        dropped=dropped,
    )


def nearest_agreements(
    syntheses: Iterable[tuple[T, bool]], own: T, is_alike: Callable[[T, T], bool]
) -> tuple[bool, ...]:
    """Whether the nearest `WINDOW` syntheses of different requests agreed fully, nearest first.

    Requests that are alike count once, and only as agreed if each of them did; those like `own` do not count.
    """
    kinds: list[T] = []
    agreed: list[bool] = []
    for request, agrees in syntheses:
        if is_alike(request, own):
            continue
        known = next((place for place, kind in enumerate(kinds) if is_alike(kind, request)), None)
        if known is not None:
            agreed[known] = agreed[known] and agrees
        elif len(kinds) == WINDOW:
            break
        else:
            kinds.append(request)
            agreed.append(agrees)
    return tuple(agreed)


def is_proven(agreed: Sequence[bool]) -> bool:
    """Whether the syntheses nearest to one prove its models' full agreement."""
    return sum(agreed[:WINDOW]) >= ENOUGH


NOT_RUN = "it was not run"
CANNOT_RUN = fail_check("environment", "the draft cannot be run", "Send it again.")


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

    def got(self, test: int) -> Any:
        """The result of one test as a report shows it."""
        check = self.checks[test]
        return check.got if check is not None else NOT_RUN


@dataclass(frozen=True)
class PassMatrix:
    """The tests of all suites, each once, and a row of results for every draft that can run."""

    candidates: tuple[Prepared, ...] = ()
    tests: tuple[Example, ...] = ()
    suites: tuple[frozenset[int], ...] = ()
    rows: tuple[Row | None, ...] = ()


async def prepare_draft(draft: Draft, rehearsal: Rehearsal, on_stage: ReportStage) -> Prepared:
    """Reads a draft and builds its environment, without running the draft.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    # only packages need an environment; a draft without them is ready once it is read
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
    tests, (_, *numbers) = pool_tests([matrix.tests, *suites])
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
    draft, known = candidate.draft, known or Row((), ())
    fresh = tests[len(known.results) :]
    jobs = [job_of(draft, test, candidate.environment) for test in fresh] if known.is_whole else []
    try:
        ran = await run_jobs(rehearsal, jobs)
        ran += [None] * (len(fresh) - len(ran))
        numbered = enumerate(zip(fresh, ran, strict=True), len(known.results) + 1)
        trials = [Trial(number, *pair) for number, pair in numbered]
        ended = [trial for trial in trials if trial.result is not None]
        pinned = clock_and_seed_of(draft)
        judged = iter(await judge_all(ended, candidate.contract, rehearsal.sandbox, pinned))
    except SandboxRefused as refused:
        return replace(candidate, failure=_refusal(refused)), None
    checks = (*known.checks, *(next(judged) if trial.result is not None else None for trial in trials))
    results = (*known.results, *ran)
    if draft.varies:  # those that draw otherwise are one behaviour where both are right
        words = tuple("right" if check and check.passed else "wrong" for check in checks)
        return candidate, Row(checks, words, results)
    errors: defaultdict[str, set[str]] = defaultdict(set)  # for each call those that some test expects of it
    for test in tests:
        errors[comparison_key(test.arguments)] |= {test.raises} if test.raises is not None else set()
    words = tuple(
        result_word(result, errors[comparison_key(test.arguments)])
        for test, result in zip(tests, results, strict=True)
    )
    return candidate, Row(checks, words, results)


def pool_tests(suites: Sequence[Sequence[Example]]) -> tuple[tuple[Example, ...], tuple[frozenset[int], ...]]:
    """All tests, each once, and the numbers of each suite's tests among them."""
    tests = tuple(example for _, example in distinct_examples([test for suite in suites for test in suite]))
    place = {comparison_key(test.as_json()): number for number, test in enumerate(tests)}
    keys = [[comparison_key(test.as_json()) for test in suite] for suite in suites]
    return tests, tuple(frozenset(place[key] for key in suite if key in place) for suite in keys)


def _refusal(refused: SandboxRefused) -> Check:
    return fail_check("environment", refused.message, refused.hint or "Write it without that feature.")


def _hard_failure(checks: Sequence[Check]) -> Check | None:
    return next((check for check in checks if check.hard and not check.passed), None)
