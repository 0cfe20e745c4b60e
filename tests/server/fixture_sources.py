"""Tools that no library would publish, to try the dispatcher with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import mcp_types as types

from alita_mcp.owners import Maker
from alita_mcp.server.context import ToolResult
from alita_mcp.server.sources import ToolCall

Handler = Callable[[ToolCall], Awaitable[ToolResult]]
ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


class HandlerTools:
    """A source of tools, each answered by a function."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[types.Tool, Handler]] = {}

    def add(self, name: str, handler: Handler, **definition: Any) -> HandlerTools:
        definition.setdefault("input_schema", ANYTHING)
        tool = types.Tool(name=name, description=f"Tool {name}.", **definition)
        self._tools[name] = (tool, handler)
        return self

    def list_tools(self, _reader: Maker) -> Sequence[types.Tool]:
        return [tool for tool, _ in self._tools.values()]

    def find_tool(self, name: str, _reader: Maker) -> types.Tool | None:
        return self._tools[name][0] if name in self._tools else None

    async def call_tool(self, call: ToolCall) -> ToolResult:
        return await self._tools[call.name][1](call)


def said(text: str, **result: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], **result)


def one_tool(handler: Handler, name: str = "try_me", **definition: Any) -> HandlerTools:
    return HandlerTools().add(name, handler, **definition)


def raising(failure: BaseException) -> Handler:
    async def fail(_call: ToolCall) -> ToolResult:
        raise failure

    return fail


def giving(result: ToolResult) -> Handler:
    async def give(_call: ToolCall) -> ToolResult:
        return result

    return give
