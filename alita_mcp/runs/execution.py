"""Runs code once in a sandbox and turns the result into a `CodeRun`."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.runs.code_run import CodeRequest, CodeRun, ResultKind
from alita_mcp.runs.outputs import outputs_of
from alita_mcp.runs.program import FUNCTION, program
from alita_mcp.runs.tool_broker import QUESTIONS, RedactingBroker, ToolBroker
from alita_mcp.sandbox.interface import Environment, Job, RunResult, Sandbox
from alita_mcp.values import Limits, Value

LIMITS = Limits(result_bytes=32 << 20)
"""Those of a tool, with room for figures and files in the result."""


class ProgramReport(Value):
    """Report of the program inside on how code ended."""

    kind: ResultKind = "none"
    value: Any = None
    error: dict[str, str] | None = None
    figures: tuple[dict[str, str], ...] = ()
    files: tuple[dict[str, str], ...] = ()
    notes: tuple[str, ...] = ()


async def run_once(
    request: CodeRequest,
    sandbox: Sandbox,
    environment: Environment | None = None,
    broker: RedactingBroker | None = None,
) -> CodeRun:
    """Runs a script in a pooled worker for scripts with the same packages and rights; nothing of it stays behind.

    Raises:
        SandboxError: the sandbox failed, or too many calls wait.
    """
    grants, limits = request.grants, LIMITS
    if isinstance(broker, ToolBroker):  # a sandbox passes on no requests of a call without grants
        grants = grants.model_copy(update={"tools": (*grants.tools, "*")})
        limits = limits.model_copy(update={"broker_calls": QUESTIONS})
    job = Job(
        code=program(),
        function=FUNCTION,
        arguments={"code": request.code, "arguments": request.arguments},
        environment=environment,
        limits=limits,
        grants=grants,
    )
    result = await sandbox.run(job, broker)
    return await off_loop(
        lambda: code_run(broker.redact_result(result) if broker else result, sandbox.kind),
        large=is_large(result.value),
    )


def code_run(result: RunResult, sandbox: str) -> CodeRun:
    """The run that the result of a call of the program inside reports."""
    run = CodeRun(
        status=result.status,
        error_type=result.error_type,
        error=result.message,
        stdout=result.stdout,
        stderr=result.stderr,
        seconds=result.wall_seconds,
        sandbox=sandbox,
    )
    if not result.ok:
        return run
    try:
        report = ProgramReport.model_validate(result.value)
    except ValidationError:  # code can replace the program that runs it, and then lies about itself alone
        broken = {"status": "crashed", "error": "the code broke the program that runs it"}
        return run.model_copy(update=broken)
    figures, files, notes = outputs_of(report.figures, report.files, report.notes)
    run = run.model_copy(update={"figures": figures, "files": files, "notes": notes})
    if report.error is not None:
        fields = {"error_type": "type", "error": "message", "trace": "trace"}
        words = {name: report.error.get(key, "") for name, key in fields.items()}
        return run.model_copy(update={"status": "error", **words})
    return run.model_copy(update={"result": report.value, "result_kind": report.kind})
