"""Jobs of three real servers: one synthesis for all who ask, and one that outlives the server that did it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.postgres_cluster import PostgresServer
from tests.server.connections import Connection, request_for
from tests.team.replicas import Team, running_team
from tests.team.test_replicas import clients_of

pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.extra("team")]


def slow(name: str) -> dict[str, object]:
    """A request whose examples take their time."""
    made = request_for(name)
    work = "    total = 0\n    for turn in range(6_000_000):\n        total += turn\n    if not text:"
    return {**made, "code": str(made["code"]).replace("    if not text:", work)}


async def ended(client: Connection, **arguments: object) -> dict[str, object]:
    answer = await client.make(arguments)
    while answer["status"] == "working":
        answer = await client.make({"job_id": answer["job_id"]})
    return answer


async def test_three_who_ask_for_the_same_get_one_tool(team: Team) -> None:
    answers: list[dict[str, object]] = []

    async def ask(client: Connection) -> None:
        answers.append(await ended(client, **request_for("asked_thrice")))

    urls = [each.url for each in team.replicas]
    async with clients_of(urls, "modern") as clients, anyio.create_task_group() as askers:
        for client in clients:
            askers.start_soon(ask, client)
    assert [answer["status"] for answer in answers] == ["created"] * 3


async def test_what_a_killed_server_was_making_is_made_once_by_another(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.make_database()
    with running_team(tmp_path / "team", url, 1) as team:
        (first,) = team.replicas
        second = team.add()
        await anyio.to_thread.run_sync(second.wait_until_served)
        second.kill()
        request = slow("outlives_a_kill")
        async with anyio.create_task_group() as doomed:

            async def ask_first() -> None:
                with suppress(Exception):  # the server is killed under it
                    async with clients_of([first.url], "modern") as (client,):
                        await client.make(request)

            doomed.start_soon(ask_first)
            with anyio.fail_after(60):
                while not postgres_server.execute("SELECT id FROM alita.job WHERE attempt = 1", url):  # noqa: ASYNC110
                    await anyio.sleep(0.05)
            first.kill()
            doomed.cancel_scope.cancel()
        second.start()
        await anyio.to_thread.run_sync(second.wait_until_served)
        async with clients_of([second.url], "modern") as (client,):
            answer = await ended(client, **request)
        jobs = postgres_server.execute("SELECT attempt, failure FROM alita.job", url)
        published = postgres_server.execute(
            "SELECT count(*) FROM alita.journal WHERE name = 'outlives_a_kill' AND event = 'published'", url
        )
    assert answer["status"] == "created", answer
    assert (jobs, published) == ([(2, None)], [(1,)])
