"""Costs of a large library: start, change and memory of a server.

Server processes are started in turn with the library and with an empty one. Processor time and memory are what
Linux says of the process; elsewhere they are left out.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from mcp import Client

from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from benchmarks.retrieval import writing_process

Serve = Callable[[Path], AbstractAsyncContextManager[Client]]
STARTS = 5
CHANGES = 5
PROCESSES = Path("/proc")


async def measure(home: Path, empty: Path, serve: Serve) -> dict[str, float]:
    """Medians of several starts until the first list, and of several changes in this process."""
    sized, others = [], []
    for _ in range(STARTS + 1):
        sized.append(await _first_list(home, serve))
        others.append(await _first_list(empty, serve))
    found, compared = _medians(sized[1:]), _medians(others[1:])  # the first start of each fills caches
    ratios = {
        f"{key}_ratio": found[f"{key}_s"] / compared[f"{key}_s"]
        for key in ("list", "list_cpu")
        if f"{key}_s" in found
    }
    return {**found, **ratios, **await _changes(home)}


async def _first_list(home: Path, serve: Serve) -> dict[str, float]:
    before, started = processes(), time.perf_counter()
    async with serve(home) as client:
        await client.list_tools()
        listed = time.perf_counter() - started
        return {"list_s": listed, **cost_of(processes() - before, "list")}


async def _changes(home: Path) -> dict[str, float]:
    """Milliseconds until this process has taken in a publish, and a counted call."""
    taken: list[dict[str, float]] = []
    async with open_library(Settings(home=home), starters=lambda: None) as library:
        for number in range(CHANGES):
            name = f"published_{number}"
            accepted = writing_process.accepted(name, "Tells nothing at all.")
            started = time.perf_counter()
            await library.publish(accepted, expected_version=0)
            published = time.perf_counter()
            library.calls.record(name, 1, ok=True, status="ok", seconds=0.0, sandbox="none")
            await library.settle()
            counted = time.perf_counter() - published
            taken.append({"publish_ms": 1_000 * (published - started), "call_ms": 1_000 * counted})
            await library.delete(name)
    return _medians(taken)


def _medians(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


def processes() -> frozenset[int]:
    """The numbers of this process's children; none where the system does not say."""
    return frozenset(
        int(place.name) for place in PROCESSES.glob("[0-9]*") if _stat(place)[1:2] == [str(os.getpid())]
    )


def cost_of(started: frozenset[int], what: str) -> dict[str, float]:
    """Processor seconds so far and megabytes now of these processes together, under names with the prefix `what`."""
    if not started:
        return {}
    places = [PROCESSES / str(number) for number in started]
    ticks = sum(int(ticks) for place in places for ticks in _stat(place)[11:13])
    kilobytes = sum(_proportional_kb(place) for place in places)
    return {f"{what}_cpu_s": ticks / os.sysconf("SC_CLK_TCK"), f"{what}_mb": kilobytes / 1_000}


def _stat(place: Path) -> list[str]:
    """What stands behind the process's name: state, parent, …; nothing when it is gone."""
    try:
        return (place / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def _proportional_kb(place: Path) -> int:
    """Memory, where what several processes share counts in parts."""
    lines = (place / "smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
