"""Handler of `run_code`: one run of the App, its result, output, figures and files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types

from alita_mcp.app.code_runner import CodeRunResult
from alita_mcp.errors import InvalidArguments
from alita_mcp.library.command import spelled
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest
from alita_mcp.server.elicitation import questions_to_person
from alita_mcp.server.results.building import MAX_ERROR_TEXT, as_json, printable, tool_result
from alita_mcp.server.results.run_files import links, told_files
from alita_mcp.server.results.texts import outcome_text
from alita_mcp.server.results.unreviewed import shown
from alita_mcp.server.rounds import asked_job_id, job_result, parked_job
from alita_mcp.toolsmith.requests.outcomes import Rejected, Working
from alita_mcp.toolsmith.requests.request import grants_of, read_request, unfit_grants

if TYPE_CHECKING:
    from alita_mcp.app.code_rights import CodeWaits
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.toolsmith.jobs.jobs import Job

MAX_OUTPUT_TEXT = 20_000
"""So many characters of what code printed stand in the text; the structured part has all that was kept."""


async def handle_run_code(call: ToolCall) -> ToolResult:
    """Runs the code of one call, or gives the outcome of a run that took longer."""
    job: Job[CodeRunResult | CodeWaits]
    job, rounds = parked_job(call, "run_code", asked_job_id(call, "how a run ended")) or (_begun(call), 0)
    return await job_result(call, job, rounds, partial(_outcome_result, call))


def _begun(call: ToolCall) -> Job[CodeRunResult | CodeWaits]:
    """The job that runs the code of a call."""
    request = _read(call.arguments)
    person = None if request.grants.is_pure else questions_to_person(call)

    async def work(enter: ReportStage) -> CodeRunResult | CodeWaits:
        return await call.app.code.run_code(request, call.identity, enter, person, partial(shown, call.app))

    return call.app.jobs.start_run(work, person)


def _read(asked: Mapping[str, Any]) -> CodeRequest:
    """What a client asks for, its packages and needs held to the rules of a tool's.

    Raises:
        InvalidArguments: it does not fit.
    """
    rights = read_request({name: asked[name] for name in ("packages", "needs") if name in asked})
    unfit = rights if isinstance(rights, Rejected) else unfit_grants(rights)
    if unfit is not None or isinstance(rights, Rejected):
        raise InvalidArguments(unfit.reason if unfit else "", hint=unfit.fix if unfit else "")
    request = CodeRequest(
        code=asked.get("code", ""),
        arguments=asked.get("arguments", {}),
        packages=rights.packages,
        grants=grants_of(rights),
        session=asked.get("session", ""),
    )
    request.check()
    return request


def _outcome_result(call: ToolCall, outcome: CodeRunResult | CodeWaits | Working) -> types.CallToolResult:
    if isinstance(outcome, CodeRunResult):
        return told_run(outcome)
    structured = outcome.model_dump(mode="json")
    if isinstance(outcome, Working):
        return tool_result(structured, outcome_text(structured))
    structured["how"] = spelled(structured["how"], call.app.alita)
    said = f" Asked: {outcome.asked}." if outcome.asked else ""
    text = f"Nothing ran: the code asks for {', '.join(outcome.grants)}.{said} {structured['how']}"
    return tool_result(structured, text)


def told_run(done: CodeRunResult) -> types.CallToolResult:
    """One run in both forms, with its pictures and with links to its files."""
    structured = structured_of(done)
    pictures = [types.ImageContent(data=each.data, mime_type=each.mime_type) for each in done.run.figures]
    text = types.TextContent(text=text_of(structured))
    return types.CallToolResult(
        content=[text, *pictures, *links(structured.get("files", ()))],
        structured_content=structured,
        is_error=not done.run.ok,
    )


def structured_of(done: CodeRunResult) -> dict[str, Any]:
    """The structured result; what does not apply is left out, but for the result of a run that ended well."""
    run = done.run
    told: dict[str, Any] = {"status": "ok" if run.ok else "failed", "run": done.id}
    if run.ok:
        told |= {"result": run.result} | ({"result_is": "repr"} if run.result_kind == "repr" else {})
    else:
        told |= {"error": ": ".join(filter(None, (run.error_type or run.status, run.error)))}
        told |= {"trace": run.trace} if run.trace else {}
    told |= {name: text for name, text in (("stdout", run.stdout), ("stderr", run.stderr)) if text}
    told |= {"figures": len(run.figures)} if run.figures else {}
    told |= {"files": told_files(done.id, run.files)} if run.files else {}
    told |= {"notes": list(run.notes)} if run.notes else {}
    told |= {"session": done.session, "step": run.step} if run.step else {}
    told |= {"keep": done.keep} if done.keep else {}
    return told | {"seconds": round(run.seconds, 4)}


def text_of(told: dict[str, Any]) -> str:
    """The same for a reader: the result or the error first, then what was printed."""
    lines = []
    if told["status"] == "ok":
        value = told["result"]
        said = value if isinstance(value, str) else as_json(value)
        lines.append(f"{said} (its repr: it is no JSON)" if told.get("result_is") else said)
    else:
        lines += [printable(told.get("trace") or told["error"], MAX_ERROR_TEXT)]
    for stream in ("stdout", "stderr"):
        if stream in told:
            lines.append(f"{stream}:\n{printable(told[stream].rstrip(), MAX_OUTPUT_TEXT)}")
    lines += [f"figures: {told['figures']}"] if "figures" in told else []
    lines += [
        f"file {file['name']} ({file['bytes']:,} bytes, {file['mime']}): {file['uri']}"
        for file in told.get("files", ())
    ]
    lines += told.get("notes", ())
    lines += [f"keep: {told['keep']}"] if "keep" in told else []
    step = f", step {told['step']} of session {told['session']}" if "step" in told else ""
    lines.append(f"({told['seconds']:g} s, run {told['run']}{step})")
    return "\n".join(lines)
