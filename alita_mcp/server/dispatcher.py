"""Dispatcher of tool calls: finds the tool, validates arguments and results, maps errors to results."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types

from alita_mcp.errors import (
    AlitaError,
    InvalidArguments,
    ToolNotFound,
    ToolUnavailable,
    UsageError,
)
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.command import spell_commands
from alita_mcp.library.versions.naming import nearest_names
from alita_mcp.owners import ANYONE, Maker
from alita_mcp.server.client.identity import identity_of, maker_of
from alita_mcp.server.client.scopes import may_call, principal_of
from alita_mcp.server.results.building import MAX_DEPTH, is_deeper_than, printable
from alita_mcp.server.results.delivery import limit_result, with_signature
from alita_mcp.server.results.failures import error_result
from alita_mcp.server.results.ranges import json_document
from alita_mcp.server.results.visibility import name_nearest
from alita_mcp.server.sources import ToolCall
from alita_mcp.server.tools.library_tools import LibraryTools
from alita_mcp.verification.json_schema import SEE_SCHEMA, validate_arguments

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.progress import ReportStage
    from alita_mcp.server.client.announcer import Announcer
    from alita_mcp.server.client.tool_list import ClientToolList
    from alita_mcp.server.context import Context, ToolResult
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.server.sources import ToolSource
    from alita_mcp.server.tasks import Tasks

MAX_ARGUMENT_BYTES = 1_000_000
MAX_NAME = 200
STAGE_SECONDS = 1.0
"""How long a client may take to read a progress notification before the work goes on without it."""


class Dispatcher:
    """Dispatcher of calls to the tools of all sources; the first source that knows a name has it."""

    def __init__(
        self,
        sources: Sequence[ToolSource],
        shared: SharedApp,
        tasks: Tasks,
        announcer: Announcer,
    ) -> None:
        self._sources = tuple(sources)
        self._shared = shared
        self._tasks = tasks
        self._announcer = announcer

    async def list_tools(
        self, ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The fixed tools and the promoted ones, a hundred at most: one page, since some hosts read no other."""
        await self._shared.wait_until_settled()
        if self._shared.current is not None:
            # those of tools that every client sees
            self._shared.domains = await self._shared.current.seen_by(ANYONE).library.find_domains()
        scopes = principal_of(ctx).scopes
        change = self._announcer.changes
        tools = [tool for tool in self._all_tools(maker_of(ctx)) if may_call(scopes, tool.name)]
        client = self._announcer.tool_list_of(ctx)
        client.record_list((tool.name for tool in tools), change, anyio.current_time())
        return types.ListToolsResult(tools=tools)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """A tool's input schema, for the SDK's check of mirrored headers."""
        _, tool = self._find_tool(name, Maker(owner=ANYONE))
        return tool.input_schema if tool else None

    async def resume_task(self, ctx: Context, task_id: str) -> None:
        """Makes the task of a job that another server of a shared library began known here, if there is one."""
        app, owner = await self._shared.get(), maker_of(ctx).owner
        if app.library.storage.database is None:
            return
        with suppress(UsageError):
            job = await app.jobs.find_job(task_id, None, owner=owner)
            params = types.CallToolRequestParams(name=job.tool, arguments={"job_id": task_id})
            await self.call_tool(ctx, params, as_task=True)

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams, *, as_task: bool = False
    ) -> ToolResult:
        """Handles one call. Only `MCPError` and cancellation come out as exceptions.

        An error of a tool with an output schema has no structured part: clients check even those against it.
        """
        client, maker = self._announcer.tool_list_of(ctx), maker_of(ctx)
        tool: types.Tool | None = None
        try:
            app = (await self._shared.get()).seen_by(maker.owner)
            app.library.quotas.count_call(maker.owner)
            source, tool = self._find_tool(params.name, maker)
            if tool is None:  # another process or server may have published it
                await app.library.look_again()
                source, tool = self._find_tool(params.name, maker)
            if source is None or tool is None:
                raise self._unknown_tool(params.name, app, client, maker)  # noqa: TRY301 - becomes a result below
            call = ToolCall(
                name=tool.name, arguments=await _fit_arguments(source, tool, params.arguments or {}), ctx=ctx,
                client=client, identity=identity_of(ctx), maker=maker, params=params, app=app,
                tasks=self._tasks, announcer=self._announcer, on_stage=_progress_reporter(ctx), as_task=as_task,
            )  # fmt: skip
            async with app.preparation.report(call.on_stage):
                result = await source.call_tool(call)
            if isinstance(result, types.CallToolResult):
                result = await limit_result(result, app, tool, call.identity)
        except Exception as raised:  # noqa: BLE001 - the outermost edge of every tool
            if isinstance(raised, AlitaError) and self._shared.current is not None:
                raised.hint = spell_commands(raised.hint, self._shared.current.alita)
            result = error_result(raised)
        if isinstance(result, types.CallToolResult) and result.is_error and tool and tool.output_schema:
            return result.model_copy(update={"structured_content": None})
        return result

    def _all_tools(self, reader: Maker) -> list[types.Tool]:
        return [tool for source in self._sources for tool in source.list_tools(reader)]

    def _find_tool(self, name: str, reader: Maker) -> tuple[ToolSource, types.Tool] | tuple[None, None]:
        for source in self._sources:
            tool = source.find_tool(name, reader)
            if tool is not None:
                return source, tool
        return None, None

    def _unknown_tool(self, name: str, app: App, client: ClientToolList, reader: Maker) -> AlitaError:
        try:
            app.library.entry(name)
        except ToolUnavailable as gone:
            return gone
        except ToolNotFound:
            pass
        listed = {tool.name for tool in self._all_tools(reader)}
        nearest = nearest_names(name, {*listed, *app.library.tools.names_like(name)})
        missing = ToolNotFound(f"There is no tool {printable(name, MAX_NAME)!r}.", nearest=nearest)
        return name_nearest(missing, app, client)


