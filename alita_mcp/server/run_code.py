"""`run_code`: its arguments in, one run of the App, its result, output, figures and files out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types

from alita_mcp.interpreter.code_run import CodeRequest
from alita_mcp.server.answers import MAX_ERROR_TEXT, as_json, printable
from alita_mcp.server.asker import asker_of

if TYPE_CHECKING:
    from alita_mcp.app.code import CodeAnswer
    from alita_mcp.server.sources import ToolAnswer, ToolCall

MAX_OUTPUT_TEXT = 20_000
"""So many characters of what code printed stand in the text; the structured part has all that was kept."""


async def answer_run(call: ToolCall) -> ToolAnswer:
    """Runs the code of one call."""
    asked = call.arguments
    request = CodeRequest(
        code=asked.get("code", ""),
        arguments=asked.get("arguments", {}),
        packages=tuple(asked.get("packages", ())),
    )
    done = await call.app.code.run(request, asker_of(call.ctx), call.on_stage)
    structured = structured_of(done)
    return types.CallToolResult(
        content=[types.TextContent(text=text_of(structured))],
        structured_content=structured,
        is_error=not done.run.ok,
    )


def structured_of(done: CodeAnswer) -> dict[str, Any]:
    """The answer for programs; what does not apply is left out, but for the result of a run that ended well."""
    run = done.run
    told: dict[str, Any] = {"status": "ok" if run.ok else "failed"}
    if run.ok:
        told |= {"result": run.result} | ({"result_is": "repr"} if run.result_kind == "repr" else {})
    else:
        told |= {"error": ": ".join(filter(None, (run.error_type or run.status, run.error)))}
        told |= {"trace": run.trace} if run.trace else {}
    told |= {name: text for name, text in (("stdout", run.stdout), ("stderr", run.stderr)) if text}
    told |= {"notes": list(run.notes)} if run.notes else {}
    return told | {"seconds": round(run.seconds, 4), "run": done.id}


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
    lines += told.get("notes", ())
    lines.append(f"({told['seconds']:g} s, run {told['run']})")
    return "\n".join(lines)
