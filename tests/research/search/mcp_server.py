"""An MCP server over stdio with search tools, each of which answers in its own way; started by tests as a script."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

BLOCKS = """Title: First
URL: https://example.org/one
Description: Words one
that go on

Title: Second
URL: https://example.org/two
Description: Words two
"""
NAMES = ("blocks", "environment", "fails", "large", "hangs", "dies", "links", "loud")


def texts(*said: str, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text) for text in said], is_error=is_error)


async def list_tools(
    _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """Two pages."""
    schema = {
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "maximum": 3}},
    }
    if params is None or params.cursor is None:
        return types.ListToolsResult(
            tools=[types.Tool(name="first", input_schema=schema)], next_cursor="more"
        )
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in NAMES])


async def call_tool(
    _ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    match params.name:
        case "environment":
            said = {
                name: value for name, value in os.environ.items() if name.startswith(("ALITA_", "SEARCH_"))
            }
            told = json.dumps({"environment": said, "arguments": params.arguments})
            return texts(
                json.dumps([{"url": "https://example.org/", "title": "environment", "snippet": told}])
            )
        case "fails":
            return texts("the key SESAME is wrong", is_error=True)
        case "large":
            return texts("x" * 3_000_000)
        case "hangs":
            await anyio.sleep_forever()
        case "dies":
            os._exit(3)
        case "links":
            link = types.ResourceLink(
                uri="https://example.org/r", name="r", description="Words", title="Resource"
            )
            return types.CallToolResult(content=[link])
        case "loud":
            print("SESAME on stderr", file=sys.stderr, flush=True)
            print("SESAME, which is no message", flush=True)
    return texts(BLOCKS)


async def main() -> None:
    server: Server[Any] = Server("search", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
