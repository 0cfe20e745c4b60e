"""Latency of a whole warm `tools/call` over stdio, against a tool that does nothing."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult

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
            work.check(self.name, arguments, (result.structured_content or {}).get("result", _text(result)))
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
                failures[kind] = str(failed)
        turns: dict[str, timing.Turn] = {}
        for server in servers:
            turns[server.name] = timing.spaced(server.call)
            turns[server.name + BURST] = timing.back_to_back(server.call)
        measured = await timing.interleaved(turns, extent.rounds, tell)
        measured.failures |= failures
        memories = {
            server.name: await server_memory(server, extent, tell)
            for server in servers
            if server.name not in {NOOP, *measured.failures}
        }
    return figures(measured, kinds, memories)


def figures(
    measured: timing.Measured, kinds: tuple[str, ...], memories: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """This part of the result."""
    found: dict[str, Any] = {
        "ratio_to_noop": None,
        "ratio_to_noop_back_to_back": None,
        NOOP: {"spaced": measured.figures(NOOP), "back_to_back": measured.figures(NOOP + BURST)},
    }
    for kind in kinds:
        found[kind] = {
            "spaced": measured.figures(kind),
            "back_to_back": measured.figures(kind + BURST),
            "ratio_to_noop": measured.ratio(kind, NOOP),
            "ratio_to_noop_back_to_back": measured.ratio(kind + BURST, NOOP + BURST),
        }
        if kind in memories:
            found[kind]["server_memory"] = memories[kind]
    for name in ("ratio_to_noop", "ratio_to_noop_back_to_back"):
        ratios = [found[kind][name] for kind in kinds]
        found[name] = max(ratios) if ratios and None not in ratios else None
    return found


async def server_memory(server: Server, extent: Extent, tell: timing.Tell) -> dict[str, Any]:
    """The server's own resident set before and after many calls, or as many as fit in the time."""
    if server.pid is None:
        return {"missing": "memory is read from /proc, which is not here"}
    tell(f"{server.name}: the server's memory over {extent.memory_calls} calls")
    try:
        return await _growth(server, server.pid, extent)
    except timing.ContenderFailed as failed:
        return {"missing": str(failed)}


async def _growth(server: Server, pid: int, extent: Extent) -> dict[str, Any]:
    for _ in range(min(WARM_CALLS, extent.memory_calls)):
        await server.call()
    start = memory.resident_bytes(pid)
    watch, calls = timing.Stopwatch(), 0
    while calls < extent.memory_calls and watch.seconds < extent.memory_within_s:
        await server.call()
        calls += 1
    end = memory.resident_bytes(pid)
    if start is None or end is None:
        return {"missing": "the server's memory cannot be read"}
    return {
        "calls": calls,
        "asked_calls": extent.memory_calls,
        "start_bytes": start,
        "end_bytes": end,
        "growth": round(end / start - 1, 4),
    }


@asynccontextmanager
async def noop(folder: Path) -> AsyncIterator[Server]:
    """The bare server."""
    script = str(Path(__file__).with_name("noop_server.py"))
    async with _connected(NOOP, [script], {}, folder / "noop.log") as (client, pid):
        yield Server(NOOP, client, NOOP, pid)


@asynccontextmanager
async def serving(kind: str, folder: Path) -> AsyncIterator[Server]:
    """Our server with a home of its own in which the tool is published.

    Raises:
        ContenderFailed: it does not start, or does not publish the tool.
    """
    variables = {
        "ALITA_HOME": str(folder / f"home-{kind}"),
        "ALITA_SANDBOX": kind,
        "ALITA_POLICY": "ask",
        "ALITA_RESULT_CACHE_MB": "0",
    }
    command = ["-m", "alita_mcp.server.transports.entry"]
    async with _connected(kind, command, variables, folder / f"{kind}.log") as (client, pid):
        await _publish(kind, client)
        yield Server(kind, client, TOOL, pid)


@asynccontextmanager
async def _connected(
    name: str, command: list[str], variables: dict[str, str], log: Path
) -> AsyncIterator[tuple[Client, int | None]]:
    inherited = dict(os.environ)  # noqa: TID251 - the process inherits what ours has: DOCKER_HOST, PATH
    parameters = StdioServerParameters(command=sys.executable, args=command, env=inherited | variables)
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


async def _publish(kind: str, client: Client) -> None:
    with anyio.move_on_after(MAKE_WITHIN_S):
        result = await client.call_tool("synthesize_tool", REQUEST)
        while (answer := result.structured_content or {}).get("status") == "working":
            result = await client.call_tool("synthesize_tool", {"job_id": answer["job_id"]})
        if answer.get("status") != "created":
            raise timing.ContenderFailed(f"{kind} did not publish the tool: {answer or _text(result)}")
        await client.list_tools(cache_mode="refresh")
        return
    raise timing.ContenderFailed(f"{kind} did not publish the tool in time")


def _server_process(before: set[int], word: str) -> int | None:
    """The process among the new ones that was started with that word."""
    if not memory.shows_processes():
        return None
    for pid in sorted(memory.descendants() - before):
        try:
            words = (memory.PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if word.encode() in words:
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


def _text(result: CallToolResult) -> str:
    return " ".join(block.text for block in result.content if block.type == "text")
