"""Servers that are killed, a PostgreSQL that crashes, newcomers and newer versions: nothing acknowledged is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
import anyio.to_thread
import httpx
import pytest

from benchmarks.team.crowd import Crowd
from benchmarks.team.proof import find_lost, publish_first
from tests.postgres_cluster import PostgresServer
from tests.team.replicas import Replica, Team

pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.extra("team")]
PATIENCE_S = 240


@asynccontextmanager
async def at_work(team: Team, **kinds: int) -> AsyncIterator[Crowd]:
    """Clients behind the balancer; when the block ends they finish, and all that they were told must be true."""
    crowd = Crowd(team.address)
    with anyio.fail_after(PATIENCE_S):
        await publish_first(crowd)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(crowd.run, **kinds))
            yield crowd
            crowd.is_over = True
        assert crowd.wrong == []
        assert await find_lost(team.replicas, crowd) == []


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - work of other processes
        await anyio.sleep(0.05)


def further(crowd: Crowd, **least: int) -> Callable[[], bool]:
    """Whether so many more operations of each kind are done than at this moment."""
    before = crowd.done.copy()
    return lambda: all(crowd.done[kind] - before[kind] >= count for kind, count in least.items())


async def start(replica: Replica) -> None:
    replica.start()
    await anyio.to_thread.run_sync(replica.wait_until_served)


async def wait_for_status(client: httpx.AsyncClient, url: str, status: int) -> bool:
    while (await client.get(url, timeout=60)).status_code != status:  # noqa: ASYNC110 - another process
        await anyio.sleep(0.05)
    return True


async def test_a_killed_server_loses_nothing_that_was_acknowledged(team: Team) -> None:
    async with at_work(team, callers=4, makers=2) as crowd:
        await until(further(crowd, call_or_search=20, make=2))
        team.replicas[0].kill()
        await until(further(crowd, call_or_search=40, make=3))
        await start(team.replicas[0])
        await until(further(crowd, call_or_search=20, make=1))
    assert crowd.refused == []
    assert len(crowd.broken) <= 6, "only what was under way there"


async def test_while_postgresql_is_away_calls_go_on_and_nothing_is_half_done(
    team: Team, postgres_server: PostgresServer
) -> None:
    async with at_work(team, callers=4, makers=2) as crowd, httpx.AsyncClient() as client:
        ready = team.replicas[1].url.replace("/mcp", "/readyz")
        await until(further(crowd, make=2))
        assert await wait_for_status(client, ready, 200)
        await anyio.to_thread.run_sync(postgres_server.stop, "immediate")
        try:
            refused = len(crowd.refused)
            await until(further(crowd, call_or_search=60))
            await until(lambda: len(crowd.refused) > refused)
            assert await wait_for_status(client, ready, 503)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(postgres_server.start)
        await until(further(crowd, make=3))
        assert await wait_for_status(client, ready, 200)
    assert crowd.broken == []
    assert {"cannot be reached" in text for _, text in crowd.refused} == {True}


async def test_a_server_with_an_empty_home_joins(team: Team) -> None:
    async with at_work(team, callers=2, makers=1) as crowd:
        await until(further(crowd, make=1))
        newcomer = team.add()
        await anyio.to_thread.run_sync(newcomer.wait_until_served)
        await until(further(crowd, make=2))
    newcomer.stop()
    team.replicas.remove(newcomer)


async def test_a_newer_schema_stops_newcomers_of_an_older_version_alone(
    team: Team, postgres_server: PostgresServer
) -> None:
    async with at_work(team, callers=2) as crowd:
        newer = "INSERT INTO alita.migration (number, readable_from) VALUES (9000, 9000)"
        postgres_server.execute(newer, team.library)
        await until(further(crowd, call_or_search=20))
        older = team.add()
        await until(lambda: "Upgrade alita-mcp-server" in older.said())
        older.stop()
        team.replicas.remove(older)
        postgres_server.execute("DELETE FROM alita.migration WHERE number = 9000", team.library)
