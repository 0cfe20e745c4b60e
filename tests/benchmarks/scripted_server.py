"""A server over stdio that answers `synthesize_tool` as the request's name says; started by tests as a script.

`plain` (or any other name): created at once; `slow`: first `working`; `taken`: exists, but not under another
name; `refused`: rejected; `wordless`: an answer without structure; `dies`: the process ends; `hangs`: no answer;
`fragile`: created, but dies when called; `unfit`: created, but its results do not fit its output schema;
`unlisted`: created, but only `run_tool` reaches it; `object`: created, gives an object. Tools double their
argument `x`; 13 is an error.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

RESULT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
made: list[str] = []


def tool(name: str, output: dict[str, Any] | None = None) -> types.Tool:
    return types.Tool(name=name, input_schema={"type": "object"}, output_schema=output)


async def list_tools(
    _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    """Two pages: the fixed tools, then the made ones."""
    if params is None or params.cursor is None:
        fixed = [tool(name) for name in ("synthesize_tool", "run_tool", "inspect_tool")]
        return types.ListToolsResult(tools=fixed, next_cursor="made")
    named = [tool(name, None if name == "object" else RESULT) for name in made if name != "unlisted"]
    return types.ListToolsResult(tools=named)


def structured(is_error: bool = False, **fields: object) -> types.CallToolResult:
    return types.CallToolResult(content=[], structured_content=fields, is_error=is_error)


def words(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


async def synthesize(arguments: dict[str, Any]) -> types.CallToolResult:
    name = arguments.get("job_id") or arguments["name"]
    if name == "dies":
        print("last words before the end", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hangs":
        await anyio.sleep_forever()
    if name == "slow" and "job_id" not in arguments:
        return structured(status="working", job_id="slow", elapsed_s=45, stage="examples")
    if name == "taken":
        return structured(status="exists", tool="taken", version=1, why="a tool of this name exists")
    if name == "refused":
        case = {"x": 1}
        said = {"reason": "wrong\nresult", "case": case, "expected": 2, "got": 3, "fix": "mend it"}
        return structured(status="rejected", stage="examples", is_error=True, **said)
    if name == "wordless":
        return words("something went wrong")
    made.append(name)
    return structured(status="created", tool=name, version=1, trust="verified")


def run(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    if name == "fragile":
        os._exit(4)
    if name == "unfit":
        return structured(result="text")
    if name == "object":
        return structured(twice=2 * arguments["x"])
    if arguments["x"] == 13:
        return words("ValueError: unlucky")
    return structured(result=2 * arguments["x"])


async def call_tool(
    _ctx: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name == "synthesize_tool":
        return await synthesize(arguments)
    if params.name == "inspect_tool":
        return structured(report={"software": {"alita": "0"}, "seconds_by_gate": {"static": 0.5, "odd": "?"}})
    if params.name == "run_tool":
        return run(arguments["name"], arguments["arguments"])
    if params.name == "unlisted":
        return words("not listed")
    return run(params.name, arguments)


async def main() -> None:
    server = Server("scripted", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    if "--silent" in sys.argv:
        sys.exit(5)
    anyio.run(main)
