"""Selection of the candidate to prove, from the pass matrix of candidates and blind test suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alita_mcp.library.versions.files import mark_of
from alita_mcp.toolsmith.failures import describe_hidden_failure, shows
from alita_mcp.toolsmith.requests.modes import Width
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode
from alita_mcp.values import (
    Agreement,
    Check,
    Draft,
    DroppedTest,
    Example,
    Stage,
    Trust,
    Usage,
    VerificationReport,
)
from alita_mcp.verification.agreement import (
    ENOUGH,
    MAJORITY,
    WINDOW,
    Decision,
    PassMatrix,
    Row,
    accept,
    is_proven,
)

RAISE = (
    "Give at least three examples of your own, one an edge or an error: no writer sees them, and a tool that they pin "
    "down is verified."
)
WAIT = f"It is raised once {ENOUGH} of the next {WINDOW} tools by these models agree fully too."


def add_agreement(
    report: VerificationReport,
    agreement: Agreement,
    agreed_before: tuple[bool, ...] | None,
    by_caller: Trust | None,
    usage: Usage,
) -> VerificationReport:
    """Adds agreement, cost and the trust that both allow to a report.

    `agreed_before` is None for models that can have no record, `by_caller` where the caller gave no examples.
    """
    upheld = verifies(agreement, agreed_before) or by_caller == "verified"
    fix = f"{RAISE} {WAIT}" if agreement.agreed and agreed_before is not None else RAISE
    check = Check(
        stage="agreement",
        passed=upheld,
        hard=False,
        message=in_words(agreement, agreed_before, by_caller),
        fix="" if upheld else fix,
    )
    trust: Trust = report.trust if upheld or report.trust == "rejected" else "provisional"
    return report.model_copy(
        update={"trust": trust, "checks": (*report.checks, check), "agreement": agreement, "usage": usage}
    )


def verifies(agreement: Agreement, agreed_before: tuple[bool, ...] | None) -> bool:
    """Whether agreement alone verifies a tool."""
    return agreement.agreed and is_proven(agreed_before or ())


def in_words(agreement: Agreement, agreed_before: tuple[bool, ...] | None, by_caller: Trust | None) -> str:
    """Describes the evidence of agreement in one line."""
    alike = round(agreement.share * agreement.candidates)
    said = (
        f"{alike} of {agreement.candidates} candidates behave alike; {len(agreement.kept)} tests kept, "
        f"{len(agreement.dropped)} dropped"
    )
    if agreement.agreed:
        last = (agreed_before or ())[:WINDOW]
        record = f"as {sum(last)} of the last {len(last)} tools by these models did"
        said += f"; they agree fully, {record if last else 'but these models have no record here'}"
    if by_caller is None:
        return said
    own = "verify it by themselves" if by_caller == "verified" else "hold, but prove too little alone"
    return f"{said}; the caller's own examples {own}"


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
    blind: bool = True
    """Whether no candidate was mended, or drawn anew, after it failed a test or an example."""

    @property
    def barred(self) -> frozenset[int]:
        """Candidates that fail an example of the caller's."""
        return frozenset(
            number for number, row in enumerate(self.held_out) if row is not None and not all(row.passes)
        )


def empty_round(attempt: int) -> Round:
    """The round that an attempt begins with: no candidates, no suites."""
    return Round((), PassMatrix(), (), attempt, Width(), blind=attempt == 1)


@dataclass(frozen=True)
class Selection:
    """Selected candidate with the tests that stand."""

    number: int
    kept: tuple[Example, ...]
    agreement: Agreement
    disputed: bool = False
    """Whether more is to be drawn: no other candidate behaves alike."""


@dataclass(frozen=True)
class NoSelection:
    """Verdict that no candidate is to be proved, with the most promising one and what to tell its author."""

    number: int
    rejected: Rejected
    shows_test: bool
    """Whether the failure shows a test, so that a mended candidate is no longer blind."""


def judge(current: Round) -> Selection | NoSelection:
    """Selects the majority's candidate, else one that passes nearly all, or says why there is none."""
    decision = accept(current.matrix.as_matrix(current.barred))
    if decision.chosen is None:
        return _no_selection(current, decision)
    return Selection(
        number=decision.chosen,
        kept=tuple(current.matrix.tests[test] for test in decision.kept),
        agreement=_agreement(current, decision, decision.chosen),
        disputed=len(decision.alike) < MAJORITY,
    )


def _agreement(current: Round, decision: Decision, number: int) -> Agreement:
    row = current.matrix.rows[number]
    dropped = [
        DroppedTest(test=current.matrix.tests[test].as_json(), got=_got(row.checks[test]) if row else None)
        for test in decision.dropped[:SHOWN_DROPPED]
    ]
    return Agreement(
        candidates=len(current.codes),
        suites=len(current.matrix.suites),
        share=round(len(decision.alike) / len(current.codes), 3),
        passed=round(len(decision.kept) / len(current.matrix.tests), 3),
        agreed=decision.agrees and current.blind,
        kept=decision.kept,
        dropped=decision.dropped,
        contradicting=tuple(dropped),
        repairs=current.codes[number].repairs,
        attempts=current.attempt,
        blind=tuple(mark_of(current.matrix.tests[test]) for test in decision.kept),
    )


def _got(check: Check | None) -> object:
    return check.got if check is not None else "it was not run"


def _no_selection(current: Round, decision: Decision) -> NoSelection:
    """The failure of the candidate that comes nearest."""
    if all(row is None for row in current.matrix.rows):
        return _unloadable(current)
    number = max(range(len(current.codes)), key=lambda each: _merit(current, each))
    row, held_out = current.matrix.rows[number], current.held_out[number]
    if row is None:
        return _unloadable(current)
    if number in current.barred and held_out is not None:
        told = _hidden_failure(held_out, current.matrix.candidates[number].draft)
        return NoSelection(number, told, shows_test=False)
    failed = [check for check in row.checks if check is not None and not check.passed]
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


def hide_examples(rejected: Rejected, hidden: Sequence[Example], code: str) -> Rejected:
    """Rewords a rejection for the code's author: the caller's own examples stay hidden, and inputs near them."""
    example = next((each for each in hidden if shows(rejected.case, each)), None)
    if example is None:
        return rejected
    how = describe_hidden_failure(rejected.reason, example, code, rejected.trace)
    return _without_example(rejected.stage, how)


def _hidden_failure(row: Row, draft: Draft) -> Rejected:
    """A failure of an example that its author may not see: how it ended, and nothing of its values."""
    ran = zip(row.checks, draft.examples, strict=True)
    pair = next(((check, example) for check, example in ran if check is not None and not check.passed), None)
    how = (
        describe_hidden_failure(pair[0].message, pair[1], draft.code, pair[0].trace)
        if pair
        else "it ran out of time"
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
    return (
        f"no candidate can be trusted: {len(decision.alike)} of {len(current.codes)} behave alike and pass "
        f"{len(decision.kept)} of {len(current.matrix.tests)} tests"
    )
