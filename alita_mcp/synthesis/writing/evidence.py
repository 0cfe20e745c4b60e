"""Trust in a tool that models wrote, from the gates' report and the agreement of candidates and suites.

Its tests were written by models too, so passing them says little alone. Two things can say `verified`: candidates and
suites that agree over the measured thresholds, or the caller's own examples, when these by themselves bring the code
through all gates. Whatever is less is `provisional`, and the report says what evidence would raise it.
"""

from __future__ import annotations

from alita_mcp.values import Agreement, Check, Trust, Usage, VerificationReport

RAISE = (
    "Give at least three examples of your own, one an edge or an error: no writer sees them, and a tool that they pin "
    "down is verified."
)


def amended(
    report: VerificationReport,
    agreement: Agreement,
    by_agreement: Trust,
    by_caller: Trust | None,
    usage: Usage,
) -> VerificationReport:
    """Adds agreement, cost and the trust that both allow to a report; `by_caller` is None without examples."""
    upheld = by_agreement == "verified" or by_caller == "verified"
    check = Check(
        stage="agreement",
        passed=upheld,
        hard=False,
        message=in_words(agreement, by_caller),
        fix="" if upheld else RAISE,
    )
    trust: Trust = report.trust if upheld or report.trust == "rejected" else "provisional"
    return report.model_copy(
        update={"trust": trust, "checks": (*report.checks, check), "agreement": agreement, "usage": usage}
    )


def in_words(agreement: Agreement, by_caller: Trust | None) -> str:
    """Describes the evidence of agreement in one line."""
    alike = round(agreement.share * agreement.candidates)
    said = (
        f"{alike} of {agreement.candidates} candidates behave alike, {agreement.alike} in the same words; "
        f"{len(agreement.kept)} tests kept, {len(agreement.dropped)} dropped"
    )
    if agreement.probability is not None:
        known = "on this model's record" if agreement.on_record else "of models without a record here"
        said += f"; {int(agreement.probability * 100)} % likely right, by agreement {known}"
    if by_caller is None:
        return said
    own = "verify it by themselves" if by_caller == "verified" else "hold, but prove too little alone"
    return f"{said}; the caller's own examples {own}"
