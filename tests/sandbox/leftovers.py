"""What a back end's owner process has running or lying about, seen from outside the back end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

import anyio
import psutil
from anyio.abc import Process

Leftovers = Callable[[int], list[str]]
"""Containers, control groups or processes of the process with this number."""


def docker_leftovers(pid: int) -> list[str]:
    return _containers(pid, "--all")


def docker_running(pid: int) -> list[str]:
    """Without those that were never started: nobody but the next process can remove what a killed one made."""
    return _containers(pid)


def _containers(pid: int, *words: str) -> list[str]:
    listing = subprocess.run(
        ["docker", "ps", *words, "--format", '{{.Names}} {{.Label "alita.owner"}}'],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line for line in listing.stdout.splitlines() if f"-{pid}-" in line]


def bubblewrap_leftovers(pid: int) -> list[str]:
    """Processes in the control groups that a process made."""
    found = set()
    for group in control_groups(pid):
        with suppress(OSError):  # it may be removed while we look
            found |= set((group / "cgroup.procs").read_text().split())
    return sorted(found)


def wasm_leftovers(pid: int) -> list[str]:
    """Worker processes of a server, which stand in the list of processes with its number."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if f"server={pid}" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(str(process.pid))
    return found


def control_groups(pid: int) -> list[Path]:
    folders = [
        Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup")
    ]  # unlike glob, patient with what vanishes
    return [folder for folder in folders if fnmatch(folder.name, f"alita-*-{pid}-*")]


def mounts_of_ours(kind: str) -> set[str]:
    """Mount points of this machine that carry our name; those of the engine count for `docker` alone.

    Other tests run beside: what they mount comes and goes, and only what stays was left behind.
    """
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    places = {line.split()[4] for line in lines if "alita" in line}
    return {place for place in places if kind == "docker" or "/docker/" not in place}


async def busy_host(kind: str, home: Path, workers: int = 1) -> Process:
    """A process of its own whose sandbox runs daemons already, in so many workers; to be killed."""
    command = [sys.executable, "-m", "tests.sandbox.host_process", kind, str(home), str(workers)]
    host = await anyio.open_process(command, stderr=None)
    assert host.stdout is not None
    assert b"ready" in await host.stdout.receive()
    return host


async def nothing_left(left: Leftovers, pid: int) -> None:
    """Returns once nothing is left; the test's own time limit is the failure."""
    with anyio.fail_after(120):
        while await anyio.to_thread.run_sync(left, pid):  # noqa: ASYNC110 - nobody tells when it is gone
            await anyio.sleep(0.02)
