"""`make bench NAME=team`: servers of one library on a real PostgreSQL behind a real haproxy.

What many clients were told stays true while servers are killed and PostgreSQL restarts; and what more servers bring.
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
from benchmarks.team import author, capacity
from benchmarks.team.proof import prove
from benchmarks.team.service import measure_service
from tests.postgres_cluster import find_programs, running_postgres
from tests.team.replicas import running_team

GOALS = {"lost": 0, "wrong": 0, "broken_without_fault": 0, "listed_elsewhere_p95_s": 0.3}
"""At most so much."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--clients", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the proof (default 120; 0: none)")
    parser.add_argument(
        "--pause", type=float, default=4.0, help="seconds between two operations of a client (default 4)"
    )
    parser.add_argument("--replicas", type=int, default=3, help="how many servers (default 3)")
    parser.add_argument("--sandbox", default="bubblewrap", help="kind of sandbox (default bubblewrap)")
    parser.add_argument(
        "--service-seconds",
        type=float,
        default=20.0,
        help="of each window of throughput (default 20; 0: none)",
    )
    parser.add_argument(
        "--tools", type=int, default=0, help="in the library whose throughput is measured (default 0)"
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The proof, the throughput of several servers against one, and the model of a large team."""
    return anyio.run(partial(measure, options))


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One run; see `run`.

    Raises:
        ContenderFailed: there is no PostgreSQL, or no tool could be made.
    """
    programs = find_programs()
    if programs is None:
        raise timing.ContenderFailed("there is no PostgreSQL (Debian: apt-get install postgresql haproxy)")
    result: dict[str, Any] = {
        "sandbox": options.sandbox, "replicas": options.replicas, "clients": options.clients,
        "processors": len(os.sched_getaffinity(0)), "load_average": os.getloadavg()[0],
    }  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="alita-bench-", ignore_cleanup_errors=True) as name,
        running_postgres(programs) as postgres,
        author.running_author() as (url, model),
    ):
        settings = {
            "sandbox": options.sandbox, "model": "openai/scripted", "model_base_url": url, "memory": "false",
            "policy": "ask", "promoted": "100",
        }  # fmt: skip
        if options.seconds:
            folder = Path(name, "proof")
            with running_team(folder, postgres.make_database(), options.replicas, **settings) as team:
                result["proof"] = await prove(team, postgres, model, options)
        if options.service_seconds:
            result["service"] = await measure_service(
                Path(name), postgres, options.replicas, options.service_seconds, options.tools, settings
            )
            demands = capacity.Demands(**result["service"]["demands"])
            large = capacity.Extent(tools=options.tools, clients=1_000, replicas=50)
            result["capacity"] = capacity.estimate(large, demands)
    found = result.get("proof", {})
    result["not_met"] = [
        name for name, most in GOALS.items() if found and (found[name] is None or found[name] > most)
    ]
    result["met"] = not result["not_met"]
    sys.stderr.write("done\n")
    return result


def table(result: dict[str, Any]) -> str:
    """The figures, one a line."""
    what = f"{result['replicas']} servers, {result['clients']} clients, {result['sandbox']}"
    lines = [f"{what}, {result['processors']} processors; load average before: {result['load_average']:.1f}"]
    for part in ("proof", "service", "capacity"):
        for name, value in result.get(part, {}).items():
            goal = f"  ≤ {GOALS[name]:g}" if name in GOALS else ""
            verdict = ", NOT met" if name in result["not_met"] else ""
            if not isinstance(value, list):
                lines.append(f"{part:9} {name:24} {value}{goal}{verdict}")
            lines += [f"{part:9} {name:24} {line}" for line in value] if isinstance(value, list) else []
    return "\n".join(lines)
