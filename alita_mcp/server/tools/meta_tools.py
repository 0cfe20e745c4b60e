"""Handlers of the five fixed tools, over the App's flows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types

from alita_mcp.errors import ToolNotFound
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.command import spell_commands
from alita_mcp.library.search.answer import band
from alita_mcp.library.search.signature import signature_of
from alita_mcp.library.unreviewed import origin_if_unreviewed, plain_card, visible_manifest
from alita_mcp.server.elicitation import questions_to_person
from alita_mcp.server.results.building import tool_result
from alita_mcp.server.results.delivery import run_tool
from alita_mcp.server.results.texts import card_text, outcome_text, search_text
from alita_mcp.server.results.visibility import (
    call_and_visible,
    call_of,
    name_nearest,
    next_step,
    wait_until_listed,
)
from alita_mcp.server.rounds import resume_job, wait_in_call, wait_in_task
from alita_mcp.server.tools.run_code import handle_run_code
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, NeedsApproval, Rejected, Working
from alita_mcp.toolsmith.requests.request import read_request

if TYPE_CHECKING:
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.server.tasks import Task
    from alita_mcp.toolsmith.jobs.jobs import SynthesisJob
    from alita_mcp.toolsmith.requests.outcomes import Outcome

_WITH_COMMANDS = {"how", "kept", "why", "fix"}
"""Fields of outcomes that name commands for people."""
_OPTIONAL = {"similar", "breaks", "assumed"}
"""Fields of outcomes that are left out when empty."""


async def _search(call: ToolCall) -> ToolResult:
    app, arguments = call.app, call.arguments
    found = await app.search_tools(arguments["query"], arguments.get("limit", 5), identity=call.identity)
    results = []
    for hit in found.results:
        manifest = visible_manifest(app, hit.entry.manifest, call.maker)
        row: dict[str, Any] = {
            **hit.model_dump(mode="json"),
            "signature": signature_of(manifest),
            "summary": manifest.summary,
            **call_of(hit.entry, app, call.client),
        }
        if arguments.get("detail") == "schema":
            row["input_schema"] = manifest.input_schema
        results.append(row)
    then = next_step(found.fit, results, [band(hit.score) == "match" for hit in found.results])
    structured = {"fit": found.fit, "total": found.total, "results": results, "next": then}
    return tool_result(structured, search_text(structured))


async def _run(call: ToolCall) -> ToolResult:
    name, version = call.arguments["name"], call.arguments.get("version")
    try:
        return await run_tool(call, name, call.arguments.get("arguments", {}), version)
    except ToolNotFound as missing:
        if not missing.nearest:
            raise
        raise name_nearest(missing, call.app, call.client) from None


async def _inspect(call: ToolCall) -> ToolResult:
    name, arguments = call.arguments["name"], call.arguments
    card = await call.app.inspect_tool(name, arguments.get("version"), source=arguments.get("source", False))
    origin = origin_if_unreviewed(call.app, name, card["manifest"]["version"], call.maker)
    if origin is not None:
        card = plain_card(card, origin)
    return tool_result(card, card_text(card))


async def _synthesize(call: ToolCall) -> ToolResult:
    started, arguments = anyio.current_time(), call.arguments
    job: SynthesisJob | None = await resume_job(call, "synthesize_tool")
    if job is None:
        request = await off_loop(
            partial(read_request, arguments, call.maker, call.identity),
            large=is_large(arguments) or "code" in arguments,
        )
        if isinstance(request, Rejected):
            call.app.report_rejection(request, str(arguments.get("name", "")), call.identity)
            return await _outcome_result(call, request)
        job = await call.app.begin_synthesis(request)
    work = job

    async def finish(task: Task) -> types.CallToolResult:
        outcome = await wait_in_task(call, work, task)
        approval = await _begin_approval(call, outcome)
        return await _outcome_result(call, await wait_in_task(call, approval, task) if approval else outcome)

    if call.as_task:
        return call.tasks.start_task(finish, call.identity.owner, work.id)
    outcome = await wait_in_call(call, job)
    # What needs approval is put to the person at this client, in a job of its own; the call waits for its outcome.
    approval = await _begin_approval(call, outcome)
    if approval is not None:
        work, spent_s = approval, anyio.current_time() - started
        outcome = await wait_in_call(call, approval, spent_s)
    if isinstance(outcome, types.InputRequiredResult):
        return outcome
    if isinstance(outcome, Working) and call.tasks.are_supported(call.ctx):
        return call.tasks.start_task(finish, call.identity.owner, work.id)
    return await _outcome_result(call, outcome)


async def _begin_approval(
    call: ToolCall, outcome: Outcome | types.InputRequiredResult
) -> SynthesisJob | None:
    """The job that puts an approval to the person at this client; None where there is nothing to ask or no person."""
    if not isinstance(outcome, NeedsApproval) or (person := questions_to_person(call)) is None:
        return None
    return await call.app.approvals.begin_asking(outcome, person, call.identity)


async def _outcome_result(call: ToolCall, outcome: Outcome) -> types.CallToolResult:
    fields: dict[str, Any] = outcome.model_dump(mode="json")
    for field in _WITH_COMMANDS & fields.keys():
        fields[field] = spell_commands(fields[field], call.app.alita)
    if isinstance(outcome, Rejected):
        # A comparison keeps both sides, null or not.
        is_compared = fields["expected"] is not None or fields["got"] is not None
        kept = {"expected", "got"} if is_compared else set()
        fields = {field: value for field, value in fields.items() if field in kept or value not in (None, [])}
    elif isinstance(outcome, Created | Exists | NeedsApproval):
        fields = {
            field: value
            for field, value in fields.items()
            if value != "" and (value or field not in _OPTIONAL)
        }
    if isinstance(outcome, Created | Exists):
        await wait_until_listed(outcome.tool, call)
        fields |= call_and_visible(outcome.tool, call)
    return tool_result(fields, outcome_text(fields), is_error=isinstance(outcome, Rejected))


META_HANDLERS = {
    "search_capabilities": _search,
    "synthesize_tool": _synthesize,
    "run_tool": _run,
    "inspect_tool": _inspect,
    "run_code": handle_run_code,
}
"""Fixed tool → the function that handles its calls."""
