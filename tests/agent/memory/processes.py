"""What tests of the memory run as processes of their own: `python -m tests.agent.memory.processes HOME NAME COUNT`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio

from alita_mcp.agent.memory.store import StoredMemory
from tests.agent.memory.remembered import stated, summed

ROOT = Path(__file__).parents[3]


def start(home: Path, name: str, count: int) -> subprocess.Popen[str]:
    """Starts a process that remembers so many runs once it is told to."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.agent.memory.processes", str(home), name, str(count)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


async def remember(home: Path, name: str, count: int) -> None:
    """Remembers runs of one recipe, each with a fact of its own and one of a subject that all share."""
    memory = StoredMemory(home)
    print("ready", flush=True)
    sys.stdin.readline()
    for at in range(count):
        fact = stated(f"It is {name} {at}.", subject=f"{name}x{at}")
        shared = stated(f"Said by {name} {at}.", subject="shared", at=f"2025-01-{at + 1:02}")
        await memory.remember(summed(f"{name}{at}", answer=f"{name}{at}"), [fact, shared])
        print(at, flush=True)


if __name__ == "__main__":
    anyio.run(remember, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
