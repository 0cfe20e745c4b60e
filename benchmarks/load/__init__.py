"""`make bench NAME=load`: many clients that call and search, over HTTP and through the relays of one shared server.

Over HTTP a no-op server of the same SDK takes turns with ours. Everything that is started ends with it, also on Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from benchmarks.calls import timing
from benchmarks.load.crowd import Crowd, call_once, run_window
from benchmarks.load.servers import NOOP, MeasuredServer, publish, start_alita, start_noop
from benchmarks.load.shared import GOALS as SHARED_GOALS
from benchmarks.load.shared import measure_shared

GOALS = {"lost": 0, "wrong": 0, "fairness": -0.6, "cpu_ms": 3.5, "throughput_ratio": -0.3, "busy_p50_s": 0.05}
"""At most so much; negative: at least."""
TURNS = 3
WARM_S = 2.0
MOST_GROWTH = 0.05
"""Of the server's memory, from a quarter of the work to its end."""
SAMPLES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--clients", type=int, nargs="+", default=[50, 200], help="how many (default 50 200)")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="of each crowd on each server (default 60)"
    )
    parser.add_argument(
        "--shared-seconds",
        type=float,
        default=60.0,
        help="of ten clients over stdio that share a server; 0: none",
    )
    parser.add_argument("--sandbox", default="bubblewrap", help="kind of sandbox (default bubblewrap)")
    parser.add_argument(
        "--memory", type=int, nargs=2, metavar=("CALLS", "SYNTHESES"), default=[0, 0],
        help="watch the server's memory over so many, as in --memory 20000 500",
    )  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All figures: for each number of clients those of both servers; and the server's memory."""
    return anyio.run(partial(measure, options))


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One run; see `run`."""
    result: dict[str, Any] = {"sandbox": options.sandbox, "load_average": os.getloadavg()[0], "crowds": {}}
    with tempfile.TemporaryDirectory(prefix="alita-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        async with start_noop(folder) as noop, start_alita(options.sandbox, folder) as alita:
            for clients in options.clients:
                result["crowds"][str(clients)] = await _measure_crowd(clients, options.seconds, noop, alita)
            if any(options.memory):
                result["memory"] = await _measure_memory(alita, *options.memory)
        if options.shared_seconds:
            result["shared"] = await measure_shared(options.sandbox, folder, options.shared_seconds)
    met = [figures["met"] for figures in (*result["crowds"].values(), *filter(None, [result.get("shared")]))]
    result["met"] = all(met) and result.get("memory", {}).get("met", True)
    return result


async def _measure_crowd(
    clients: int, seconds: float, noop: MeasuredServer, alita: MeasuredServer
) -> dict[str, Any]:
    crowds = {NOOP: Crowd(clients), alita.name: Crowd(clients)}
    for server in (noop, alita):
        await run_window(Crowd(clients), server, min(WARM_S, seconds))
    for turn in range(TURNS):
        for server in (noop, alita):
            sys.stderr.write(f"{clients} clients, {server.name}, turn {turn + 1} of {TURNS}\n")
            await anyio.sleep(timing.SETTLE_S)
            await run_window(crowds[server.name], server, seconds / TURNS)
    ours, theirs = crowds[alita.name].figures(), crowds[NOOP].figures()
    ours["throughput_ratio"] = round(crowds[alita.name].per_second / crowds[NOOP].per_second, 3)
    met = {name: _is_met(ours[name], goal) for name, goal in GOALS.items() if ours[name] is not None}
    return {
        "alita": ours,
        "noop": theirs,
        "not_met": [name for name in met if not met[name]],
        "met": all(met.values()),
    }


def _is_met(value: float, goal: float) -> bool:
    return value <= goal if goal >= 0 else value >= -goal


async def _measure_memory(server: MeasuredServer, calls: int, syntheses: int) -> dict[str, Any]:
    """The server's resident set at equal steps of the work, and how much it grew once it was warm."""
    found: dict[str, Any] = {}

    for what, amount in (("calls", calls), ("syntheses", syntheses)):
        step = max(1, amount // SAMPLES)
        samples = []
        for start in range(0, amount, step):
            for number in range(start, start + step):
                if what == "calls":
                    await call_once(server.address)
                else:
                    await publish(server, _request(number + 1))
            samples.append(server.resident_bytes())
            sys.stderr.write(f"{what}: {start + step} of {amount}, {samples[-1] / 1e6:.1f} MB\n")
        if samples:
            growth = round(samples[-1] / samples[len(samples) // 4] - 1, 4)
            found[what] = {"amount": len(samples) * step, "growth": growth, "resident_bytes": samples}
    found["met"] = all(part["growth"] <= MOST_GROWTH for part in found.values())
    return found


def _request(number: int) -> dict[str, Any]:
    """A request for a tool that differs from all others."""
    name = f"add_and_shift_{number}"
    tests = [
        {"arguments": {"a": a, "b": b}, "expected": a + b + number}
        for a, b in ((0, 0), (1, 2), (-5, 3), (1000, 24), (2**40, 1))
    ]
    code = f"def {name}(a: int, b: int) -> int:\n    return a + b + {number}\n"
    return {"name": name, "description": f"Adds two integers and {number}.", "code": code, "tests": tests}


def table(result: dict[str, Any]) -> str:
    """The figures of both servers side by side."""
    lines = []
    for clients, figures in result["crowds"].items():
        lines.append(f"{clients + ' clients':18} {'no-op':>10} {'alita':>10}  goal")
        for name, value in figures["alita"].items():
            if name == "first_failures":
                continue
            goal = GOALS.get(name)
            sign = "" if goal is None else f"{'≤' if goal >= 0 else '≥'} {abs(goal)}"
            verdict = ", NOT met" if name in figures["not_met"] else ""
            lines.append(
                f"{name:18} {_cell(figures['noop'].get(name)):>10} {_cell(value):>10}  {sign}{verdict}"
            )
        lines += [f"  {failure}" for failure in figures["alita"]["first_failures"]] + [""]
    if shared := result.get("shared"):
        lines.append(f"{shared['clients']} clients over stdio that share {shared['servers']} server")
        for name, value in shared.items():
            goal = f"  ≤ {SHARED_GOALS[name]:g}" if name in SHARED_GOALS else ""
            if isinstance(value, int | float) and not isinstance(value, bool):
                verdict = ", NOT met" if name in shared["not_met"] else ""
                lines.append(f"{name:18} {'':>10} {_cell(value):>10}{goal}{verdict}")
        lines += [f"  {error}" for error in shared["first_errors"]] + [""]
    for what, part in result.get("memory", {}).items():
        if what != "met":
            megabytes = [round(part["resident_bytes"][place] / 1e6, 1) for place in (0, -1)]
            lines.append(f"memory over {part['amount']} {what}: {megabytes} MB, growth {part['growth']:.1%}")
    lines.append(f"{result['sandbox']}; load average before: {result['load_average']:.1f}")
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
