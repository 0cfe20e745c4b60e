"""Trust in a tool that models wrote, from the gates' report and the agreement of candidates and suites.

Its tests were written by models too, so passing them says little alone. Two things can say `verified`: candidates and
suites that agree fully, where the models' last syntheses did so too, or the caller's own examples, when these by
themselves bring the code through all gates. Whatever is less is `provisional`, and the report says what would raise it.
"""

from __future__ import annotations

from alita_mcp.values import Agreement, Check, Trust, Usage, VerificationReport
from alita_mcp.verification.agreement.agreement import ENOUGH, WINDOW, is_proven

RAISE = (
    "Give at least three examples of your own, one an edge or an error: no writer sees them, and a tool that they pin "
    "down is verified."
)
WAIT = f"It is raised once {ENOUGH} of the next {WINDOW} tools by these models agree fully too."


def amended(
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
