"""A process of its own that keeps a sandbox busy with daemons; killed by a test. Arguments: kind, home."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from alita_mcp.sandbox.bubblewrap import BubblewrapSandbox
from alita_mcp.sandbox.docker import DockerSandbox
from alita_mcp.settings import Settings

PROGRAM = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
print("ready", flush=True)
time.sleep(600)
"""


async def keep_busy(kind: str, home: Path) -> None:
    back_end = DockerSandbox if kind == DockerSandbox.kind else BubblewrapSandbox
    sandbox = back_end(Settings(home=home))

    async def tell(line: str) -> None:
        print(line, flush=True)

    await sandbox.run_builder(
        PROGRAM,
        b"",
        hosts=frozenset(),
        wall_seconds=600,
        memory_bytes=128 << 20,
        scratch_bytes=1 << 20,
        on_line=tell,
    )


if __name__ == "__main__":
    anyio.run(keep_busy, sys.argv[1], Path(sys.argv[2]))
