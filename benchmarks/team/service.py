"""Throughput of several servers against one, and what calls and publications cost each part of a team."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil

from benchmarks.calls import timing
from benchmarks.load.client import connect
from benchmarks.load.servers import MeasuredServer
from benchmarks.team import author
from benchmarks.team.crowd import Crowd
from benchmarks.team.proof import publish_first
from tests.postgres_cluster import PostgresServer
from tests.team.replicas import Team, running_team

CALLERS = 32
MAKERS = 4
TURNS = 3
HOLDERS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
SAMPLE_S = 0.02
WARM_S = 2.0
FILLED_WITHIN_S = 900.0
FILL = """
SET search_path = alita;
BEGIN;
CREATE TEMP TABLE filler ON COMMIT DROP AS
    SELECT 'filler_' || n AS name, n FROM generate_series(1, {count}) AS n;
INSERT INTO tool (name, current, created_at) SELECT f.name, 1, t.created_at FROM filler f, tool t
    WHERE t.name = '{first}';
INSERT INTO version (name, version, manifest, digest, seal)
    SELECT f.name, 1, replace(replace(v.manifest, v.name, f.name), 'number 1', 'number ' || f.n), v.digest, v.seal
    FROM filler f, version v WHERE v.name = '{first}';
INSERT INTO evidence (name, version, sandbox, recorded_at, lock)
    SELECT f.name, 1, e.sandbox, e.recorded_at, e.lock FROM filler f, evidence e
    WHERE e.name = '{first}';
INSERT INTO changed (name) SELECT name FROM filler;
SELECT pg_notify('alita_library', '');
COMMIT
"""
"""Copies of one tool of a library, under other names."""


@dataclass
class Window:
    """What was done, and the processor time that it took in each part."""

    done: int = 0
    seconds: float = 0.0
    replica_cpu_s: float = 0.0
    postgres_cpu_s: float = 0.0
    locked: list[bool] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Operations per second."""
        return self.done / self.seconds


async def measure_service(
    folder: Path,
    postgres: PostgresServer,
    replicas: int,
    seconds: float,
    tools: int,
    settings: dict[str, str],
) -> dict[str, Any]:
    """One server and several in turns, of libraries with so many tools: first they are called, then they make tools."""
    windows = {(kind, count): Window() for kind in ("calls", "tools") for count in (1, replicas)}
    with ExitStack() as stack:
        teams = {}
        for count in (1, replicas):
            url = postgres.make_database()
            teams[count] = stack.enter_context(running_team(folder / f"team-{count}", url, count, **settings))
            await publish_first(Crowd(teams[count].address))
            if tools:
                await _fill(teams[count], postgres, tools)
        for turn in range(TURNS):
            for (kind, count), window in windows.items():
                sys.stderr.write(f"{kind}, {count} servers, turn {turn + 1} of {TURNS}\n")
                await _measure_window(window, kind, teams[count], postgres, seconds / TURNS, turn)
    one, several = windows["calls", 1], windows["calls", replicas]
    made, shared = windows["tools", 1], windows["tools", replicas]
    demands = {
        "call_replica_s": several.replica_cpu_s / several.done,
        "call_postgres_s": several.postgres_cpu_s / several.done,
        "tool_replica_s": made.replica_cpu_s / made.done,
        "tool_postgres_s": made.postgres_cpu_s / made.done,
        "pull_postgres_s": _extra(
            shared.postgres_cpu_s / shared.done, made.postgres_cpu_s / made.done, replicas
        ),
        "pull_replica_s": _extra(
            shared.replica_cpu_s / shared.done, made.replica_cpu_s / made.done, replicas
        ),
        "lock_s": sum(shared.locked) / len(shared.locked) * shared.seconds / shared.done,
    }
    return {
        "calls_per_second": {count: round(windows["calls", count].per_second, 1) for count in (1, replicas)},
        "throughput_ratio": round(several.per_second / one.per_second, 2),
        "tools_per_second": {count: round(windows["tools", count].per_second, 2) for count in (1, replicas)},
        "demands": {name: round(value, 6) for name, value in demands.items()},
    }


def _extra(shared_s: float, alone_s: float, replicas: int) -> float:
    """What each of the other servers adds to the cost of a tool."""
    return max(0.0, shared_s - alone_s) / max(1, replicas - 1)


async def _fill(team: Team, postgres: PostgresServer, tools: int) -> None:
    """Adds so many tools to a library; returns when each server finds the last of them."""
    sys.stderr.write(f"{tools} tools for {len(team.replicas)} servers\n")
    await anyio.to_thread.run_sync(
        postgres.execute, FILL.format(count=tools, first=author.tool_name(1)), team.library
    )
    watch = timing.Stopwatch()
    with anyio.fail_after(FILLED_WITHIN_S):
        for replica in team.replicas:
            asking = Crowd(replica.address)
            while True:
                async with connect(replica.address) as client:
                    words = {"query": f"Adds two integers and the number {tools}."}
                    found = await asking.answer(client, "search_capabilities", words)
                if f"filler_{tools}" in str(found):
                    break
                await anyio.sleep(0.5)
    sys.stderr.write(f"found on all of them after {watch.seconds:.1f} s\n")


async def _measure_window(
    window: Window, kind: str, team: Team, postgres: PostgresServer, seconds: float, turn: int
) -> None:
    crowd = Crowd(team.address, first=1_000 + 100_000 * turn)
    crowd.published[1] = 0.0
    callers, makers = (CALLERS, 0) if kind == "calls" else (0, MAKERS)
    servers = [MeasuredServer("alita", each.address, psutil.Process(each.pid)) for each in team.replicas]
    database = MeasuredServer("postgres", team.address, psutil.Process(postgres.pid))
    async with anyio.create_task_group() as watching:
        async with anyio.create_task_group() as working:
            working.start_soon(partial(crowd.run, callers=callers, makers=makers))
            await anyio.sleep(WARM_S)
            watching.start_soon(_sample, window, postgres, team.library)
            done, watch = crowd.done.total(), timing.Stopwatch()
            used = sum(each.cpu_seconds() for each in servers), database.cpu_seconds()
            while watch.seconds < seconds or crowd.done.total() == done:
                await anyio.sleep(0.5)
                now = sum(each.cpu_seconds() for each in servers), database.cpu_seconds()
            window.done += crowd.done.total() - done
            window.seconds += watch.seconds
            window.replica_cpu_s += now[0] - used[0]
            window.postgres_cpu_s += now[1] - used[1]
            crowd.is_over = True
        watching.cancel_scope.cancel()
    if crowd.wrong or crowd.broken or crowd.refused:
        raise timing.ContenderFailed(f"{kind}: {[*crowd.wrong, *crowd.broken, *crowd.refused][0]}")


async def _sample(window: Window, postgres: PostgresServer, url: str) -> None:
    """Asks again and again whether a writer holds the lock."""
    with postgres.connect(url) as connection:
        while True:
            (count,) = await anyio.to_thread.run_sync(lambda: connection.execute(HOLDERS).fetchone())
            window.locked.append(count > 0)
            await anyio.sleep(SAMPLE_S)
