"""Handler of `run_code`: one run of the App, its result, output, figures and files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import mcp_types as types

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.command import spell_commands
from alita_mcp.library.packed_files import mime_of
from alita_mcp.library.unreviewed import visible_manifest
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest, CodeRunResult
from alita_mcp.server.elicitation import questions_to_person
from alita_mcp.server.results.building import MAX_ERROR_TEXT, as_json, printable, tool_result
from alita_mcp.server.results.texts import outcome_text
from alita_mcp.server.rounds import job_result, resume_job
from alita_mcp.toolsmith.requests.outcomes import Rejected, Working
from alita_mcp.toolsmith.requests.request import grant_problem, grants_of, read_request, strip_fence

if TYPE_CHECKING:
    from alita_mcp.app.code_rights import CodeWaits
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall

MAX_OUTPUT_TEXT = 20_000
"""So many characters of what code printed stand in the text; the structured part has all that was kept."""
RESULT_IS = {"repr": "not JSON-serializable; this is its repr", "cut": "too large; this is its start"}
"""What is said of a result that is not the value itself."""


async def handle_run_code(call: ToolCall) -> ToolResult:
    """Runs the code of one call, or gives the outcome of a run that took longer.

    Raises:
        InvalidArguments: the packages or needs break the rules of a tool's.
    """
    job = await resume_job(call, "run_code")
    if job is None:
        fields = call.arguments
        rights = read_request({name: fields[name] for name in ("packages", "needs") if name in fields})
        unfit = rights if isinstance(rights, Rejected) else grant_problem(rights)
        if unfit is not None or isinstance(rights, Rejected):
            raise InvalidArguments(unfit.reason if unfit else "", hint=unfit.fix if unfit else "")
        request = CodeRequest(
            code=strip_fence(fields.get("code", "").replace("\r\n", "\n")),
            arguments=fields.get("arguments", {}),
            packages=rights.packages,
            grants=grants_of(rights),
            session=fields.get("session", ""),
        )
        request.check()
        person = None if request.grants.is_pure else questions_to_person(call)

        async def run(enter: ReportStage) -> CodeRunResult | CodeWaits:
            shown = partial(visible_manifest, call.app, reader=call.maker)
            return await call.app.code.run_code(request, call.identity, enter, person, shown)

        job = call.app.jobs.start(run, person=person, owner=call.identity.owner, tool="run_code")
    return await job_result(call, job, partial(_outcome_result, call))


def _outcome_result(call: ToolCall, outcome: CodeRunResult | CodeWaits | Working) -> types.CallToolResult:
    # 1. The run has ended. 2. It goes on. 3. It did not start: a person has to approve what it asks for.
    if isinstance(outcome, CodeRunResult):
        fields = run_fields(outcome)
        pictures = [
            types.ImageContent(data=each.data, mime_type=each.mime_type) for each in outcome.run.figures
        ]
        links = [
            types.ResourceLink(uri=each["uri"], name=each["name"], size=each["bytes"], mime_type=each["mime"])
            for each in fields.get("files", ())
        ]
        return types.CallToolResult(
            content=[types.TextContent(text=run_text(fields)), *pictures, *links],
            structured_content=fields,
            is_error=not outcome.run.ok,
        )
    fields = outcome.model_dump(mode="json")
    if isinstance(outcome, Working):
        return tool_result(fields, outcome_text(fields))
    fields["how"] = spell_commands(fields["how"], call.app.alita)
    asked = f" Asked: {outcome.asked}." if outcome.asked else ""
    text = f"Nothing ran: the code asks for {', '.join(outcome.grants)}.{asked} {fields['how']}"
    return tool_result(fields, text)


def run_fields(done: CodeRunResult) -> dict[str, Any]:
    """The structured result; what does not apply is left out, but for the result of a run that ended well."""
    run = done.run
    fields: dict[str, Any] = {"status": "ok" if run.ok else "failed", "run": done.id}
    if run.ok:
        fields |= {"result": run.result} | (
            {"result_is": run.result_kind} if run.result_kind in RESULT_IS else {}
        )
    else:
        fields["error"] = ": ".join(filter(None, (run.error_type or run.status, run.error)))
    files = [
        {
            "name": file.name,
            "uri": f"alita://runs/{done.id}/{quote(file.name)}",
            "bytes": len(file.data),
            "mime": mime_of(file.name, file.data),
        }
        for file in run.files
    ]
    optional: dict[str, Any] = {
        "trace": "" if run.ok else run.trace,
        "notes": list(run.notes),
        "figures": len(run.figures),
        "files": files,
        "keep": done.keep,
    }
    fields |= {name: value for name, value in optional.items() if value} | {"seconds": round(run.seconds, 4)}
    fields |= {"session": done.session, "step": run.step} if run.step else {}
    # What may be long stands last: of a result that is too large a client reads the beginning.
    printed = {"stderr": run.stderr, "stdout": run.stdout}
    return fields | {name: text for name, text in printed.items() if text}


def run_text(fields: dict[str, Any]) -> str:
    """The same for a reader: the result or the error first, then what was printed."""
    lines = []
    if fields["status"] == "ok":
        value = fields["result"]
        text = value if isinstance(value, str) else as_json(value)
        is_other = fields.get("result_is")
        lines.append(f"{text} (the result is {RESULT_IS[is_other]})" if is_other else text)
    else:
        lines.append(printable(fields.get("trace") or fields["error"], MAX_ERROR_TEXT))
    for stream in ("stdout", "stderr"):
        if printed := fields.get(stream, "").rstrip():
            more = len(printed) - MAX_OUTPUT_TEXT
            cut = f"… ({more:,} more characters)" if more > 0 else ""
            lines.append(f"{stream}:\n{printable(printed[:MAX_OUTPUT_TEXT], MAX_OUTPUT_TEXT)}{cut}")
    if "figures" in fields:
        lines.append(f"figures: {fields['figures']}")
    lines += [
        f"file {file['name']} ({file['bytes']:,} bytes, {file['mime']}): {file['uri']}"
        for file in fields.get("files", ())
    ]
    lines += fields.get("notes", ())
    if "keep" in fields:
        lines.append(f"keep: {fields['keep']}")
    step = f", step {fields['step']} of session {fields['session']}" if "step" in fields else ""
    lines.append(f"({fields['seconds']:g} s, run {fields['run']}{step})")
    return "\n".join(lines)
