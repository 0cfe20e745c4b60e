"""Selection of the candidate to prove, from the pass matrix of candidates and blind test suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alita_mcp.library.versions.files import mark_of
from alita_mcp.synthesis.failures import hidden_failure, shows
from alita_mcp.synthesis.requests.modes import Width
from alita_mcp.synthesis.requests.outcomes import Rejected, rejection
from alita_mcp.synthesis.writing.candidate_sampler import CandidateCode
from alita_mcp.values import Agreement, Check, Draft, DroppedTest, Example, Stage, Trust
from alita_mcp.verification.agreement.agreement import Candidate, Decision, Matrix, accept, most_typical
from alita_mcp.verification.agreement.matrix import PassMatrix, Row
from alita_mcp.verification.agreement.record import Record

MAJORITY = 2
"""Fewer candidates than these cannot overrule a test: one opinion against another is no majority."""
KEPT_SHARE = 0.5
"""Where fewer of the tests hold, not the tests are in doubt but the candidates, or what was asked of both."""
NEARLY_ALL = 0.85
"""A candidate that passes so many of the tests of `ENOUGH_SUITES` blind suites is not refused."""
ENOUGH_SUITES = 3
FEWEST_SUITES = 2
FEWEST_TESTS = 5
"""Fewer suites that differ, or fewer tests in all, verify nothing: one opinion, or hardly an input looked at."""
SHOWN_DROPPED = 10
SHOWN_FAILURES = 3


@dataclass(frozen=True)
class Round:
    """Candidates of one attempt with all suites that they were run against."""

    codes: tuple[CandidateCode, ...]
    matrix: PassMatrix
    held_out: tuple[Row | None, ...]
    """What each candidate did with the caller's own examples, which no writer saw."""
    attempt: int
    asked: Width
    """How many candidates and suites were asked for, those that could not be had included."""
    struck: frozenset[int] = frozenset()
    """Tests that a judge found to be wrong: they refuse nothing any longer, and prove nothing."""

    @property
    def barred(self) -> frozenset[int]:
        """Candidates that fail an example of the caller's."""
        return frozenset(
            number for number, row in enumerate(self.held_out) if row is not None and not all(row.passes)
        )

    def failing(self, number: int) -> frozenset[int]:
        """Tests that a candidate fails; all of them where it cannot be run."""
        row = self.matrix.rows[number]
        tests = frozenset(range(len(self.matrix.tests)))
        return tests if row is None else frozenset(test for test in tests if not row.passes[test])


def empty_round(attempt: int) -> Round:
    """The round that an attempt begins with: no candidates, no suites."""
    return Round((), PassMatrix((), (), (), ()), (), attempt, Width())


@dataclass(frozen=True)
class Selection:
    """Selected candidate with the tests that stand, and what agreement alone would trust it with."""

    number: int
    kept: tuple[Example, ...]
    trust: Trust
    agreement: Agreement
    disputed: bool = False
    """Whether tests contradict it that neither a majority nor a judge overrules: there are just few of them."""


@dataclass(frozen=True)
class NoSelection:
    """Verdict that no candidate is to be proved, with the most promising one and what to tell its author."""

    number: int
    rejected: Rejected
    shows_test: bool
    """Whether the failure shows a test, so that a mended candidate is no longer blind."""


def judge(current: Round, record: Record | None = None) -> Selection | NoSelection:
    """Selects the majority's candidate, else one that passes nearly all, or says why there is none.

    `record` is what is known of the models that wrote candidates and suites; None: nothing was measured.
    """
    texts = [candidate.written.code for candidate in current.codes]
    matrix = current.matrix.as_matrix(texts, current.barred)
    agreed = accept(matrix, record)
    decision = _settled(current, matrix, agreed)
    if decision is None:
        return _no_selection(current, agreed, matrix.candidates)
    chosen = decision.chosen or 0
    cluster = _alike(matrix.candidates, chosen)
    blind = current.attempt == 1 and not any(current.codes[number].saw_tests for number in cluster)
    proves = (
        blind and len(set(filter(None, matrix.suites))) >= FEWEST_SUITES and len(matrix.tests) >= FEWEST_TESTS
    )
    overrules = bool(decision.dropped) and len(cluster) < MAJORITY
    return Selection(
        number=chosen,
        kept=tuple(current.matrix.tests[test] for test in decision.kept),
        trust=decision.trust if proves and not overrules else "provisional",
        agreement=_agreement(current, decision, on_record=record is not None),
        disputed=overrules and not current.struck.issuperset(decision.dropped),
    )


def _settled(current: Round, matrix: Matrix, agreed: Decision) -> Decision | None:
    """The decision of agreement where it may overrule the tests against it, else for one that passes nearly all."""
    passing = _passing(current, matrix, agreed)
    if agreed.chosen is None or agreed.passed < KEPT_SHARE:
        return passing
    if current.struck.issuperset(agreed.dropped):
        return agreed
    if len(_alike(matrix.candidates, agreed.chosen)) < MAJORITY:
        return passing
    return agreed if passing is None or _passes_nearly_all(current, agreed.chosen) else passing


def _passing(current: Round, matrix: Matrix, decision: Decision) -> Decision | None:
    """The decision for the candidate that passes most, if that is nearly all; whatever the others did."""
    fit = [
        number
        for number, candidate in enumerate(matrix.candidates)
        if candidate.outputs and _passes_nearly_all(current, number)
    ]
    if not fit:
        return None
    best = min(fit, key=lambda number: (len(current.failing(number)), number))
    cluster = _alike(matrix.candidates, best)
    chosen, alike = most_typical(matrix.candidates, cluster)
    failing = current.failing(best)
    tests = frozenset(matrix.tests)
    return Decision(
        trust="provisional",
        chosen=chosen,
        share=len(cluster) / len(matrix.candidates),
        passed=1 - len(failing) / len(tests),
        alike=alike,
        probability=decision.probability if decision.chosen in cluster else 0.0,
        kept=tuple(sorted(tests - failing)),
        dropped=tuple(sorted(failing)),
    )


