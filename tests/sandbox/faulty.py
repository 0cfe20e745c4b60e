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

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Environment, Job, RunResult, Sandbox
from alita_mcp.sandbox.wire.link import Confinement, Transport
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


class CutTransport:
    """Passes everything on, until so many bytes arrived from inside; then the supervisor is silent for ever."""

    def __init__(self, whole: Transport, after: int) -> None:
        self._whole = whole
        self._left = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def receive(self) -> bytes:
        if self._left <= 0:
            return b""
        data = (await self._whole.receive())[: self._left]
        self._left -= len(data)
        return data

    def is_silent(self) -> bool:
        return self._left > 0 and self._whole.is_silent()  # type: ignore[attr-defined]


class CuttingSandbox(BubblewrapSandbox):
    """A bubblewrap whose next worker loses its voice after `cut_after` bytes; None: no worker does."""

    cut_after: int | None = None
    heard: CountedTransport | None = None

    @asynccontextmanager
    async def boot(
        self, limits: Limits, environment: Environment | None
    ) -> AsyncIterator[tuple[Transport, Confinement]]:
        async with super().boot(limits, environment) as (transport, confinement):
            cut, self.cut_after = self.cut_after, None
            self.heard = CountedTransport(transport)
            heard: Any = self.heard if cut is None else CutTransport(transport, cut)
            yield heard, confinement


class CountedTransport:
    """Passes everything on and counts what comes from inside."""

    def __init__(self, whole: Transport) -> None:
        self._whole = whole
        self.sizes: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def receive(self) -> bytes:
        data = await self._whole.receive()
        self.sizes.append(len(data))
        return data


def possessions() -> tuple[int, int]:
    """How many files this process has open, and how many processes it has started that still live."""
    this = psutil.Process()
    return this.num_fds(), len(this.children(recursive=True))
