"""A table of tools that is a `ToolSource`: the conformance suites' fixtures enter where every real tool does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import mcp_types as types

from alita_mcp.owners import Maker
from alita_mcp.server.context import ToolResult
from alita_mcp.server.sources import ToolCall

Handler = Callable[[ToolCall], Awaitable[ToolResult]]


class Fixtures:
    """Tools by name; a handler's docstring is the description."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[types.Tool, Handler]] = {}

    def tool(
        self,
        properties: dict[str, Any] | None = None,
        *,
        name: str = "",
        schema: dict[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Registers a handler under its own name or another."""

        def register(handler: Handler) -> Handler:
            called = name or handler.__name__
            shape = schema or {"type": "object", "properties": properties or {}}
            definition = types.Tool(name=called, description=handler.__doc__ or called, input_schema=shape)
            self._tools[called] = (definition, handler)
            return handler

        return register

    def list_tools(self, _reader: Maker) -> Sequence[types.Tool]:
        return [definition for definition, _ in self._tools.values()]

    def find_tool(self, name: str, _reader: Maker) -> types.Tool | None:
        return self._tools[name][0] if name in self._tools else None

    async def call_tool(self, call: ToolCall) -> ToolResult:
        return await self._tools[call.name][1](call)


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def said(words: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)], **more)


def form(message: str, properties: dict[str, Any], required: Sequence[str] = ()) -> types.ElicitRequest:
    """A request for a form to be filled in."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def name_form(message: str = "What is your name?") -> types.ElicitRequest:
    return form(message, {"name": {"type": "string"}}, ["name"])
