"""`alita doctor --sandbox`: claims about isolation tried on back ends, as a table or as JSON."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from alita_mcp import __version__
from alita_mcp.cli.output import Output
from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.choose import BACK_ENDS, Preparable, load_sandbox, open_sandbox
from alita_mcp.sandbox.conformance import ConformanceReport, Verdict, VerdictKind, conform
from alita_mcp.settings import Settings

ALL = "all"
_SIGNS: dict[VerdictKind, str] = {"passed": "✓", "refused": "-", "failed": "✗"}


async def examine(kind: str, settings: Settings, output: Output) -> int:
    """Tries every claim on `kind`, on each back end for `all`, on the one that is set for an empty word.

    Returns:
        0 when all that work here conform; a back end that does not work here counts only when it was named.
    """
    reports: list[ConformanceReport] = []
    missing: dict[str, SandboxError] = {}
    for name in BACK_ENDS if kind == ALL else (kind,):
        try:
            reports.append(await _examined(name, settings, output))
        except SandboxUnavailable as unavailable:
            if kind != ALL:
                raise
            missing[name] = unavailable
    output.result(_findings(reports, missing), "\n".join(_lines(reports, missing)))
    return 0 if reports and all(report.conforms for report in reports) else SandboxError.exit_status


async def _examined(name: str, settings: Settings, output: Output) -> ConformanceReport:
    kind = name or settings.sandbox
    sandbox = load_sandbox(kind, settings) if name or kind != "auto" else await open_sandbox(settings)
    try:
        with output.progress(f"doctor: {sandbox.kind}") as on_stage:

            async def tell(verdict: Verdict) -> None:
                detail = f" ({verdict.outcome})" if verdict.outcome != "passed" else ""
                await on_stage(f"{verdict.chapter}: {verdict.claim}{detail}")

            if isinstance(sandbox, Preparable):
                await sandbox.ready(on_stage)
            return await conform(sandbox, on_verdict=tell)
    finally:
        await sandbox.aclose()


def _findings(reports: list[ConformanceReport], missing: dict[str, SandboxError]) -> dict[str, Any]:
    return {
        "alita": __version__,
        "reports": [report.model_dump(mode="json") | {"conforms": report.conforms} for report in reports],
        "unavailable": {
            name: {"message": problem.message, "hint": problem.hint} for name, problem in missing.items()
        },
    }


def _lines(reports: list[ConformanceReport], missing: dict[str, SandboxError]) -> list[str]:
    lines = []
    for report in reports:
        found = Counter(verdict.outcome for verdict in report.verdicts)
        counts = ", ".join(f"{found[outcome]} {outcome}" for outcome in _SIGNS)
        verdict = "conforms" if report.conforms else "does not conform"
        for chapter, verdicts in groupby(report.verdicts, key=lambda verdict: verdict.chapter):
            lines.append(f"{report.kind}: {chapter}")
            for each in verdicts:
                detail = f" ({each.outcome}: {each.detail})" if each.outcome != "passed" else ""
                lines.append(f"  {_SIGNS[each.outcome]} {each.claim}{detail}")
        lines.append(f"{report.kind} {verdict}: {counts}, in {report.seconds:.1f} s")
    lines += [f"{name} does not work here: {problem}" for name, problem in missing.items()]
    return lines
