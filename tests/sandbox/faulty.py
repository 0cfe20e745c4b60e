"""What the fault tests share: calls that tell when they are in the middle, and ways to hurt what runs them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil

from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.values import Grants, Limits
from tests.sandbox.leftovers import control_groups

ADD = Job(code="def add(a, b): return a + b", function="add", arguments={"a": 40, "b": 2})
WAITS = Job(
    code="""
import alita_tool, time
def waits(seconds):
    alita_tool.secret("here")
    time.sleep(seconds)
    return "done"
""",
    function="waits",
    arguments={"seconds": 60},
    limits=Limits(wall_seconds=120),
    grants=Grants(secrets=("here",)),
)
"""Asks its broker for a secret, and is then in the middle of a call."""


class Doorbell:
    """A broker that tells when it was asked for anything."""

    egress_policy = None

    def __init__(self) -> None:
        self.rung = anyio.Event()

    async def answer(self, door: str, words: dict[str, Any]) -> str:
        self.rung.set()
        return door


class Running:
    """A call in a task of its own; what became of it."""

    def __init__(self) -> None:
        self.result: RunResult | None = None
        self.error: Exception | None = None
        self.over = anyio.Event()


@asynccontextmanager
async def in_the_middle(sandbox: Sandbox) -> AsyncIterator[Running]:
    """A call that runs inside the sandbox while the block runs; waited for at the block's end."""
    running, bell = Running(), Doorbell()

    async def call() -> None:
        try:
            running.result = await sandbox.run(WAITS, bell)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            running.error = error
            bell.rung.set()
        running.over.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await bell.rung.wait()
        assert running.error is None, running.error
        yield running
        await running.over.wait()


def supervisors(kind: str) -> list[int]:
    """Numbers, outside, of the processes that are number one inside the sandboxes of this process."""
    if kind == "docker":
        return [int(line) for name in _own_containers() for line in _docker("inspect", name).split()]
    groups = [group / "cgroup.procs" for group in control_groups(os.getpid())]
    members = {int(line) for file in groups if file.exists() for line in file.read_text().split()}
    return [pid for pid in members if _number_inside(pid) == 1]


def _own_containers() -> list[str]:
    listing = _docker("ps", "--format", '{{.Names}} {{.Label "alita.owner"}}')
    return [line.split()[0] for line in listing.splitlines() if f"-{os.getpid()}-" in line]


def _docker(*words: str) -> str:
    if words[0] == "inspect":
        words = ("inspect", "--format", "{{.State.Pid}}", *words[1:])
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def _number_inside(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    numbers = next(line for line in lines if line.startswith("NSpid:")).split()[1:]
    return int(numbers[-1]) if len(numbers) > 1 else 0


def possessions() -> tuple[int, int]:
    """How many files this process has open, and how many processes it has started that still live."""
    this = psutil.Process()
    return this.num_fds(), len(this.children(recursive=True))
