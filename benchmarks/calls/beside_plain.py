"""Overhead of the sandbox: work inside one against the same work in plain CPython."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import anyio.to_thread

from alita_mcp.sandbox.interface import Job, Sandbox
from benchmarks.calls import baselines, timing, work

PLAIN = "plain CPython"
WITHIN_S = 60
LOADS = {
    "loop": "a loop of 2 million steps",
    "json": "1 MB of JSON, read and written",
    "regex": "a regular expression over 1 MB",
}
"""What is computed, by the name that the program knows it by."""
PROGRAM = '''
import json, re, time

def _loop() -> int:
    total = 0
    for step in range(2_000_000):
        total += step & 7
    return total

def _json() -> int:
    rows = [{"id": number, "name": f"row {number}", "values": [number, 0.5, None, True]} for number in range(15_000)]
    return len(json.dumps(json.loads(json.dumps(rows))))

def _regex() -> int:
    text = "On 2026-11-22 ann@example.org wrote 17 lines to bob. " * 20_000
    return len(re.findall(r"[a-z]+@([a-z]+)\\.org|\\d{4}-(\\d\\d)-\\d\\d", text))

def compute(load: str) -> list:
    """What came out, and how many seconds it took."""
    work = {"loop": _loop, "json": _json, "regex": _regex}[load]
    started = time.perf_counter()
    result = work()
    return [result, time.perf_counter() - started]
'''
FROM_STDIN = f"import sys\n{PROGRAM}\nprint(json.dumps(compute(**json.load(sys.stdin))))\n"


async def measure(
    sandboxes: Mapping[str, Sandbox], rounds: int, tell: timing.Tell
) -> dict[str, dict[str, dict[str, Any]]]:
    """For each kind and each load: the seconds inside, those of plain CPython, and the ratio."""
    turns: dict[str, timing.Turn] = {}
    for load in LOADS:
        turns[f"{PLAIN} {load}"] = _plain(load)
        turns |= {f"{kind} {load}": _inside(sandbox, load) for kind, sandbox in sandboxes.items()}
    measured = await timing.interleaved(turns, rounds, tell)
    return {
        kind: {
            load: {
                "inside": measured.figures(f"{kind} {load}"),
                "plain": measured.figures(f"{PLAIN} {load}"),
                "ratio": measured.ratio(f"{kind} {load}", f"{PLAIN} {load}"),
            }
            for load in LOADS
        }
        for kind in sandboxes
    }


def _plain(load: str) -> timing.Turn:
    async def turn() -> list[float]:
        return [seconds(PLAIN, load, await anyio.to_thread.run_sync(plain_answer, load))]

    return turn


def plain_answer(load: str) -> Any:
    """The output of a fresh interpreter without a sandbox."""
    argv = [baselines.interpreter()[0], "-I", "-S", "-c", FROM_STDIN]
    words = json.dumps({"load": load}).encode()
    try:
        done = subprocess.run(argv, input=words, capture_output=True, env={}, timeout=WITHIN_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise timing.ContenderFailed(f"{PLAIN} did not end") from late
    if done.returncode:
        raise timing.ContenderFailed(f"{PLAIN} failed: {baselines.last_line(done.stderr)}")
    return work.parsed(PLAIN, done.stdout)


def _inside(sandbox: Sandbox, load: str) -> timing.Turn:
    job = Job(code=PROGRAM, function="compute", arguments={"load": load})

    async def turn() -> list[float]:
        result = await sandbox.run(job)
        if not result.ok:
            raise timing.ContenderFailed(
                f"{sandbox.kind}: {result.status} {result.error_type} {result.message}"
            )
        return [seconds(sandbox.kind, load, result.value)]

    return turn


_RIGHT = {"loop": 7_000_000, "json": 1_046_670, "regex": 40_000}


def seconds(name: str, load: str, answer: Any) -> float:
    """The seconds in an answer.

    Raises:
        ContenderFailed: what came out is wrong.
    """
    result, took = answer
    if result != _RIGHT[load]:
        raise timing.ContenderFailed(f"{name} answered {result!r} to {load}")
    return float(took)
