"""`alita doctor --sandbox`: tries the claims about isolation on back ends, as a table or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp import __version__
from alita_mcp.app.doctor import describe_probes
from alita_mcp.cli.output import Output, finding_lines
from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.choose import BACK_ENDS, Preparable, load_sandbox, open_sandbox
from alita_mcp.sandbox.conformance import TRIALS, try_claims
from alita_mcp.sandbox.interface import ProbeReport

if TYPE_CHECKING:
    from alita_mcp.settings import Settings

ALL = "all"


async def try_all_claims(kind: str, settings: Settings, output: Output) -> int:
    """Tries every claim on `kind`, on each back end for `all`, on the one that is set for an empty string.

    Returns:
        0 when all that work here conform; a back end that does not work here counts only when it was named.
    """
    reports: list[ProbeReport] = []
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
        "probes": [{**report.model_dump(mode="json"), "isolates": report.isolates} for report in reports],
        "unavailable": {
            name: {"message": problem.message, "hint": problem.hint} for name, problem in missing.items()
        },
    }
    lines = [line for report in reports for line in finding_lines(describe_probes(report))]
    lines += [f"{name} does not work here: {problem}" for name, problem in missing.items()]
    output.print_result(value, "\n".join(lines))
    return 0 if reports and all(report.isolates for report in reports) else SandboxError.exit_status


async def try_back_end(name: str, settings: Settings, output: Output) -> ProbeReport:
    """Tries every claim on one back end, and shows how far it is."""
    kind = name or settings.sandbox
    sandbox = load_sandbox(kind, settings) if name or kind != "auto" else await open_sandbox(settings)
    try:
        with output.progress(f"doctor: {sandbox.kind}") as on_stage:
            if isinstance(sandbox, Preparable):
                await sandbox.ready(on_stage)
            await on_stage("trying all claims")
            return ProbeReport(kind=sandbox.kind, probes=await try_claims(sandbox, TRIALS))
    finally:
        await sandbox.aclose()