def _passes_nearly_all(current: Round, number: int) -> bool:
    """Whether a candidate passes what no judge struck, or nearly all tests of enough suites."""
    tests, failing = len(current.matrix.tests), current.failing(number)
    if not tests:
        return False
    if failing and failing <= current.struck:
        return True
    suites = sum(1 for suite in current.matrix.suites if suite)
    return suites >= ENOUGH_SUITES and len(failing) <= tests * (1 - NEARLY_ALL)


def _alike(candidates: Sequence[Candidate], chosen: int) -> tuple[int, ...]:
    """The candidates that behave as the chosen one."""
    outputs = candidates[chosen].outputs
    return tuple(number for number, candidate in enumerate(candidates) if candidate.outputs == outputs)


def _agreement(current: Round, decision: Decision, *, on_record: bool) -> Agreement:
    number = decision.chosen or 0
    row = current.matrix.rows[number]
    dropped = [
        DroppedTest(test=current.matrix.tests[test].as_json(), got=_got(row.checks[test]) if row else None)
        for test in decision.dropped[:SHOWN_DROPPED]
    ]
    return Agreement(
        candidates=len(current.codes),
        suites=len(current.matrix.suites),
        share=round(decision.share, 3),
        passed=round(decision.passed, 3),
        alike=decision.alike,
        kept=decision.kept,
        dropped=decision.dropped,
        contradicting=tuple(dropped),
        repairs=current.codes[number].repairs,
        attempts=current.attempt,
        blind=tuple(mark_of(current.matrix.tests[test]) for test in decision.kept),
        probability=decision.probability or None,
        on_record=on_record,
    )


def _got(check: Check | None) -> object:
    return check.got if check is not None else "it was not run"


def _no_selection(current: Round, decision: Decision, candidates: Sequence[Candidate]) -> NoSelection:
    """The failure of the candidate that comes nearest."""
    if all(row is None for row in current.matrix.rows):
        return _unloadable(current)
    number = max(range(len(candidates)), key=lambda each: _merit(current, each))
    row, held_out = current.matrix.rows[number], current.held_out[number]
    if row is None:
        return _unloadable(current)
    if number in current.barred and held_out is not None:
        told = _hidden_failure(held_out, current.matrix.candidates[number].draft)
        return NoSelection(number, told, shows_test=False)
    failed = [
        check
        for test, check in enumerate(row.checks)
        if check is not None and not check.passed and test not in current.struck
    ]
    if not failed:
        return NoSelection(number, _no_majority(current, decision), shows_test=False)
    return NoSelection(number, _test_failures(failed, row, current, decision), shows_test=True)


def _merit(current: Round, number: int) -> tuple[bool, int, int]:
    row = current.matrix.rows[number]
    return row is not None and number not in current.barred, sum(row.passes) if row else -1, -number


def _unloadable(current: Round) -> NoSelection:
    failures = [each.failure for each in current.matrix.candidates]
    number, failure = next((place, failure) for place, failure in enumerate(failures) if failure is not None)
    return NoSelection(number, rejection(failure), shows_test=False)


def told_to_author(rejected: Rejected, hidden: Sequence[Example], code: str) -> Rejected:
    """Rewords a rejection for the code's author: the caller's own examples stay hidden, and inputs near them."""
    example = next((each for each in hidden if shows(rejected.case, each)), None)
    if example is None:
        return rejected
    how = hidden_failure(rejected.reason, example, code, rejected.trace)
    return _without_example(rejected.stage, how)


def _hidden_failure(row: Row, draft: Draft) -> Rejected:
    """A failure of an example that its author may not see: how it ended, and nothing of its values."""
    ran = zip(row.checks, draft.examples, strict=True)
    pair = next(((check, example) for check, example in ran if check is not None and not check.passed), None)
    how = (
        hidden_failure(pair[0].message, pair[1], draft.code, pair[0].trace) if pair else "it ran out of time"
    )
    return _without_example("examples", how)


def _without_example(stage: Stage, how: str) -> Rejected:
    reason = f"an example of the caller's own, which is not shown, fails: {how}"
    return Rejected(stage=stage, reason=reason, fix="Read the request again; every word of it may be tested.")


def _no_majority(current: Round, decision: Decision) -> Rejected:
    return Rejected(
        stage="agreement",
        reason=_counted(current, decision),
        fix="Say more exactly what the tool does, or give examples of your own.",
    )


def _test_failures(failed: Sequence[Check], row: Row, current: Round, decision: Decision) -> Rejected:
    first = rejection(failed[0])
    if len(current.codes) == 1:
        return first.model_copy(
            update={"reason": f"{sum(row.passes)} of {len(row.checks)} tests pass; {first.reason}"}
        )
    more = "; ".join(check.message for check in failed[1:SHOWN_FAILURES])
    reason = f"{_counted(current, decision)}; {first.reason}" + (f"; {more}" if more else "")
    return first.model_copy(update={"reason": reason})


def _counted(current: Round, decision: Decision) -> str:
    count = len(current.codes)
    alike, passed = round(decision.share * count), round(decision.passed * len(current.matrix.tests))
    return (
        f"no candidate can be trusted: {alike} of {count} behave alike and pass {passed} of "
        f"{len(current.matrix.tests)} tests"
    )
