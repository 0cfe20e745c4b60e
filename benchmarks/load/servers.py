"""The servers under load, as processes: ours, and one of the same SDK whose answer is ready before the call."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil

from benchmarks.calls import over_stdio, timing
from benchmarks.load.client import Address, connect

NOOP = "noop"
TOOL = over_stdio.TOOL
START_WITHIN_S = 60.0
OLD_S = 2.0
"""Whatever lives longer is no process of a single call."""
TOKEN = "a-token-for-this-benchmark"
NOOP_SERVER = (
    over_stdio.NOOP_SERVER.partition("async def main")[0].replace(
        "from mcp.server.stdio import stdio_server", "import socket\nimport sys\nimport uvicorn"
    )
    + """
server = Server("noop", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
listener = socket.create_server(("127.0.0.1", 0))
sys.stderr.write(f"serving MCP at http://127.0.0.1:{listener.getsockname()[1]}/mcp\\n")
config = uvicorn.Config(server.streamable_http_app(), log_level="warning", access_log=False)
anyio.run(uvicorn.Server(config).serve, [listener])
"""
)
ALITA_SERVER = (
    "import sys; from alita_mcp.cli.main import main; sys.exit(main(['serve', '--http', '127.0.0.1:0']))"
)


@dataclass
class MeasuredServer:
    """A server process, where it listens, and what it and its children use."""

    name: str
    address: Address
    process: psutil.Process
    _used: dict[psutil.Process, float] = field(default_factory=dict)

    def cpu_seconds(self) -> float:
        """Processor time of the process and of all its children so far.

        Whoever ends is waited for by its parent, which counts its time; a worker that is killed with all its parents
        is not, so its time stays as it was seen last: ask once a second.
        """
        for each in [self.process, *self.process.children(recursive=True)]:
            with suppress(psutil.Error):
                if time.time() - each.create_time() > OLD_S:
                    self._used[each] = sum(each.cpu_times()[:4])  # own and waited for, user and system
        return sum(self._used.values())

    def resident_bytes(self) -> int:
        """The resident set of the process itself."""
        return int(self.process.memory_info().rss)


@asynccontextmanager
async def start_noop(folder: Path) -> AsyncIterator[MeasuredServer]:
    """The server of the SDK."""
    async with _started(NOOP, ["-c", NOOP_SERVER], {}, folder) as server:
        yield server


@asynccontextmanager
async def start_alita(kind: str, folder: Path) -> AsyncIterator[MeasuredServer]:
    """Our server with a home of its own in which the tool is published.

    Raises:
        ContenderFailed: it does not start, or does not publish the tool.
    """
    variables = {"ALITA_HOME": str(folder / f"home-{kind}"), "ALITA_SANDBOX": kind, "ALITA_POLICY": "ask"}
    async with _started(kind, ["-c", ALITA_SERVER], variables | {"ALITA_TOKEN": TOKEN}, folder) as server:
        await publish(server, over_stdio.REQUEST)
        yield server


async def publish(server: MeasuredServer, request: dict[str, object]) -> None:
    """Has a tool made.

    Raises:
        ContenderFailed: it is not created.
    """
    async with connect(server.address) as client:
        answer = (await client.call_tool("synthesize_tool", request))["structuredContent"]
        while answer["status"] == "working":
            again = await client.call_tool("synthesize_tool", {"job_id": answer["job_id"]})
            answer = again["structuredContent"]
    if answer["status"] != "created":
        raise timing.ContenderFailed(f"{server.name} did not publish the tool: {answer}")


@asynccontextmanager
async def _started(
    name: str, command: list[str], variables: dict[str, str], folder: Path
) -> AsyncIterator[MeasuredServer]:
    inherited = {key: value for key, value in os.environ.items() if key != "ALITA_HOME"}  # noqa: TID251
    log = folder / f"{name}.log"
    with log.open("wb") as sink:
        process = await anyio.open_process(
            [sys.executable, *command],
            env=inherited | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=sink,
        )
    try:
        with anyio.move_on_after(START_WITHIN_S):
            while not (said := re.search(r"serving MCP at \S+:(\d+)/mcp", log.read_text(errors="replace"))):  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(timing.SETTLE_S)
        if not said:
            raise timing.ContenderFailed(f"{name} did not start: {log.read_text(errors='replace')[-300:]}")
        token = variables.get("ALITA_TOKEN", "")
        yield MeasuredServer(name, Address(int(said[1]), token), psutil.Process(process.pid))
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        with anyio.CancelScope(shield=True):
            await process.wait()
