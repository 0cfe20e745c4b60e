"""A crowd at work while servers are killed and PostgreSQL restarts, and the count of what was lost or done twice."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from benchmarks.calls import timing
from benchmarks.load.client import Lost, connect
from benchmarks.team import author
from benchmarks.team.crowd import Crowd, Refused
from tests.postgres_cluster import PostgresServer
from tests.server.connections import client_of
from tests.team.replicas import Replica, Team

AWAY_S = 5.0
"""How long a killed server and PostgreSQL are away."""
SETTLED_S = 15.0
"""How long after a fault began its consequences may be seen by clients."""
MAKE_WITHIN_S = 120.0
SHOWN = 5


async def prove(
    team: Team, postgres: PostgresServer, model: author.Author, options: argparse.Namespace
) -> dict[str, Any]:
    """So many clients for so long, with three faults under way; see `count_losses` for what is looked for."""
    crowd, faults = Crowd(team.address, pause_s=options.pause), list[tuple[float, str]]()
    seconds, clients = options.seconds, options.clients
    seen: dict[tuple[int, str], float] = {}
    makers, askers, solvers = max(2, clients // 40), max(1, clients // 100), max(1, clients // 50)
    await publish_first(Crowd(team.replicas[0].address, published=crowd.published))
    async with anyio.create_task_group() as watching:
        for number, replica in enumerate(team.replicas):
            watching.start_soon(_watch, replica, number, seen)
        async with anyio.create_task_group() as working:
            callers = clients - makers - askers - solvers
            working.start_soon(
                partial(crowd.run, callers=callers, makers=makers, askers=askers, solvers=solvers)
            )
            await anyio.sleep(seconds / 5)
            await _kill(team.replicas[0], faults)
            await anyio.sleep(seconds / 5)
            await _restart_postgres(postgres, faults)
            await anyio.sleep(seconds / 5)
            await _kill(team.replicas[1], faults)
            await anyio.sleep(max(0.0, seconds * 2 / 5 - 3 * AWAY_S))
            crowd.is_over = True
            working.cancel_scope.deadline = anyio.current_time() + MAKE_WITHIN_S
        await anyio.sleep(1)
        watching.cancel_scope.cancel()
    return await count_losses(team, crowd, faults, seen, model)


async def publish_first(crowd: Crowd) -> None:
    """A tool for those who call before anybody made one."""
    with anyio.fail_after(MAKE_WITHIN_S):
        while not crowd.published and not crowd.wrong:
            with suppress(Lost):  # the balancer does not know its servers yet
                async with connect(crowd.address) as client:
                    await crowd.make(client, 1)
    if crowd.wrong:
        raise timing.ContenderFailed(crowd.wrong[0])


async def _kill(replica: Replica, faults: list[tuple[float, str]]) -> None:
    sys.stderr.write(f"kill -9 of {replica.pid}\n")
    faults.append((time.monotonic(), "kill"))
    replica.kill()
    await anyio.sleep(AWAY_S)
    replica.start()
    await anyio.to_thread.run_sync(replica.wait_until_served)


async def _restart_postgres(postgres: PostgresServer, faults: list[tuple[float, str]]) -> None:
    sys.stderr.write("PostgreSQL crashes and starts again\n")
    faults.append((time.monotonic(), "postgres"))
    await anyio.to_thread.run_sync(postgres.stop, "immediate")
    await anyio.sleep(AWAY_S)
    await anyio.to_thread.run_sync(postgres.start)


async def _watch(replica: Replica, number: int, seen: dict[tuple[int, str], float]) -> None:
    """Lists the tools of one server whenever it tells of a change; notes when each was there first."""
    while True:
        try:
            async with client_of(replica.url, "modern") as client:
                while True:
                    for tool in await client.tools():
                        seen.setdefault((number, tool.name), time.monotonic())
                    await client.told()
        except Exception:  # noqa: BLE001 - the server was killed; whatever the client raises then
            await anyio.sleep(0.5)


async def count_losses(
    team: Team,
    crowd: Crowd,
    faults: list[tuple[float, str]],
    seen: dict[tuple[int, str], float],
    model: author.Author,
) -> dict[str, Any]:
    """What was acknowledged and is not there, is there twice, or broke where nothing was the matter."""
    lost = await find_lost(team.replicas, crowd)

    def is_calm(at: float) -> bool:
        return all(not fault <= at <= fault + SETTLED_S for fault, _ in faults)

    delays = [
        max(0.0, max(times) - at)
        for number, at in crowd.published.items()
        if is_calm(at)
        and len(times := _times(seen, author.tool_name(number), len(team.replicas))) == len(team.replicas)
    ]
    unexpected = [
        f"{at - faults[0][0]:.1f} s after the first fault: {text}"
        for at, text in (*crowd.broken, *crowd.refused)
        if is_calm(at)
    ]
    began_again = [key for key, count in model.asked.items() if key[0] == "spec" and count > 1]
    return {
        "done": dict(crowd.done),
        "published": len(crowd.published),
        "jobs": len(crowd.jobs),
        "lost": len(lost),
        "wrong": len(crowd.wrong),
        "broken_by_faults": len(crowd.broken) + len(crowd.refused) - len(unexpected),
        "broken_without_fault": len(unexpected),
        "begun_again": len(began_again),
        "listed_elsewhere": len(delays),
        "listed_elsewhere_p95_s": round(timing.quantile(delays, 0.95), 3) if delays else None,
        "call_p50_s": round(timing.quantile(crowd.seconds["call_or_search"], 0.5), 4),
        "call_p99_s": round(timing.quantile(crowd.seconds["call_or_search"], 0.99), 4),
        "first_lost": lost[:SHOWN],
        "first_wrong": crowd.wrong[:SHOWN],
        "first_broken": [text[:200] for text in unexpected[:SHOWN]],
        "refusals": sorted({text.partition(":")[2][:200] for _, text in crowd.refused})[:SHOWN],
    }


async def find_lost(replicas: Sequence[Replica], crowd: Crowd) -> list[str]:
    """What was acknowledged to a crowd and is not so on each of the servers."""
    lost: list[str] = []
    for replica in replicas:
        for number in crowd.published:
            await _check(replica, number, lost)
    finished = crowd.published.keys() | crowd.solved.keys()
    return lost + [f"job {job} of {number}" for job, number in crowd.jobs.items() if number not in finished]


def _times(seen: dict[tuple[int, str], float], name: str, count: int) -> list[float]:
    return [seen[number, name] for number in range(count) if (number, name) in seen]


async def _check(replica: Replica, number: int, lost: list[str]) -> None:
    """A tool that was acknowledged is there once, with its one version, and is right."""
    name = author.tool_name(number)
    asking = Crowd(replica.address)
    try:
        async with connect(replica.address) as client:
            told = await asking.answer(client, name, {"a": 1, "b": 2})
            card = await asking.answer(client, "inspect_tool", {"name": name})
    except (Lost, Refused) as failed:
        lost.append(f"{name} at {replica.port}: {failed}")
        return
    if told.get("result") != 3 + number or card["manifest"]["version"] != 1:
        lost.append(f"{name} at {replica.port}: {told}, version {card['manifest']['version']}")
