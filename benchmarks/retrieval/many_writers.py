"""Concurrent writers of one library, as `writing_process` does, and a check of it afterwards."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio

from alita_mcp.library.catalogue.search_tables import read_documents
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings

WITHIN_S = 900.0


async def measure(processes: int, rounds: int) -> dict[str, float]:
    """Tools written, tools whose search rows are wrong, tools and updates that are lost, and seconds."""
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder, anyio.fail_after(WITHIN_S):
        home = Path(folder) / "home"
        started = time.perf_counter()
        await anyio.to_thread.run_sync(let_write, home, processes, rounds)
        seconds = time.perf_counter() - started
        return {**await inspected(home, processes, rounds), "seconds": seconds}


async def inspected(home: Path, processes: int, rounds: int) -> dict[str, float]:
    """Sizes and faults of a library after so many processes wrote it."""
    astray = await anyio.to_thread.run_sync(_astray, home)
    wanted = [f"own_{number}_{at}" for number in range(processes) for at in range(rounds)]
    wanted += [f"wanted_by_all_{at}" for at in range(rounds)]
    async with open_library(Settings(home=home), starters=lambda: None) as library:
        lost = await _lost(library, wanted)
        uses = library.entry("shared_by_all").calls
    return {
        "processes": processes,
        "tools": len(wanted) + 1,
        "astray": astray,
        "lost_tools": len(lost),
        "lost_updates": processes * rounds - uses,
    }


def let_write(home: Path, processes: int, rounds: int) -> None:
    """Starts them, lets all go at the same time, and waits for their ends."""
    program = [sys.executable, "-m", "benchmarks.retrieval.writing_process", str(home), str(rounds)]
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # noqa: TID251 - as ours
    running = [
        subprocess.Popen(
            [*program, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        for number in range(processes)
    ]
    try:
        for process in running:
            if process.stdout:
                process.stdout.readline()
        for process in running:
            if process.stdin:
                process.stdin.close()
        statuses = [process.wait(WITHIN_S) for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
    if any(statuses):
        raise RuntimeError(f"Writers failed, with the statuses {statuses}.")


def _astray(home: Path) -> int:
    """Tools that the search tables do not hold as the catalogue does, or hold although it does not."""
    with closing(sqlite3.connect(home / "library.sqlite3")) as db:
        names = [name for (name,) in db.execute("SELECT name FROM tool")]
        wanted = {name: document.hash for name, document in read_documents(db, names).items()}
        return len({name for name, _ in wanted.items() ^ set(db.execute("SELECT name, hash FROM document"))})


async def _lost(library: Library, wanted: Sequence[str]) -> list[str]:
    """Tools that are not there, or not found exactly once, or without their other words."""
    known = {entry.name: entry for entry in library.tools.entries()}
    lost = []
    for name in wanted:
        found = Counter(hit.name for hit in (await library.search(f"sheep of {name}", 20)).results)
        worded = not name.startswith("own") or (name in known and f"lamb {name}" in known[name].wordings)
        if found[name] != 1 or not worded:
            lost.append(name)
    return lost
