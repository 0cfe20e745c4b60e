"""`alita doctor --sandbox`: tries the claims about isolation on back ends, as a table or as JSON."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from alita_mcp import __version__
from alita_mcp.cli.output import Output
from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.choose import BACK_ENDS, Preparable, load_sandbox, open_sandbox
from alita_mcp.sandbox.conformance import ConformanceReport, Verdict, VerdictKind, conform

if TYPE_CHECKING:
    from alita_mcp.settings import Settings

ALL = "all"
_SIGNS: dict[VerdictKind, str] = {"passed": "✓", "refused": "-", "failed": "✗"}


async def try_claims(kind: str, settings: Settings, output: Output) -> int:
    """Tries every claim on `kind`, on each back end for `all`, on the one that is set for an empty string.

    Returns:
        0 when all that work here conform; a back end that does not work here counts only when it was named.
    """
    reports: list[ConformanceReport] = []
    missing: dict[str, SandboxError] = {}
    for name in BACK_ENDS if kind == ALL else (kind,):
        try:
            reports.append(await try_back_end(name, settings, output))
        except SandboxUnavailable as unavailable:
            if kind != ALL:
                raise
            missing[name] = unavailable
    value = {
        "alita": __version__,
        "reports": [report.model_dump(mode="json") | {"conforms": report.conforms} for report in reports],
        "unavailable": {
            name: {"message": problem.message, "hint": problem.hint} for name, problem in missing.items()
        },
    }
    lines = [line for report in reports for line in describe_report(report)]
    lines += [f"{name} does not work here: {problem}" for name, problem in missing.items()]
    output.print_result(value, "\n".join(lines))
    return 0 if reports and all(report.conforms for report in reports) else SandboxError.exit_status


async def try_back_end(name: str, settings: Settings, output: Output) -> ConformanceReport:
    """Tries every claim on one back end, and shows how far it is."""
    kind = name or settings.sandbox
    sandbox = load_sandbox(kind, settings) if name or kind != "auto" else await open_sandbox(settings)
    try:
        with output.progress(f"doctor: {sandbox.kind}") as on_stage:

            async def show_verdict(verdict: Verdict) -> None:
                detail = f" ({verdict.outcome})" if verdict.outcome != "passed" else ""
                await on_stage(f"{verdict.chapter}: {verdict.claim}{detail}")

            if isinstance(sandbox, Preparable):
                await sandbox.ready(on_stage)
            return await conform(sandbox, on_verdict=show_verdict)
    finally:
        await sandbox.aclose()


def describe_report(report: ConformanceReport) -> list[str]:
    """The claims by chapter with what came of each, and the sum."""
    lines = []
    for chapter, verdicts in groupby(report.verdicts, key=lambda verdict: verdict.chapter):
        lines.append(f"{report.kind}: {chapter}")
        for each in verdicts:
            detail = f" ({each.outcome}: {each.detail})" if each.outcome != "passed" else ""
            lines.append(f"  {_SIGNS[each.outcome]} {each.claim}{detail}")
    found = Counter(verdict.outcome for verdict in report.verdicts)
    counts = ", ".join(f"{found[outcome]} {outcome}" for outcome in _SIGNS)
    conforms = "conforms" if report.conforms else "does not conform"
    return [*lines, f"{report.kind} {conforms}: {counts}, in {report.seconds:.1f} s"]
