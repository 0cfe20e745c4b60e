"""Trust levels: what each allows, and what would raise a version's level."""

from __future__ import annotations

import json

from alita_mcp.texts import one_line
from alita_mcp.values import Check, Manifest, StoredVersion, Trust, VerificationReport

MAX_LINE = 600
"""Longest line that says what would raise the trust; whole pieces of advice are left out, never the end of one."""
MAX_FINDING = 120
MAX_ADVICE = 260
SHOWN_SURVIVORS = 3
OWN_EXAMPLES = (
    "Give at least three examples of your own, one an edge or error case, as tests with the same name"
)
MORE_TESTS = "Send the same name with tests of your own"
UNPROVEN = Check(
    stage="policy",
    passed=False,
    hard=False,
    message="The catalogue was missing, or what ran its gates is gone (monty): they have not run in this library",
    fix="Call it once: they run first, and say what it is worth.",
)
"""The one finding about a version for which nothing but its own files speaks."""
_RANK: dict[Trust, int] = {"rejected": 0, "provisional": 1, "verified": 2}
_ANY_TEST = "three at least, different in kind, one of them an edge or error case"


def is_lower(trust: Trust, than: Trust) -> bool:
    """Whether one level is below another."""
    return _RANK[trust] < _RANK[than]


def may_hold_grants(manifest: Manifest) -> bool:
    """Whether rights beyond pure computation may be given to a version at all."""
    return manifest.grants.is_pure or manifest.trust == "verified"


def unproven(stored: StoredVersion) -> StoredVersion:
    """A version as it counts while only its own files speak for it: `provisional`, whatever they say."""
    report = VerificationReport(
        trust="provisional",
        checks=(UNPROVEN.model_copy(update={"got": stored.manifest.trust}),),
        sandbox="none",
        examples_passed=0,
        examples_total=len(stored.examples),
        deterministic=False,
        created_at=stored.report.created_at,
        agreement=stored.report.agreement,
        usage=stored.report.usage,
        written_from=stored.report.written_from,
        recorded=stored.report.recorded,
        looked_up=stored.report.looked_up,
    )
    lowered = stored.manifest.model_copy(update={"trust": report.trust, "deterministic": False})
    return stored.model_copy(update={"manifest": lowered, "report": report})


def is_unproven(report: VerificationReport) -> bool:
    """Whether no gate has run in this library."""
    return any(check.message == UNPROVEN.message for check in report.checks)


def claims_less(report: VerificationReport) -> bool:
    """Whether an unproven version did not even call itself `verified`."""
    return any(check.message == UNPROVEN.message and check.got != "verified" for check in report.checks)


def contradiction(manifest: Manifest, report: VerificationReport) -> str:
    """Contradiction between a version's claim of trust and its report; empty when there is none."""
    if report.trust != manifest.trust:
        return "its manifest and its report name different levels of trust"
    failed = [check for check in report.checks if not check.passed]
    if report.trust == "rejected" or any(check.hard for check in failed):
        return "its report says rejected"
    return "its report claims more than its checks show" if report.trust == "verified" and failed else ""


def what_verifies(report: VerificationReport) -> str:
    """What the trust in a `verified` version that models wrote rests on; empty for any other."""
    checks = [check.message for check in report.checks if check.stage == "agreement" and check.passed]
    return checks[-1] if report.trust == "verified" and checks else ""


def what_would_raise(report: VerificationReport) -> str:
    """One line: the evidence that would make a version `verified`; empty when it is."""
    if report.trust == "verified":
        return ""
    if is_unproven(report):
        return f"{UNPROVEN.message}. {UNPROVEN.fix}"
    failed = [check for check in report.checks if not check.passed]
    # what agreement lacks goes first: it can be done at once
    lacking = next((check.fix for check in failed if check.stage == "agreement" and check.fix), "")
    line = lacking
    hints = [_hint(check, report) for check in failed if check.stage != "agreement"]
    for hint in dict.fromkeys(hints if hints or lacking else [_ANY_TEST]):
        longer = f"{line}; {hint}" if line else f"{MORE_TESTS}: {hint}"
        if line and len(longer) >= MAX_LINE:
            break
        line = longer
    return f"{line}."


def _hint(check: Check, report: VerificationReport) -> str:
    """What to do about a check that failed, and the call that shows it."""
    if check.stage == "mutation" and report.mutation and report.mutation.survivors:
        survivors = report.mutation.survivors
        shown = [
            f"line {each.line} `{one_line(each.was, 40)}` → `{one_line(each.now, 40)}`"
            for each in survivors[:SHOWN_SURVIVORS]
        ]
        more = f" and {len(survivors) - len(shown)} more" if len(survivors) > len(shown) else ""
        return f"some whose result shows the change of {', '.join(shown)}{more}"
    case = ""
    if check.case and check.stage != "properties":  # whose message begins with it
        case = f" for {one_line(json.dumps(check.case, ensure_ascii=False), MAX_FINDING)}"
    advice = f" ({one_line(check.fix.removesuffix('.'), MAX_ADVICE)})" if check.fix else ""
    return f"{one_line(check.message, MAX_FINDING)}{case}{advice}"
