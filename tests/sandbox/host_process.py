"""A process of its own that keeps workers of a sandbox busy with daemons; killed by a test.

Arguments: kind, home, how many workers. Says `ready` once all of them are busy.
"""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.packages.builder import BuildBroker, build_job
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits

BUSY = """
import alita_tool, os, time
def build(request):
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
    alita_tool._ask("build.progress", {"line": "ready"})
    time.sleep(600)
"""


LOOP = "def f():\n    while True:\n        pass\n"


async def keep_looping(home: Path, workers: int) -> None:
    """Where there are no processes to leave behind: calls that compute without end."""
    sandbox = WasmSandbox(Settings(home=home, max_workers=workers))
    async with anyio.create_task_group() as tasks:
        for number in range(workers):
            limits = Limits(wall_seconds=600, cpu_seconds=600, memory_bytes=(64 + number) << 20)
            tasks.start_soon(sandbox.run, Job(code=LOOP, function="f", arguments={}, limits=limits))
        while sandbox.figures().started < workers:  # noqa: ASYNC110 - a figure, no event
            await anyio.sleep(0.05)
        print("ready", flush=True)


async def keep_busy(kind: str, home: Path, workers: int) -> None:
    if kind == WasmSandbox.kind:
        await keep_looping(home, workers)
        return
    back_end = DockerSandbox if kind == DockerSandbox.kind else BubblewrapSandbox
    sandbox = back_end(Settings(home=home))
    busy = 0

    async def tell(line: str) -> None:
        nonlocal busy
        busy += line == "ready"
        if busy == workers:
            print("ready", flush=True)

    async def keep_one(number: int) -> None:
        # its own limits make each a worker of its own, beyond what one tool may have at once
        limits = Limits(wall_seconds=600, cpu_seconds=600, memory_bytes=(128 + number) << 20)
        job = build_job({}, None).model_copy(update={"code": BUSY, "limits": limits})
        await sandbox.run(job, BuildBroker(frozenset(), tell))

    async with anyio.create_task_group() as tasks:
        for number in range(workers):
            tasks.start_soon(keep_one, number)


if __name__ == "__main__":
    anyio.run(keep_busy, sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
