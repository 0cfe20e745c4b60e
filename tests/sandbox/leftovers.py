"""What a back end's owner process has running or lying about, seen from outside the back end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
from anyio.abc import Process

Leftovers = Callable[[int], list[str]]
"""Containers, control groups or processes of the process with this number."""


def docker_leftovers(pid: int) -> list[str]:
    listing = subprocess.run(
        ["docker", "ps", "--all", "--format", '{{.Names}} {{.Label "alita.owner"}}'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line for line in listing.stdout.splitlines() if f"-{pid}-" in line]


def bubblewrap_leftovers(pid: int) -> list[str]:
    """Processes in the control groups that a process made."""
    groups = [path for path in Path("/sys/fs/cgroup").rglob(f"alita-*-{pid}-*") if path.is_dir()]
    members = [path / "cgroup.procs" for path in groups]
    return [number for file in members if file.exists() for number in file.read_text().split()]


def control_groups(pid: int) -> list[Path]:
    return [path for path in Path("/sys/fs/cgroup").rglob(f"alita-*-{pid}-*") if path.is_dir()]


async def busy_host(kind: str, home: Path) -> Process:
    """A process of its own whose sandbox runs daemons already; to be killed."""
    command = [sys.executable, "-m", "tests.sandbox.host_process", kind, str(home)]
    host = await anyio.open_process(command, stderr=None)
    assert host.stdout is not None
    assert b"ready" in await host.stdout.receive()
    return host


async def nothing_left(left: Leftovers, pid: int) -> None:
    """Returns once nothing is left; the test's own time limit is the failure."""
    with anyio.fail_after(30):
        while await anyio.to_thread.run_sync(left, pid):  # noqa: ASYNC110 - nobody tells when it is gone
            await anyio.sleep(0.02)
