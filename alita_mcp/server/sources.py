"""Sources of tools for clients: their interface, and the source of the server's own tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import mcp_types as types

from alita_mcp.progress import ReportStage
from alita_mcp.server.context import Context, ToolResult

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.owners import ClientIdentity, Maker
    from alita_mcp.server.client.announcer import Announcer
    from alita_mcp.server.client.tool_list import ClientToolList
    from alita_mcp.server.tasks import Tasks


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One validated call, with all that a source may need to handle it."""

    name: str
    arguments: dict[str, Any]
    ctx: Context
    client: ClientToolList
    identity: ClientIdentity
    maker: Maker
    """The same client, as one that makes and reads tools."""
    params: types.CallToolRequestParams
    app: App
    tasks: Tasks
    announcer: Announcer
    on_stage: ReportStage
    """Sends the caller one short line about long work."""
    as_task: bool = False
    """Whether a task is to be the result, however short the work is."""


class ToolSource(Protocol):
    """Source of tools.

    Implementers: `list_tools` and `find_tool` read memory only and never raise. `call_tool` gets arguments that fit the
    input schema, but those of a published tool as they came; what it raises becomes an error result (an `AlitaError`
    with its words, anything else without) or, for `MCPError`, a protocol error. A structured result is checked against
    the output schema afterwards.
    """

    def list_tools(self, reader: Maker) -> Sequence[types.Tool]:
        """The tools to list, in the order in which clients see them, as this one may read them."""
        ...

    def find_tool(self, name: str, reader: Maker) -> types.Tool | None:
        """The tool of that name, listed or not."""
        ...

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Handles a call of a tool that `find_tool` found."""
        ...


def own_tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    annotations: types.ToolAnnotations,
    **required: list[str],
) -> types.Tool:
    """Definition of a tool of the server's own, which hosts load at once."""
    schema = {"type": "object", "properties": properties, "additionalProperties": False, **required}
    return types.Tool(
        name=name,
        description=description,
        input_schema=schema,
        annotations=annotations,
        _meta={"anthropic/alwaysLoad": True},
    )


class OwnTools:
    """Source of tools of the server's own, each with the function that handles its calls."""

    def __init__(
        self,
        tools: Sequence[types.Tool],
        handlers: Mapping[str, Callable[[ToolCall], Awaitable[ToolResult]]],
        *,
        listed: Collection[str],
        describe: Callable[[types.Tool], types.Tool] = lambda tool: tool,
    ) -> None:
        """`listed` are the names of those that clients see; no connection changes it, nor how one is described."""
        self._describe = describe
        self._listed = tuple(tool for tool in tools if tool.name in listed)
        self._tools = {tool.name: tool for tool in tools}
        self._handlers = handlers

    def list_tools(self, _reader: Maker) -> Sequence[types.Tool]:
        """Those that clients see."""
        return [self._describe(tool) for tool in self._listed]

    def find_tool(self, name: str, _reader: Maker) -> types.Tool | None:
        """One of them, listed or not."""
        return self._tools.get(name)

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Handles a call of one of them."""
        return await self._handlers[call.name](call)
