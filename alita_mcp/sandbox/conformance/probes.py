"""Probes of a sandbox: programs that try what no tool may do. The outcome is a report, never an exception."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Job, Probe, ProbeReport, RunResult
from alita_mcp.values import Limits

_MEMORY = 96 << 20
_PROCESSES = 24
_ATTEMPTS = """
import os, socket

def attempts(home, secret, address):
    def outcome(action):
        try:
            action()
            return "done"
        except Exception as refused:
            return type(refused).__name__
    def connect(where):
        with socket.create_connection(tuple(where), timeout=1):
            pass
    with open("/proc/net/dev") as file:
        interfaces = sorted(line.split(":")[0].strip() for line in file if ":" in line)
    with open("/proc/self/status") as file:
        capabilities = [line.split()[1] for line in file if line.startswith("Cap")]
    listing = []
    try:
        listing = [name for name in os.listdir(home) if os.path.isfile(os.path.join(home, name))]
    except OSError:
        pass
    return {
        "connects": [outcome(lambda: connect(where)) for where in (address, ["192.0.2.1", 443])],
        "interfaces": interfaces,
        "reads": outcome(lambda: open(secret).read()),
        "home": listing,
        "writes": [outcome(lambda: open(folder + "/probe", "w")) for folder in ("/", "/usr", "/etc", "/dev")],
        "capabilities": capabilities,
        "uid": os.getuid(),
    }
"""
_GREEDY = "def probe():\n    held = []\n    while True:\n        held.append(bytearray(b'x') * (4 << 20))\n"
_SLOW = "import time\ndef probe():\n    time.sleep(600)\n"
_FORKS = """
import os, time

def forks():
    children = 0
    try:
        while children < 1000:
            if os.fork() == 0:
                time.sleep(600)
            children += 1
    except OSError:
        pass
    return children
"""


class Runs(Protocol):
    """Part of a sandbox that a probe needs."""

    async def run(self, job: Job) -> RunResult:
        """Runs one call."""
        ...


async def probe_isolation(sandbox: Runs, kind: str, hint: str) -> ProbeReport:
    """Runs all probes at once, after one that shows that the sandbox starts at all."""
    try:
        answer = await sandbox.run(Job(code="def two():\n    return 1 + 1\n", function="two", arguments={}))
    except SandboxError as problem:
        failed = Probe(name="starts", passed=False, detail=str(problem))
        return ProbeReport(kind=kind, probes=(failed,), hint=problem.hint or hint)
    starts = Probe(name="starts", passed=answer.value == 2, detail=answer.message)
    probes: dict[int, tuple[Probe, ...]] = {}

    async def take(place: int, attempt: Callable[[Runs], Awaitable[tuple[Probe, ...]]]) -> None:
        try:
            probes[place] = await attempt(sandbox)
        except SandboxError as problem:
            probes[place] = (Probe(name=attempt.__name__.strip("_"), passed=False, detail=str(problem)),)

    async with anyio.create_task_group() as tasks:
        for place, attempt in enumerate((_break_out, _memory_cap, _time_cap, _process_cap)):
            tasks.start_soon(take, place, attempt)
    report = ProbeReport(
        kind=kind, probes=(starts, *(probe for place in sorted(probes) for probe in probes[place]))
    )
    return report if report.isolates else report.model_copy(update={"hint": hint})


async def _break_out(sandbox: Runs) -> tuple[Probe, ...]:
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.NamedTemporaryFile("w") as secret:
        secret.write("secret")
        secret.flush()
        arguments = {
            "home": str(Path.home()),
            "secret": secret.name,
            "address": list(server.getsockname()),
        }
        limits = Limits(wall_seconds=20)
        job = Job(code=_ATTEMPTS, function="attempts", arguments=arguments, limits=limits)
        answer = await sandbox.run(job)
    if not answer.ok:
        return (Probe(name="attempts", passed=False, detail=f"{answer.status}: {answer.message}"),)
    found = answer.value
    return (
        Probe(
            name="network refused",
            passed="done" not in found["connects"] and set(found["interfaces"]) <= {"lo"},
            detail=f"connecting: {', '.join(found['connects'])}; interfaces: {', '.join(found['interfaces'])}",
        ),
        Probe(
            name="home unreadable", passed=not found["home"], detail=f"{len(found['home'])} files seen in it"
        ),
        Probe(name="host files unreadable", passed=found["reads"] != "done", detail=found["reads"]),
        Probe(
            name="root file system read-only",
            passed="done" not in found["writes"],
            detail=", ".join(found["writes"]),
        ),
        Probe(
            name="no capabilities",
            passed=found["uid"] != 0 and all(set(held) == {"0"} for held in found["capabilities"]),
            detail=f"uid {found['uid']}",
        ),
    )


async def _memory_cap(sandbox: Runs) -> tuple[Probe, ...]:
    limits = Limits(wall_seconds=20, memory_bytes=_MEMORY)
    return await _expect(sandbox, "memory cap bites", "memory", _GREEDY, limits)


async def _time_cap(sandbox: Runs) -> tuple[Probe, ...]:
    return await _expect(sandbox, "time cap bites", "timeout", _SLOW, Limits(wall_seconds=0.5))


async def _process_cap(sandbox: Runs) -> tuple[Probe, ...]:
    limits = Limits(wall_seconds=20, processes=_PROCESSES)
    answer = await sandbox.run(Job(code=_FORKS, function="forks", arguments={}, limits=limits))
    count = answer.value if answer.ok else f"{answer.status}: {answer.message}"
    passed = answer.ok and isinstance(answer.value, int) and answer.value < _PROCESSES
    return (Probe(name="process cap bites", passed=passed, detail=f"{count} of {_PROCESSES} processes"),)


async def _expect(sandbox: Runs, name: str, status: str, code: str, limits: Limits) -> tuple[Probe, ...]:
    answer = await sandbox.run(Job(code=code, function="probe", arguments={}, limits=limits))
    return (Probe(name=name, passed=answer.status == status, detail=answer.message or answer.status),)
