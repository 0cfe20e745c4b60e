"""Dispatcher of tool calls: finds the tool, validates arguments and results, maps errors to results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types

from alita_mcp.errors import AlitaError, InvalidArguments, ToolNotFound, ToolUnavailable
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.command import spelled
from alita_mcp.library.versions.naming import nearest_names
from alita_mcp.server.client.client_identity import identity_of
from alita_mcp.server.results.building import MAX_DEPTH, is_deeper_than, printable
from alita_mcp.server.results.delivery import checked, with_signature
from alita_mcp.server.results.failures import result_or_error
from alita_mcp.server.results.listing import page_of
from alita_mcp.server.results.ranges import json_document
from alita_mcp.server.results.unreviewed import shown
from alita_mcp.server.results.visibility import with_ways
from alita_mcp.server.sources import ToolCall
from alita_mcp.server.tools.meta_tools import progress_of, repaired
from alita_mcp.verification.json_schema import SEE_SCHEMA, validate_arguments

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.client.announce import Announcer
    from alita_mcp.server.client.observed import Observed
    from alita_mcp.server.context import Context, ToolResult
    from alita_mcp.server.opening import SharedApp
    from alita_mcp.server.sources import ToolSource
    from alita_mcp.server.tasks import Tasks
    from alita_mcp.values import Manifest

MAX_ARGUMENT_BYTES = 1_000_000
MAX_NAME = 200


class Dispatcher:
    """Dispatcher of calls to the tools of all sources; the first source that knows a name has it."""

    def __init__(
        self,
        sources: Sequence[ToolSource],
        shared: SharedApp,
        tasks: Tasks,
        announcer: Announcer,
        page_size: int,
    ) -> None:
        self._sources = tuple(sources)
        self._shared = shared
        self._tasks = tasks
        self._announcer = announcer
        self._page_size = page_size

    async def list(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """One page of the tools; the fixed ones stand on the first, which is all that some hosts read."""
        await self._shared.settled()
        cursor = params.cursor if params else None
        change = self._announcer.changes
        page, following = page_of(self._listed(), lambda tool: tool.name, cursor, self._page_size)
        names = (tool.name for tool in page)
        client = self._announcer.observed(ctx)
        client.list(names, change, anyio.current_time(), first=cursor is None)
        return types.ListToolsResult(tools=page, next_cursor=following)

    def _listed(self) -> Sequence[types.Tool]:
        return [tool for source in self._sources for tool in source.definitions()]

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """A tool's input schema, for the SDK's check of mirrored headers."""
        found = self._find(name)
        return found[1].input_schema if found else None

    async def call(self, ctx: Context, params: types.CallToolRequestParams) -> ToolResult:
        """Handles one call. Only `MCPError` and cancellation come out as exceptions.

        An error of a tool with an output schema has no structured part: clients check even those against it.
        """
        client = self._announcer.observed(ctx)
        result = await result_or_error(lambda: self._call(ctx, params, client))
        if not isinstance(result, types.CallToolResult) or not result.is_error:
            return result
        found = self._find(params.name)
        if found is None or found[1].output_schema is None:
            return result
        return result.model_copy(update={"structured_content": None})

    async def _call(self, ctx: Context, params: types.CallToolRequestParams, client: Observed) -> ToolResult:
        app = await self._shared.get()
        try:
            found = self._find(params.name)
            if found is None:  # what other processes have committed may hold it
                await app.library.refresh()
                found = self._find(params.name)
            if found is None:
                raise self._unknown(params.name, app, client)
            source, tool = found
            call = ToolCall(
                name=tool.name, arguments=await _checked_arguments(tool, params.arguments or {}, app), ctx=ctx,
                client=client, identity=identity_of(ctx), params=params, app=app, tasks=self._tasks,
                announcer=self._announcer, on_stage=progress_of(ctx),
            )  # fmt: skip
            async with app.report_preparation(call.on_stage):
                result = await source.call(call)
            return await checked(result, app, tool) if isinstance(result, types.CallToolResult) else result
        except AlitaError as failure:
            failure.hint = spelled(failure.hint, app.alita)
            raise

    def _find(self, name: str) -> tuple[ToolSource, types.Tool] | None:
        for source in self._sources:
            tool = source.find(name)
            if tool is not None:
                return source, tool
        return None

    def _unknown(self, name: str, app: App, client: Observed) -> AlitaError:
        try:
            app.library.entry(name)
        except ToolUnavailable as gone:
            return gone
        except ToolNotFound:
            pass
        near = nearest_names(
            name, {*(tool.name for tool in self._listed()), *app.library.tools.names_like(name)}
        )
        missing = ToolNotFound(f"There is no tool {printable(name, MAX_NAME)!r}.", nearest=near)
        return with_ways(missing, app, client)


async def _checked_arguments(tool: types.Tool, given: dict[str, Any], app: App) -> dict[str, Any]:
    """The arguments of a call as they were meant, once they fit the tool; an error says how the tool is called."""
    try:
        return await off_loop(partial(_fitting_arguments, tool, given), large=is_large(given))
    except InvalidArguments as wrong:
        if wrong.hint != SEE_SCHEMA:
            raise
        try:
            called: Manifest | types.Tool = shown(app, app.library.entry(tool.name).manifest)
        except AlitaError:
            called = tool
        raise with_signature(wrong, called) from None


def _fitting_arguments(tool: types.Tool, given: dict[str, Any]) -> dict[str, Any]:
    """Refuses what cannot be passed on as JSON text, what is too much of it, and what does not fit the schema."""
    if is_deeper_than(given, MAX_DEPTH):
        raise InvalidArguments("The arguments are nested too deeply.", hint="Send fewer levels.")
    try:
        size = len(json_document(given))
    except UnicodeEncodeError:
        problem = "The arguments hold half of a surrogate pair."
        raise InvalidArguments(problem, hint="Send valid Unicode text.") from None
    except ValueError:
        problem = "The arguments are not JSON: a number is not finite."
        raise InvalidArguments(problem, hint="Send finite numbers.") from None
    if size > MAX_ARGUMENT_BYTES:
        raise InvalidArguments(
            f"The arguments have {size:,} bytes, the limit is {MAX_ARGUMENT_BYTES:,}.",
            hint="Send less at once.",
        )
    arguments = repaired(tool.name, given)
    validate_arguments(tool.input_schema, arguments)
    return arguments
