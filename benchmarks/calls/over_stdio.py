"""Latency of a whole warm `tools/call` over stdio beside a tool that does nothing, and the server's memory."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import psutil
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from alita_mcp.server.transports.local.servers import find_endpoints, stop_servers
from benchmarks.calls import memory, timing, work

START_WITHIN_S = 60.0
MAKE_WITHIN_S = 300.0
CALL_WITHIN_S = 60.0
WARM_CALLS = 100
"""Calls before the server's memory is read for the first time."""
NOOP = "noop"
BURST = " back to back"
BROKE_OFF = (TimeoutError, MCPError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""What a call raises when the server is gone or late, or answers with a protocol error."""
TOOL = "add_two_integers"
REQUEST = {
    "name": TOOL,
    "description": "Adds two integers and gives their sum.",
    "code": work.ADD.replace("def add(", f"def {TOOL}("),
    "tests": [
        {"arguments": {"a": a, "b": b}, "expected": a + b}
        for a, b in ((0, 0), (1, 2), (-5, 3), (1000, 24), (2**40, 1))
    ],
}
NOOP_SERVER = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
RESULT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}


async def list_tools(context, params):
    tool = types.Tool(name="noop", description="Does nothing.", input_schema=INTEGERS, output_schema=RESULT)
    return types.ListToolsResult(tools=[tool])


async def call_tool(context, params):
    text = types.TextContent(text='{"result": 0}')
    return types.CallToolResult(content=[text], structured_content={"result": 0})


async def main():
    server = Server("noop", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


anyio.run(main)
"""
"""A low-level server of the SDK with a tool of the same schemas, whose answer is ready before the call."""


class Server(NamedTuple):
    """A connected server process and how one of its tools is called."""

    name: str
    client: Client
    tool: str
    pid: int | None
    """Its process, where /proc shows it."""

    async def call(self) -> float:
        """One call; its answer is checked."""
        arguments = work.new_arguments()
        watch = timing.Stopwatch()
        try:
            with anyio.fail_after(CALL_WITHIN_S):
                result = await self.client.call_tool(self.tool, arguments)
        except BROKE_OFF as failed:
            raise timing.ContenderFailed(f"{self.name} broke off: {in_words(failed)}") from failed
        seconds = watch.seconds
        if self.name != NOOP:
            work.check(self.name, arguments, (result.structured_content or {}).get("result"))
        return seconds


class Extent(NamedTuple):
    """Amount of work to measure."""

    rounds: int
    memory_calls: int
    memory_within_s: float


async def measure(kinds: tuple[str, ...], folder: Path, extent: Extent, tell: timing.Tell) -> dict[str, Any]:
    """For each kind the ratio to the no-op; over all the worst of them; and the servers' memory."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(noop(folder))]
        failures: dict[str, str] = {}
        for kind in kinds:
            tell(f"starting a server with {kind}")
            try:
                servers.append(await stack.enter_async_context(serving(kind, folder)))
            except timing.ContenderFailed as failed:
                failures[kind] = failures[kind + BURST] = str(failed)
        turns: dict[str, timing.Turn] = {}
        for server in servers:
            turns[server.name] = timing.spaced(server.call)
            turns[server.name + BURST] = timing.back_to_back(server.call)
        measured = await timing.interleaved(turns, extent.rounds, tell)
        measured.failures |= failures
        found: dict[str, Any] = {name: _figures(measured, name) for name in (NOOP, *kinds)}
        for server in servers[1:]:
            if server.name not in measured.failures:
                tell(f"{server.name}: the server's memory over {extent.memory_calls} calls")
                found[server.name]["server_memory"] = await server_memory(server, extent)
    for name in ("ratio_to_noop", "ratio_to_noop_back_to_back"):
        ratios = [found[kind][name] for kind in kinds]
        found[name] = max(ratios) if ratios and None not in ratios else None
    return found


def _figures(measured: timing.Measured, name: str) -> dict[str, Any]:
    return {
        "spaced": measured.figures(name),
        "back_to_back": measured.figures(name + BURST),
        "ratio_to_noop": measured.ratio(name, NOOP),
        "ratio_to_noop_back_to_back": measured.ratio(name + BURST, NOOP + BURST),
    }


async def server_memory(server: Server, extent: Extent) -> dict[str, Any]:
    """The server's own resident set before and after many calls, or as many as fit in the time."""
    if server.pid is None:
        return {"missing": "memory is read from /proc, which is not here"}
    try:
        for _ in range(min(WARM_CALLS, extent.memory_calls)):
            await server.call()
        start = memory.resident_bytes(server.pid)
        watch, calls = timing.Stopwatch(), 0
        while calls < extent.memory_calls and watch.seconds < extent.memory_within_s:
            await server.call()
            calls += 1
    except timing.ContenderFailed as failed:
        return {"missing": str(failed)}
    end = memory.resident_bytes(server.pid)
    if start is None or end is None:
        return {"missing": "the server's memory cannot be read"}
    return {"calls": calls, "start_bytes": start, "end_bytes": end, "growth": round(end / start - 1, 4)}


@asynccontextmanager
async def noop(folder: Path) -> AsyncIterator[Server]:
    """The bare server."""
    script = folder / "noop_server.py"
    script.write_text(NOOP_SERVER, encoding="utf-8")
    async with _connected(NOOP, [str(script)], {}, folder / "noop.log") as (client, pid):
        yield Server(NOOP, client, NOOP, pid)


@asynccontextmanager
async def serving(kind: str, folder: Path) -> AsyncIterator[Server]:
    """Our server with a home of its own in which the tool is published, and runs at every call.

    Raises:
        ContenderFailed: it does not start, or does not publish the tool.
    """
    home = folder / f"home-{kind}"
    variables = {"ALITA_HOME": str(home), "ALITA_SANDBOX": kind, "ALITA_POLICY": "ask", "ALITA_SHARED": "on"}
    command = ["-m", "alita_mcp.server.transports.entry"]
    try:
        async with _connected(kind, command, variables, folder / f"{kind}.log") as (client, relay):
            await _publish(kind, client)
            shared = await anyio.to_thread.run_sync(find_endpoints, home)
            yield Server(kind, client, TOOL, shared[0][1]["pid"] if shared else relay)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(stop_servers, home)


async def _publish(kind: str, client: Client) -> None:
    with anyio.move_on_after(MAKE_WITHIN_S) as making:
        result = await client.call_tool("synthesize_tool", REQUEST)
        while (answer := result.structured_content or {}).get("status") == "working":
            result = await client.call_tool("synthesize_tool", {"job_id": answer["job_id"]})
        if answer.get("status") != "created":
            raise timing.ContenderFailed(f"{kind} did not publish the tool: {answer or result.content}")
        await client.list_tools(cache_mode="refresh")
    if making.cancelled_caught:
        raise timing.ContenderFailed(f"{kind} did not publish the tool in time")


@asynccontextmanager
async def _connected(
    name: str, command: list[str], variables: dict[str, str], log: Path
) -> AsyncIterator[tuple[Client, int | None]]:
    parameters = StdioServerParameters(
        command=sys.executable, args=command, env=inherited_environment() | variables
    )
    before = memory.descendants() if memory.shows_processes() else set()
    started = False
    try:
        with log.open("a", encoding="utf-8") as errlog, anyio.fail_after(START_WITHIN_S) as starting:
            async with Client(stdio_client(parameters, errlog=errlog)) as client:
                await client.list_tools()
                starting.deadline, started = math.inf, True
                yield client, _server_process(before, command[-1])
    except (*BROKE_OFF, ExceptionGroup) as failed:
        if started:
            raise
        raise timing.ContenderFailed(f"{name} did not start: {in_words(failed)}") from failed


def inherited_environment() -> dict[str, str]:
    """What a server process has of ours: DOCKER_HOST, PATH."""
    return dict(os.environ)  # noqa: TID251


def _server_process(before: set[int], word: str) -> int | None:
    """The process among the new ones that was started with that word."""
    for pid in sorted(memory.descendants() - before) if memory.shows_processes() else ():
        with suppress(psutil.Error):
            if word in psutil.Process(pid).cmdline():
                return pid
    return None


def in_words(failure: BaseException) -> str:
    """An exception in one short line."""
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return (
        "no answer in time"
        if isinstance(failure, TimeoutError)
        else f"{type(failure).__name__}: {failure}"[:300]
    )
