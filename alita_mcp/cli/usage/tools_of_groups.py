"""Maker of a tool of like programs: each is run once in the sandbox, and its result there becomes an example."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alita_mcp.app.learning import UNIDENTIFIED
from alita_mcp.app.runs.runner import CodeRunResult
from alita_mcp.cli.library.making import in_words, make, status_of
from alita_mcp.errors import AlitaError
from alita_mcp.interpreter.code_run import CodeRequest
from alita_mcp.progress import silent
from alita_mcp.transcripts.session import MOST_OUTPUT

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.cli.output import Output
    from alita_mcp.cli.usage.program_groups import ProgramGroup
    from alita_mcp.library.runs.recorded_run import RecordedRun


@dataclass(frozen=True)
class Made:
    """What came of one group."""

    status: int
    """Exit status."""
    told: dict[str, Any]
    text: str


async def make_tool(app: App, group: ProgramGroup, output: Output) -> Made:
    """Runs the group's programs once more in the sandbox, and brings what they amount to through the gates."""
    try:
        with output.progress(group.name) as on_stage:
            async with app.told_of_preparation(on_stage):
                ran = [await _run_again(app, run, group.packages) for run in group.usable]
        ids = [run_id for run_id, _ in ran if run_id]
        failures = [why for run_id, why in ran if not run_id]
        if not ids:
            return _not_made(
                group, f"no run of it ends in the sandbox as it did for the agent: {failures[-1]}"
            )
        outcome = await make(app, {"name": group.name, "from_run": ids}, output)
    except AlitaError as failed:
        return _not_made(group, str(failed), failed.exit_status)
    left_out = [f"  left out  {why}" for why in failures]
    told = {"name": group.name, "from_run": ids, "left_out": failures, **outcome.model_dump(mode="json")}
    return Made(
        status_of(outcome), told, "\n".join([in_words(outcome), f"  from_run  {' '.join(ids)}", *left_out])
    )


async def _run_again(app: App, run: RecordedRun, packages: tuple[str, ...]) -> tuple[str, str]:
    """The id of the run in the sandbox; or none, and why it is no example."""
    request = CodeRequest(code=run.code, arguments=run.arguments, packages=packages)
    answer = await app.code.run(request, UNIDENTIFIED, silent)
    if not isinstance(answer, CodeRunResult):
        return "", "it waits for a person"
    if not answer.run.ok:
        return "", f"{answer.run.error_type or answer.run.status}: {answer.run.error}"[:200]
    seen = run.stdout.strip()
    if seen and len(run.stdout) < MOST_OUTPUT and seen != answer.run.stdout.strip():
        return "", "it printed something else than the transcript shows"
    return answer.id, ""


def _not_made(group: ProgramGroup, why: str, status: int = AlitaError.exit_status) -> Made:
    return Made(
        status, {"name": group.name, "status": "failed", "reason": why}, f"{group.name} was not made: {why}"
    )
