"""Break-out attempts for the embedded sandbox, each a job whose result tells whether the sandbox held."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job, Probe, ProbeReport, RunResult
from alita_mcp.values import Limits

HINT = "pip install --force-reinstall wasmtime alita-mcp-server"
Run = Callable[[Job], Awaitable[RunResult]]
Judge = Callable[[RunResult], bool]

_STARTS = "def probe():\n    return 6 * 7\n"
_NETWORK = """
import asyncio, os, socket, subprocess

def probe():
    found = []
    for attempt in (
        lambda: socket.create_connection(("127.0.0.1", 9), 1),
        lambda: socket.socket().bind(("127.0.0.1", 0)),
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: asyncio.run(asyncio.open_connection("127.0.0.1", 9)),
        lambda: subprocess.run(["true"]),
        lambda: os.system("true"),
    ):
        try:
            found.append(str(attempt()))
        except ConnectionError as reached:
            found.append(str(reached))
        except (OSError, AttributeError, RuntimeError):
            pass
    return found
"""
_FILES = """
import os
from pathlib import Path

def probe(path, folder):
    found = []
    for attempt, place in (
        (lambda place: [open(place).read(1)], path),
        (lambda place: [Path(place).read_text()], path),
        *((lambda at: set(os.listdir(at)) - {"dev", "tmp", "null"}, place) for place in (folder, "/", "/tmp", "/dev")),
        (lambda place: open(place, "w").write("x") and ["written"], path + ".probe"),
    ):
        try:
            found += attempt(place)
        except OSError:
            pass
    return found
"""
_ENVIRONMENT = """
import os

def probe():
    return [dict(os.environ), os.getenv("PATH"), os.getenv("HOME")]
"""
_MEMORY = """
def probe():
    hoard = []
    while True:
        hoard.append("x" * 1000000)
"""
_TIME = "def probe():\n    while True:\n        pass\n"
_OUTPUT = "def probe():\n    while True:\n        print('x' * 1000)\n"
_SMALL = Limits(wall_seconds=5, cpu_seconds=5, memory_bytes=16 << 20, output_bytes=1_000)
_SHORT = Limits(wall_seconds=0.2, cpu_seconds=0.2)


async def probe_report(kind: str, run: Run) -> ProbeReport:
    """Runs every attempt; one that cannot be run at all counts as not held."""
    here = {"path": __file__, "folder": str(Path(__file__).parent)}
    attempts: list[tuple[str, str, dict[str, Any], Limits, Judge]] = [
        ("starts", _STARTS, {}, Limits(), lambda result: result.value == 42),
        ("network refused", _NETWORK, {}, Limits(), lambda result: result.ok and result.value == []),
        ("files unreadable", _FILES, here, Limits(), lambda result: result.ok and result.value == []),
        ("environment hidden", _ENVIRONMENT, {}, Limits(), lambda result: result.value == [{}, None, None]),
        ("memory cap bites", _MEMORY, {}, _SMALL, lambda result: result.status == "memory"),
        ("time cap bites", _TIME, {}, _SHORT, lambda result: result.status == "timeout"),
        ("output cap bites", _OUTPUT, {}, _SMALL, lambda result: result.status == "output_flood"),
    ]
    probes = []
    for name, code, arguments, limits, held in attempts:
        job = Job(code=code, function="probe", arguments=arguments, limits=limits)
        probes.append(await _attempt(name, run, job, held))
        if not probes[0].passed:
            break
    works = all(probe.passed for probe in probes)
    return ProbeReport(kind=kind, probes=tuple(probes), hint="" if works else HINT)


async def _attempt(name: str, run: Run, job: Job, held: Judge) -> Probe:
    try:
        result = await run(job)
    except (SandboxError, ImportError) as problem:  # ImportError: the package is broken or was removed
        return Probe(name=name, passed=False, detail=str(problem))
    if held(result):
        return Probe(name=name, passed=True)
    return Probe(name=name, passed=False, detail=f"{result.status}: {result.message or result.value!r}")
