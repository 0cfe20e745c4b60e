"""Bare low-level MCP server with one tool that does nothing, over stdio."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
RESULT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}


async def list_tools(
    _ctx: ServerRequestContext[Any, Any], _params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """One tool with the schemas of the tool that it is compared with, so that the client has equal work."""
    tool = types.Tool(name="noop", description="Does nothing.", input_schema=INTEGERS, output_schema=RESULT)
    return types.ListToolsResult(tools=[tool])


async def call_tool(
    _ctx: ServerRequestContext[Any, Any], _params: types.CallToolRequestParams
) -> types.CallToolResult:
    """An answer of the same shape, ready before the call."""
    text = types.TextContent(text='{"result": 0}')
    return types.CallToolResult(content=[text], structured_content={"result": 0})


async def main() -> None:
    """Serves until stdin ends."""
    server = Server("noop", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
