"""Memory of warm workers: one idle worker, and the pool at its default bound."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Sandbox
from benchmarks.calls import baselines, timing, work

IDLE_S = 0.3
"""How long a worker is left alone before its memory is read."""
_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1000, "MB": 10**6, "GB": 10**9}
_NOBODY = "no worker is kept between calls"
PROC = Path("/proc")


async def measure(
    kind: str, open_sandbox: Callable[[], Any], bound: int, tell: timing.Tell
) -> dict[str, Any]:
    """Bytes of one idle warm worker and of as many as the pool keeps, in a sandbox that ran nothing before."""
    if not shows_processes():
        return {"missing": "memory is read from /proc, which is not here"}
    try:
        return await _measure(kind, open_sandbox, bound, tell)
    except (SandboxError, timing.ContenderFailed) as failed:
        return {"missing": str(failed)}


async def _measure(
    kind: str, open_sandbox: Callable[[], Any], bound: int, tell: timing.Tell
) -> dict[str, Any]:
    before = await anyio.to_thread.run_sync(present, kind)
    async with open_sandbox() as sandbox:
        tell(f"{kind}: memory of an idle worker")
        probed = await anyio.to_thread.run_sync(present, kind)
        await _warm(sandbox, 1)
        # the embedded sandbox gives the processes of its probe to the tools that come after it
        one = await anyio.to_thread.run_sync(workers, kind, before if kind == "wasm" else probed)
        tell(f"{kind}: memory of {bound} workers")
        await _warm(sandbox, bound)
        full = await anyio.to_thread.run_sync(workers, kind, before)
    return {"idle_worker": one, "pool": {"bound": bound, **full}}


async def _warm(sandbox: Sandbox, workers: int) -> None:
    """Calls that many tools, each twice, so that each has a worker that was used before."""
    for version in range(1, workers + 1):
        call = work.at_the_seam(sandbox, version)
        await call()
        await call()
    await anyio.sleep(IDLE_S)


class Present(NamedTuple):
    """Processes and containers that this process had started at some time."""

    processes: frozenset[int]
    containers: frozenset[str]


def present(kind: str) -> Present:
    """Descendants of this process now; containers only where the workers are containers."""
    return Present(frozenset(descendants()), _own_containers() if kind == "docker" else frozenset())


def workers(kind: str, before: Present) -> dict[str, Any]:
    """Number of this process's workers and their bytes together, without those of before."""
    now = present(kind)
    if kind == "docker":
        found = _containers(now.containers - before.containers)
    else:
        found = trees(now.processes - before.processes)
    return found or {"missing": _NOBODY}


def _own_containers() -> frozenset[str]:
    from alita_mcp.sandbox.docker.engine import OWNER_LABEL
    from alita_mcp.sandbox.owner import ProcessOwner

    own = f"label={OWNER_LABEL}={ProcessOwner.this_process()}"
    return frozenset(baselines.client_output(["docker", "ps", "--quiet", "--filter", own]).split())


def _containers(numbers: frozenset[str]) -> dict[str, Any]:
    """What the engine accounts to containers, and their proportional share where it can be read."""
    if not numbers:
        return {}
    rows = baselines.client_output(["docker", "stats", "--no-stream", "--format", "{{json .}}", *numbers])
    sizes = [size_in_bytes(json.loads(row)["MemUsage"]) for row in rows.splitlines()]
    starts = baselines.client_output(["docker", "inspect", "--format", "{{.State.Pid}}", *numbers])
    shares = [_tree_bytes({int(pid), *descendants(int(pid))}) for pid in starts.split() if int(pid)]
    found: dict[str, Any] = {"workers": len(sizes), "bytes": sum(sizes), "how": "docker stats"}
    if shares and all(shares):
        found["pss_bytes"] = sum(share for share in shares if share)
    return found


def trees(processes: Set[int]) -> dict[str, Any]:
    """The proportional share of the process trees whose roots are among these; each root is a worker.

    A root is a child of this process: a worker that was there before may have forked meanwhile.
    """
    roots = [pid for pid in processes if _parent(pid) == os.getpid()]
    if not roots:
        return {}
    every = {*roots, *(pid for root in roots for pid in descendants(root))}
    total, private = _tree_bytes(every), _tree_bytes(every, "Private_Clean", "Private_Dirty")
    if total is None or private is None:
        return {"missing": "the memory of the workers' processes may not be read by this user"}
    return {"workers": len(roots), "bytes": total, "private_bytes": private, "how": "PSS"}


def descendants(root: int | None = None) -> set[int]:
    """All processes below one, by default below this one."""
    root = root or os.getpid()
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    found, next_ones = set[int](), [root]
    while next_ones:
        next_ones = [
            child for parent in next_ones for child in children.get(parent, ()) if child not in found
        ]
        found.update(next_ones)
    return found


def shows_processes() -> bool:
    """Whether this machine has a /proc."""
    return PROC.is_dir()


def resident_bytes(pid: int) -> int | None:
    """The resident set of one process; None when it is gone or not readable."""
    return _field(PROC / str(pid) / "status", "VmRSS")


def size_in_bytes(usage: str) -> int:
    """`17.7MiB / 256MiB` as the engine's client prints it, the first of the two."""
    match = re.match(r"([\d.]+)\s*([A-Za-z]+)", usage)
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"not a size: {usage!r}")
    return int(float(match[1]) * _UNITS[match[2]])


def _tree_bytes(processes: set[int], *names: str) -> int | None:
    """The proportional share of processes together, or other fields; one that has ended has none."""
    total = 0
    for pid in processes:
        for name in names or ("Pss",):
            share = _field(PROC / str(pid) / "smaps_rollup", name)
            if share is None and _field(PROC / str(pid) / "status", "VmRSS"):
                return None  # it lives, has memory, and we may not see how much
            total += share or 0
    return total


def _field(path: Path, name: str) -> int | None:
    try:
        text = path.read_text("ascii", "replace")
    except OSError:
        return None
    match = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) << 10 if match else None


def _parent(pid: int) -> int:
    """Number of a process's parent; 0 when it has ended."""
    try:
        return int((PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0