def _progress_reporter(ctx: Context) -> ReportStage:
    """Sends each stage's name to the caller as progress; a caller that does not read does not stop the work."""
    stages = itertools.count(1)

    async def report(stage: str) -> None:
        with anyio.move_on_after(STAGE_SECONDS):
            await ctx.session.report_progress(next(stages), None, stage)

    return report


async def _fit_arguments(source: ToolSource, tool: types.Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call as they were meant; those of a published tool as they came, for a version checks its own.

    Raises:
        InvalidArguments: they are not JSON, too many, or do not fit the schema; the hint says how the tool is called.
    """

    def fit() -> dict[str, Any]:
        _refuse_unfit_for_json(arguments)
        if isinstance(source, LibraryTools):
            return arguments
        sent = arguments
        if tool.name == "synthesize_tool" and isinstance(run := sent.get("from_run"), str) and "[" not in run:
            sent = {**sent, "from_run": [run]}
        meant = validate_arguments(tool.input_schema, sent)
        if meant is not sent:  # text in it was parsed
            _refuse_unfit_for_json(meant)
        return meant

    try:
        return await off_loop(fit, large=is_large(arguments))
    except InvalidArguments as wrong:
        raise with_signature(wrong, tool) if wrong.hint == SEE_SCHEMA else wrong from None


def _refuse_unfit_for_json(arguments: dict[str, Any]) -> None:
    if is_deeper_than(arguments, MAX_DEPTH):
        raise InvalidArguments("The arguments are nested too deeply.", hint="Send fewer levels.")
    try:
        size = len(json_document(arguments))
    except UnicodeEncodeError:
        problem = "The arguments contain half of a surrogate pair."
        raise InvalidArguments(problem, hint="Send valid Unicode text.") from None
    except ValueError:
        problem = "The arguments are not JSON: a number is not finite."
        raise InvalidArguments(problem, hint="Send finite numbers.") from None
    if size > MAX_ARGUMENT_BYTES:
        problem = f"The arguments have {size:,} bytes; the limit is {MAX_ARGUMENT_BYTES:,}."
        raise InvalidArguments(problem, hint="Send less at once.")
