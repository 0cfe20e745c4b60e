"""Clients over stdio that share one server: each calls and searches through its relay while an idle one is pinged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.server.transports.local.clients import memory_bytes
from alita_mcp.server.transports.local.servers import find_endpoints, stop_servers
from benchmarks.calls import over_stdio, timing
from benchmarks.load.crowd import SEARCH_EVERY

CLIENTS = 10
GOALS = {"errors": 0, "worst_ping_s": 0.05, "memory_bytes": 250e6}
"""At most so much; the memory is that of the server and all relays, without sandboxes."""
PING_EVERY_S = 0.25
_MAX_LINE = 1 << 24
_INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark load", "version": "1"},
}


class _Client:
    """One client after the handshake, which has one request open at a time."""

    def __init__(self, process: Process) -> None:
        self.process = process
        assert process.stdout
        self._lines = BufferedByteReceiveStream(process.stdout)
        self._requests = 0

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request."""
        assert self.process.stdin
        self._requests += 1
        request = {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": params}
        await self.process.stdin.send(json.dumps(request).encode() + b"\n")
        while True:
            answer: dict[str, Any] = json.loads(await self._lines.receive_until(b"\n", _MAX_LINE))
            if answer.get("id") == self._requests:
                return answer

    async def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured result of a tool; empty for an error."""
        answer = await self.ask("tools/call", {"name": name, "arguments": arguments})
        return (answer.get("result") or {}).get("structuredContent") or {}


async def measure_shared(kind: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Errors, the worst ping of the idle client, and memory, of ten clients at work for so long."""
    home = folder / "home-shared"
    variables = {"ALITA_HOME": str(home), "ALITA_SANDBOX": kind, "ALITA_POLICY": "ask", "ALITA_SHARED": "on"}
    errors: list[str] = []
    pings: list[float] = []
    operations = 0

    async def work(number: int, client: _Client) -> None:
        nonlocal operations
        watch, turn = timing.Stopwatch(), 0
        while watch.seconds < seconds:
            turn += 1
            if turn % SEARCH_EVERY:
                result = await client.call(over_stdio.TOOL, {"a": turn, "b": number})
                is_right = result.get("result") == turn + number
            else:
                result = await client.call("search_capabilities", {"query": f"add two integers {turn}"})
                is_right = any(row["name"] == over_stdio.TOOL for row in result.get("results", ()))
            operations += 1
            if not is_right:
                errors.append(str(result)[:300])

    async with AsyncExitStack() as stack:
        try:
            # Made by a server of its own, so that memory is that of calls and searches, not of making.
            async with _connect(variables) as maker:
                await _publish(maker)
            await anyio.to_thread.run_sync(stop_servers, home)
            idle = await stack.enter_async_context(_connect(variables))
            clients = [await stack.enter_async_context(_connect(variables)) for _ in range(CLIENTS)]
            async with anyio.create_task_group() as watching:

                async def ping() -> None:
                    while True:
                        await anyio.sleep(PING_EVERY_S)
                        watch = timing.Stopwatch()
                        await idle.ask("ping", {})
                        pings.append(watch.seconds)

                watching.start_soon(ping)
                async with anyio.create_task_group() as working:
                    for number, client in enumerate(clients):
                        working.start_soon(work, number, client)
                watching.cancel_scope.cancel()
            found = await anyio.to_thread.run_sync(find_endpoints, home)
            relays = [memory_bytes(client.process.pid) for client in (idle, *clients)]
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(stop_servers, home)
    figures: dict[str, Any] = {
        "clients": CLIENTS,
        "operations": operations,
        "per_second": round(operations / seconds, 1),
        "errors": len(errors),
        "first_errors": errors[:5],
        "servers": len(found),
        "worst_ping_s": round(max(pings), 4),
        "ping_p50_s": round(timing.quantile(pings, 0.5), 4),
        "memory_bytes": sum(relays) + sum(server["memory_bytes"] for _, server in found),
        "relay_bytes": max(relays),
    }
    figures["not_met"] = [name for name, goal in GOALS.items() if figures[name] > goal]
    figures["met"] = not figures["not_met"]
    return figures


async def _publish(client: _Client) -> None:
    """Has the tool made, and lets a search bring the vectors up to date."""
    made = await client.call("synthesize_tool", over_stdio.REQUEST)
    while made.get("status") == "working":
        made = await client.call("synthesize_tool", {"job_id": made["job_id"]})
    if made.get("status") != "created":
        raise timing.ContenderFailed(f"the shared server did not publish the tool: {made}")
    for _ in range(2):  # the first may be answered by words while LanceDB is loaded
        await client.call("search_capabilities", {"query": "add two integers"})


@asynccontextmanager
async def _connect(variables: dict[str, str]) -> AsyncIterator[_Client]:
    """A client of its own process over stdio."""
    async with await anyio.open_process(
        [sys.executable, "-m", "alita_mcp.server.transports.entry"],
        env=over_stdio.inherited_environment() | variables,
        stderr=subprocess.DEVNULL,
    ) as process:
        client = _Client(process)
        await client.ask("initialize", _INITIALIZE)
        assert process.stdin
        await process.stdin.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        try:
            yield client
        finally:
            await process.stdin.aclose()
            with anyio.CancelScope(shield=True):
                await process.wait()
