"""Handlers of the five fixed tools, over the App's flows."""

from __future__ import annotations

import itertools
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types

from alita_mcp.errors import InvalidArguments, ToolNotFound
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.command import spelled
from alita_mcp.library.search.answer import band
from alita_mcp.library.search.signature import signature_of
from alita_mcp.progress import ReportStage
from alita_mcp.server.agents.definitions import AGENT_TOOLS
from alita_mcp.server.client.client_identity import name_of_client
from alita_mcp.server.elicitation import questions_to_person
from alita_mcp.server.results.building import printable, tool_result
from alita_mcp.server.results.delivery import run_and_deliver
from alita_mcp.server.results.texts import card_text, outcome_text, search_text
from alita_mcp.server.results.unreviewed import plain_card, shown, unreviewed
from alita_mcp.server.results.visibility import call_and_visible, call_of, next_step, until_listed, with_ways
from alita_mcp.server.rounds import asked_job_id, outcome_in_call, outcome_in_task, parked_job
from alita_mcp.server.tools.run_code import handle_run_code
from alita_mcp.toolsmith.jobs.jobs import SynthesisJob
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, NeedsApproval, Rejected, Working
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.values import META_TOOLS

if TYPE_CHECKING:
    from alita_mcp.server.context import Context, ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.server.tasks import Task
    from alita_mcp.toolsmith.requests.outcomes import Outcome

STAGE_SECONDS = 1.0
"""How long a client may take to read a progress notification before the work goes on without it."""
_JSON_FIELDS = {
    "run_tool": ("arguments",),
    "run_code": ("arguments", "packages", "needs"),
    "synthesize_tool": ("tests", "use_when", "packages", "needs", "varies", "breaks"),
    "research_web": ("urls",),
}
"""Fields that models like to send as JSON text."""
_NAMING_COMMANDS = {"how", "kept", "why", "fix"}
"""Fields of outcomes that name commands for people."""
_FIXED_TOOLS = {*META_TOOLS, *AGENT_TOOLS}


