"""Evidence card of a version: a summary of its verification report, as values and as labelled lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal

from alita_mcp.library.trust.trust import what_would_raise
from alita_mcp.texts import one_line
from alita_mcp.values import (
    Agreement,
    LookedUp,
    Stage,
    Trust,
    Value,
    VerificationReport,
)

MAX_SURVIVORS = 8
"""How many surviving mutants a card shows; the report holds all that were kept."""
MAX_FAILED = 5
MAX_ASSUMED = 5
MAX_SOURCES = 8
MAX_TEXT = 200

Row = tuple[str, str]
"""A label and what there is to say."""


class StageEvidence(Value):
    """Summary of one verification stage."""

    stage: Stage
    outcome: Literal["passed", "soft failure", "failed"]
    """A soft failure lowers the trust and no more."""
    checks: int
    seconds: float
    findings: tuple[str, ...] = ()
    """What did not pass."""


class Evidence(Value):
    """Summary of a verification report."""

    trust: Trust
    to_raise_trust: str
    """One line: what would make the version `verified`; empty when it is."""
    stages: tuple[StageEvidence, ...]
    sandboxes: tuple[str, ...]
    """Kinds of sandbox in which the gates passed."""
    mutants: str
    """Killed of all, as in `41/47`; empty where none were made."""


def evidence_of(report: VerificationReport, sandboxes: Sequence[str] = ()) -> Evidence:
    """The card as values; what the report itself says plainly is not repeated."""
    mutation = report.mutation
    return Evidence(
        trust=report.trust,
        to_raise_trust=what_would_raise(report),
        stages=tuple(_stages(report)),
        sandboxes=tuple(sandboxes) or (report.sandbox,),
        mutants=f"{mutation.killed}/{mutation.total}" if mutation else "",
    )


def report_with_evidence(report: VerificationReport, sandboxes: Sequence[str] = ()) -> dict[str, Any]:
    """A report as clients read it: every field of it, and the card."""
    card = evidence_of(report, sandboxes).model_dump(mode="json")
    return {**report.model_dump(mode="json"), "evidence": card}


def evidence_rows(report: VerificationReport, sandboxes: Sequence[str] = ()) -> list[Row]:
    """The card for a reader, one labelled line each; what an older report does not tell is left out."""
    card = evidence_of(report, sandboxes)
    rows: list[Row] = [("trust", card.trust)]
    for stage in card.stages:
        checks = "1 check" if stage.checks == 1 else f"{stage.checks} checks"
        line = f"{stage.outcome}, {checks}, {stage.seconds:.3g} s"
        findings = "; ".join(stage.findings)
        rows.append((stage.stage, _shorten(f"{line}: {findings}" if findings else line)))
    repeated = "deterministic" if report.deterministic else "not deterministic"
    rows.append(("passed", f"{report.examples_passed} of {report.examples_total} examples; {repeated}"))
    if report.properties:
        drawn = "" if report.properties_seed is None else f", drawn with seed {report.properties_seed}"
        rows.append(("generated", f"{report.properties} inputs tried{drawn}"))
    if report.mutation:
        mutation, survivors = report.mutation, report.mutation.survivors
        shown = [f"line {each.line}: {each.was} → {each.now}" for each in survivors[:MAX_SURVIVORS]]
        rows.append(("mutants", f"{mutation.killed} of {mutation.total} noticed by the examples"))
        rows += [("survivor", _shorten(each)) for each in shown]
        if len(survivors) > MAX_SURVIVORS:
            rows.append(("survivor", f"and {len(survivors) - MAX_SURVIVORS} more"))
    if report.agreement:
        rows += _of_agreement(report.agreement)
    if report.usage:
        usage = report.usage
        cost = "cost unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
        tokens = f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens"
        rows.append(("models", f"{usage.calls} calls, {tokens}, {cost}, {usage.seconds:.3g} s"))
    if report.written_from:
        rows += [("assumed", _shorten(line)) for line in report.written_from.assumed[:MAX_ASSUMED]]
    looked_up = report.looked_up or LookedUp()
    rows += [
        ("source", _shorten(f"{source.url} {source.title} {source.retrieved_at[:19]}"))
        for source in looked_up.sources[:MAX_SOURCES]
    ]
    rows += [("not found", _shorten(note)) for note in looked_up.notes[:MAX_FAILED]]
    if report.recorded:
        made = f"{len(report.recorded.runs)} runs of code; {len(report.recorded.examples)} of its examples"
        rows.append(("made of", f"{made} were seen there and confirmed by nobody"))
    rows.append(("sandbox", f"{report.sandbox}; gates passed in {', '.join(card.sandboxes)}"))
    rows.append(("environment", report.environment or "no packages"))
    rows.append(("seeds", ", ".join(map(str, report.seeds)) or "none recorded"))
    programs = [f"{name} {version}" for name, version in report.software.items() if name != "sandbox"]
    took = f"{report.seconds:.3g} s, {report.created_at[:19]}"
    rows.append(("took", "; ".join([took, *([", ".join(programs)] if programs else [])])))
    if card.to_raise_trust:
        rows.append(("to raise", card.to_raise_trust))
    return rows


def _stages(report: VerificationReport) -> Iterator[StageEvidence]:
    for stage, group in groupby(report.checks, key=lambda check: check.stage):
        found = list(group)
        failed = [check for check in found if not check.passed]
        outcome: Literal["passed", "soft failure", "failed"] = "passed"
        if failed:
            outcome = "failed" if any(check.hard for check in failed) else "soft failure"
        yield StageEvidence(
            stage=stage,
            outcome=outcome,
            checks=len(found),
            seconds=round(report.seconds_by_gate.get(stage, sum(check.seconds for check in found)), 3),
            findings=tuple(check.message for check in failed[:MAX_FAILED]),
        )


def _of_agreement(agreement: Agreement) -> Iterator[Row]:
    said = (
        f"{agreement.candidates} against {agreement.suites} suites; {agreement.share:.0%} behave alike and pass "
        f"{agreement.passed:.0%} of the tests; "
        f"repairs {agreement.repairs}"
    )
    yield "candidates", said
    yield "tests", f"{len(agreement.kept)} kept, {len(agreement.dropped)} dropped"
    for each in agreement.contradicting[:MAX_FAILED]:
        test = json.dumps(each.test, ensure_ascii=False, default=str)
        yield (
            "dropped",
            _shorten(f"{_shorten(test)}, but the chosen one gives {json.dumps(each.got, default=str)}"),
        )


def _shorten(text: str) -> str:
    return one_line(text, MAX_TEXT)
