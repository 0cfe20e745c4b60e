"""Selection of the candidate to prove, from the pass matrix of candidates and blind test suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from alita_mcp.library.trust.trust import OWN_EXAMPLES
from alita_mcp.library.versions.files import mark_of
from alita_mcp.toolsmith.failures import describe_hidden_failure, shows
from alita_mcp.toolsmith.requests.modes import Width
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.toolsmith.writing.draws import CandidateCode
from alita_mcp.values import Agreement, Check, DroppedTest, Example, Stage, Trust, Usage, VerificationReport
from alita_mcp.verification.agreement import (
    ENOUGH,
    MAJORITY,
    WINDOW,
    PassMatrix,
    Row,
    accept,
    is_proven,
)

SHOWN_DROPPED = 10
SHOWN_FAILURES = 3


@dataclass(frozen=True)
class Round:
    """Candidates with all suites that they were run against."""

    codes: tuple[CandidateCode, ...]
    matrix: PassMatrix
    held_out: tuple[Row | None, ...]
    """What each candidate did with the caller's own examples, which no writer saw."""
    asked: Width
    """How many candidates and suites were asked for, those that could not be had included."""
    blind: bool = True
    """Whether no candidate was repaired, or drawn anew, after it failed a test or an example."""

    @property
    def own_example_failures(self) -> frozenset[int]:
        """Candidates that fail an example of the caller's."""
        return frozenset(
            number for number, row in enumerate(self.held_out) if row is not None and not all(row.passes)
        )


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


def judge(current: Round) -> Selection | NoSelection:
    """Selects the majority's candidate, else one that passes nearly all tests, or says why there is none."""
    matrix = current.matrix
    barred = current.own_example_failures
    unbarred = [None if number in barred else row for number, row in enumerate(matrix.rows)]
    decision = accept(unbarred, matrix.suites)
    if decision.chosen is not None:
        row = matrix.rows[decision.chosen]
        contradicting = [
            DroppedTest(test=matrix.tests[test].as_json(), got=row.got(test) if row else None)
            for test in decision.dropped[:SHOWN_DROPPED]
        ]
        agreement = Agreement(
            candidates=len(current.codes),
            suites=len(matrix.suites),
            share=round(len(decision.alike) / len(current.codes), 3),
            passed=round(len(decision.kept) / len(matrix.tests), 3),
            agreed=decision.agrees and current.blind,
            kept=decision.kept,
            dropped=decision.dropped,
            contradicting=tuple(contradicting),
            repairs=current.codes[decision.chosen].repairs,
            blind=tuple(mark_of(matrix.tests[test]) for test in decision.kept),
        )
        return Selection(
            number=decision.chosen,
            kept=tuple(matrix.tests[test] for test in decision.kept),
            agreement=agreement,
            disputed=len(decision.alike) < MAJORITY,
        )

    def merit(number: int) -> tuple[bool, int, int]:
        row = matrix.rows[number]
        return row is not None and number not in barred, sum(row.passes) if row else -1, -number

    # The author of the best candidate hears (1) why nothing can be run, (2) that an example fails which it may not
    # see, (3) that no majority passes, or (4) which tests fail.
    number = max(range(len(current.codes)), key=merit)
    row, own_row = matrix.rows[number], current.held_out[number]
    if row is None:
        failures = [each.failure for each in matrix.candidates]
        number, failure = next((place, each) for place, each in enumerate(failures) if each is not None)
        return NoSelection(number, rejection(failure))
    if number in barred and own_row is not None:
        draft = matrix.candidates[number].draft
        how = "it ran out of time"
        for check, example in zip(own_row.checks, draft.examples, strict=True):
            if check is not None and not check.passed:
                how = describe_hidden_failure(check.message, example, draft.code, check.trace)
                break
        return NoSelection(number, _reject_without_example("examples", how))
    counts = (
        f"no candidate can be trusted: {len(decision.alike)} of {len(current.codes)} behave alike and pass "
        f"{len(decision.kept)} of {len(matrix.tests)} tests"
    )
    failed = [check for check in row.checks if check is not None and not check.passed]
    if not failed:
        fix = "Describe more exactly what the tool does, or give examples of your own."
        return NoSelection(number, Rejected(stage="agreement", reason=counts, fix=fix))
    first = rejection(failed[0])
    if len(current.codes) == 1:
        reason = f"{sum(row.passes)} of {len(row.checks)} tests pass; {first.reason}"
    else:
        reason = "; ".join((counts, first.reason, *(check.message for check in failed[1:SHOWN_FAILURES])))
    return NoSelection(number, first.model_copy(update={"reason": reason}))


def hide_examples(rejected: Rejected, hidden: Sequence[Example], code: str) -> Rejected:
    """Rewords a rejection for the code's author: the caller's own examples stay hidden, and inputs near them."""
    example = next((each for each in hidden if shows(rejected.case, each)), None)
    if example is None:
        return rejected
    how = describe_hidden_failure(rejected.reason, example, code, rejected.trace)
    return _reject_without_example(rejected.stage, how)


def _reject_without_example(stage: Stage, how: str) -> Rejected:
    reason = f"an example of the caller's own, which is not shown, fails: {how}"
    return Rejected(stage=stage, reason=reason, fix="Read the request again; every word of it may be tested.")


def add_agreement(
    report: VerificationReport,
    agreement: Agreement,
    agreed_before: tuple[bool, ...] | None,
    by_caller: Trust | None,
    usage: Usage,
) -> VerificationReport:
    """Adds agreement, cost and the trust that both allow to a report.

    The tests were written by models too, so passing them says little alone. A tool is `verified` where candidates and
    suites agree fully and the models' last syntheses did so too, or where the caller's own examples verify it alone.

    Args:
        report: The gates' report.
        agreement: Of the candidates and suites.
        agreed_before: Whether the models' last syntheses agreed fully; None for models that can have no record.
        by_caller: Trust by the caller's examples alone; None where it gave none.
        usage: What the models cost.
    """
    alike = round(agreement.share * agreement.candidates)
    message = (
        f"{alike} of {agreement.candidates} candidates behave alike; {len(agreement.kept)} tests kept, "
        f"{len(agreement.dropped)} dropped"
    )
    if agreement.agreed and agreed_before is None:
        message += "; agreed fully, but a lent model has no record"
    elif agreement.agreed and agreed_before is not None:
        agreed = sum(agreed_before)
        message += "; agreed fully"
        message += f", as did {agreed} of {len(agreed_before)} before it" if is_proven(agreed_before) else ""
    if by_caller is not None:
        proof = "verify it by themselves" if by_caller == "verified" else "hold, but prove too little alone"
        message += f"; the caller's own examples {proof}"
    upheld = verifies(agreement, agreed_before) or by_caller == "verified"
    fix = "" if upheld else OWN_EXAMPLES
    if not upheld and agreement.agreed and agreed_before is not None:
        fix = (
            f"this model has {sum(agreed_before)} of {WINDOW}; three examples of your own would verify it now, one an "
            "edge or error case: send them as tests with the same name. It rises by itself once "
            f"{ENOUGH} of this model's next {WINDOW} tools agree fully"
        )
    check = Check(stage="agreement", passed=upheld, hard=False, message=message, fix=fix)
    trust: Trust = report.trust if upheld or report.trust == "rejected" else "provisional"
    return report.model_copy(
        update={"trust": trust, "checks": (*report.checks, check), "agreement": agreement, "usage": usage}
    )


def verifies(agreement: Agreement, agreed_before: tuple[bool, ...] | None) -> bool:
    """Whether agreement alone verifies a tool."""
    return agreement.agreed and is_proven(agreed_before or ())
