"""Memory of warm workers: one idle worker, and the pool at its default bound, as proportional share of processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import psutil

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Sandbox
from benchmarks.calls import baselines, timing, work

IDLE_S = 0.3
"""How long a worker is left alone before its memory is read."""


async def measure(
    kind: str, open_sandbox: Callable[[], Any], bound: int, tell: timing.Tell
) -> dict[str, Any]:
    """Bytes of one idle warm worker and of as many as the pool keeps, in a sandbox that ran nothing before."""
    if not shows_processes():
        return {"missing": "memory is read from /proc, which is not here"}
    try:
        before = await anyio.to_thread.run_sync(roots, kind)
        async with open_sandbox() as sandbox:
            tell(f"{kind}: memory of an idle worker")
            probed = await anyio.to_thread.run_sync(roots, kind)
            await _warm(sandbox, 1)
            # the embedded sandbox gives the processes of its probe to the tools that come after it
            one = await anyio.to_thread.run_sync(weigh_workers, kind, before if kind == "wasm" else probed)
            tell(f"{kind}: memory of {bound} workers")
            await _warm(sandbox, bound)
            full = await anyio.to_thread.run_sync(weigh_workers, kind, before)
    except (SandboxError, timing.ContenderFailed) as failed:
        return {"missing": str(failed)}
    return {"idle_worker": one, "pool": {"bound": bound, **full}}


async def _warm(sandbox: Sandbox, workers: int) -> None:
    """Calls that many tools, each twice, so that each has a worker that was used before."""
    for version in range(1, workers + 1):
        call = work.at_the_seam(sandbox, version)
        await call()
        await call()
    await anyio.sleep(IDLE_S)


def roots(kind: str) -> frozenset[int]:
    """The first processes of this process's workers: its children, or those of its containers."""
    if kind != "docker":
        return frozenset(each.pid for each in psutil.Process().children())
    from alita_mcp.sandbox.docker.engine import OWNER_LABEL
    from alita_mcp.sandbox.owner import ProcessOwner

    own = f"label={OWNER_LABEL}={ProcessOwner.this_process()}"
    containers = baselines.client_output(["docker", "ps", "--quiet", "--filter", own]).split()
    words = ["docker", "inspect", "--format", "{{.State.Pid}}", *containers]
    return frozenset(map(int, baselines.client_output(words).split())) if containers else frozenset()


def weigh_workers(kind: str, before: frozenset[int]) -> dict[str, Any]:
    """Number of this process's workers and their bytes together, without those of before."""
    found = roots(kind) - before
    if not found:
        return {"missing": "no worker is kept between calls"}
    every = {*found, *(pid for root in found for pid in descendants(root))}
    weighed = _bytes_of(every)
    if weighed is None:
        return {"missing": "the memory of the workers' processes may not be read by this user"}
    total, private = weighed
    return {
        "workers": len(found),
        "bytes": total,
        "private_bytes": private,
        "mb_each": round(total / len(found) / 1e6, 2),
        "private_mb_each": round(private / len(found) / 1e6, 2),
        "how": "PSS",
    }


def descendants(root: int | None = None) -> set[int]:
    """All processes below one, by default below this one."""
    try:
        return {each.pid for each in psutil.Process(root).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()


def shows_processes() -> bool:
    """Whether this machine shows the memory of processes in /proc."""
    return psutil.LINUX


def resident_bytes(pid: int) -> int | None:
    """The resident set of one process; None when it is gone or not readable."""
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return None


def _bytes_of(processes: set[int]) -> tuple[int, int] | None:
    """Proportional and private bytes of all processes together; None where one may not be read."""
    proportional = private = 0
    for pid in processes:
        try:
            found = psutil.Process(pid).memory_full_info()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        except psutil.AccessDenied:
            return None
        proportional += found.pss
        private += found.uss
    return proportional, private