def repaired(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a fixed tool as they were meant: no nulls for what was left out, no JSON text for JSON.

    Those of other tools stay as they are.

    Raises:
        InvalidArguments: the text is not JSON.
    """
    if name not in _FIXED_TOOLS:
        return arguments
    meant = {field: value for field, value in arguments.items() if value is not None}
    for field in _JSON_FIELDS.get(name, ()):
        if isinstance(meant.get(field), str):
            meant[field] = _parsed(field, meant[field])
    if isinstance(run := meant.get("from_run"), str):
        meant["from_run"] = _parsed("from_run", run) if run.lstrip().startswith("[") else [run]
    if name == "synthesize_tool" and "network" in meant and isinstance(meant.get("needs", {}), dict):
        # where it stood in definitions that a client may have kept
        meant["needs"] = {"network": meant.pop("network"), **meant.get("needs", {})}
    return meant


def _parsed(field: str, text: str) -> Any:
    if not text.strip():
        return {} if field in ("arguments", "needs") else []
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as unreadable:
        raise InvalidArguments(
            f"{field} is text that is not JSON: {printable(str(unreadable))}.",
            hint=f"Send {field} as JSON itself, not as text.",
        ) from unreadable


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


async def _search(call: ToolCall) -> ToolResult:
    query, limit = call.arguments["query"], call.arguments.get("limit", 5)
    found = await call.app.search_tools(query, limit, identity=call.identity)
    results = []
    for hit in found.results:
        told = shown(call.app, hit.entry.manifest)
        row = {**hit.model_dump(mode="json"), "signature": signature_of(told), "summary": told.summary}
        row |= call_of(hit.entry, call.app, call.client)
        if call.arguments.get("detail") == "schema":
            row["input_schema"] = told.input_schema
        results.append(row)
    then = next_step(found.fit, results, [band(hit.score) == "match" for hit in found.results])
    structured = {"fit": found.fit, "total": found.total, "results": results, "next": then}
    return tool_result(structured, search_text(structured))


async def _run(call: ToolCall) -> ToolResult:
    name, version = call.arguments["name"], call.arguments.get("version")
    try:
        return await run_and_deliver(call, name, call.arguments.get("arguments", {}), version)
    except ToolNotFound as missing:
        if not missing.nearest:
            raise
        raise with_ways(missing, call.app, call.client) from None


async def _inspect(call: ToolCall) -> ToolResult:
    arguments = call.arguments
    card = await call.app.inspect_tool(
        arguments["name"], arguments.get("version"), source=arguments.get("source", False)
    )
    origin = unreviewed(call.app, arguments["name"], card["manifest"]["version"])
    if origin is not None:
        card = plain_card(card, origin)
    return tool_result(card, card_text(card))


async def _synthesize(call: ToolCall) -> ToolResult:
    started, asked = anyio.current_time(), call.arguments
    known = parked_job(call, job_id=asked_job_id(call, "for the outcome of a job"))
    job: SynthesisJob
    if known is not None:
        job, rounds = known
    else:
        request = await off_loop(
            partial(read_request, asked, name_of_client(call.ctx), call.identity.client),
            large=is_large(asked) or "code" in asked,
        )
        if isinstance(request, Rejected):
            return await _outcome_result(call, request)
        job, rounds = call.app.begin_synthesis(request), 0
    outcome = await outcome_in_call(call, job, rounds)
    asking = await _question_about(call, outcome)
    if asking is not None:
        job, spent_s = asking, anyio.current_time() - started
        outcome = await outcome_in_call(call, job, rounds, spent_s)
    if isinstance(outcome, types.InputRequiredResult):
        return outcome
    if isinstance(outcome, Working) and call.tasks.supported(call.ctx):
        return call.tasks.start(lambda task: _until_done(call, job, task))
    return await _outcome_result(call, outcome)


async def _until_done(call: ToolCall, job: SynthesisJob, task: Task) -> types.CallToolResult:
    """The result of the job, however long it takes; cancelled, it cancels the job."""
    outcome = await outcome_in_task(call, job, task)
    asking = await _question_about(call, outcome)
    return await _outcome_result(call, await outcome_in_task(call, asking, task) if asking else outcome)


async def _question_about(
    call: ToolCall, outcome: Outcome | types.InputRequiredResult
) -> SynthesisJob | None:
    """The job that puts an approval to the person at this client; None where there is nothing to ask or no person."""
    if not isinstance(outcome, NeedsApproval) or (person := questions_to_person(call)) is None:
        return None
    return await call.app.approvals.begin_asking(outcome, person, call.identity)


async def _outcome_result(call: ToolCall, outcome: Outcome) -> types.CallToolResult:
    structured = outcome.model_dump(mode="json")
    for field in _NAMING_COMMANDS & structured.keys():
        structured[field] = spelled(structured[field], call.app.alita)
    if isinstance(outcome, Rejected):
        structured = _without_blanks(structured)
    elif isinstance(outcome, Created | Exists | NeedsApproval):
        optional = {"similar", "differs", "breaks", "assumed", "questions"}
        structured = {
            field: value
            for field, value in structured.items()
            if value != "" and (value or field not in optional)
        }
    if isinstance(outcome, Created | Exists):
        await until_listed(outcome.tool, call)
        structured |= call_and_visible(outcome.tool, call)
    return tool_result(structured, outcome_text(structured), is_error=isinstance(outcome, Rejected))


def _without_blanks(rejected: dict[str, Any]) -> dict[str, Any]:
    """A rejection without the fields that do not apply; a comparison keeps both sides, null or not."""
    compared = rejected["expected"] is not None or rejected["got"] is not None
    kept = {"expected", "got"} if compared else set()
    return {field: value for field, value in rejected.items() if field in kept or value not in (None, [])}


def progress_of(ctx: Context) -> ReportStage:
    """Sends each stage's name to the caller as progress; a caller that does not read does not stop the work."""
    stages = itertools.count(1)

    async def on_stage(stage: str) -> None:
        with anyio.move_on_after(STAGE_SECONDS):
            await ctx.session.report_progress(next(stages), None, stage)

    return on_stage


META_HANDLERS = {
    "search_capabilities": _search,
    "synthesize_tool": _synthesize,
    "run_tool": _run,
    "inspect_tool": _inspect,
    "run_code": handle_run_code,
}
"""Fixed tool → the function that handles its calls."""
