"""Any replica serves any request: what one publishes, another lists, finds and calls at once, in both eras."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.server.connections import Connection, client_of, request_for
from tests.team.balancers import running_nginx
from tests.team.replicas import Team

pytestmark = [pytest.mark.postgres, pytest.mark.process, pytest.mark.extra("team")]
ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])
_marks = itertools.count(1)


@asynccontextmanager
async def clients_of(urls: list[str], era: str) -> AsyncIterator[list[Connection]]:
    """A client for each of the URLs; a failure is shown without the groups of their tasks."""
    try:
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(client_of(url, era)) for url in urls]
    except BaseExceptionGroup as group:
        failure: BaseException = group
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        raise failure from None


async def publish(client: Connection) -> tuple[str, str]:
    """Makes a tool like no other; returns its name and what it makes of `hey`."""
    number = next(_marks)
    name, mark = f"shout_{number}", f" no. {number}"
    answer = await client.make(request_for(name, mark))
    while answer["status"] == "working":
        answer = await client.make({"job_id": answer["job_id"]})
    assert answer["status"] == "created", answer
    return name, f"HEY{mark}"


async def shout(client: Connection, name: str) -> str:
    answer = await client.client.call_tool(name, {"text": "hey"})
    assert answer.structured_content is not None, answer
    return str(answer.structured_content["result"])


async def find(client: Connection, words: str) -> list[str]:
    """Names of the tools that a search finds."""
    answer = await client.client.call_tool("search_capabilities", {"query": words})
    assert answer.structured_content is not None, answer
    return [row["name"] for row in answer.structured_content["results"]]


@ERAS
async def test_what_one_publishes_others_call_list_and_find_at_once(team: Team, era: str) -> None:
    async with clients_of([each.url for each in team.replicas], era) as (maker, *others):
        for _ in range(2):
            name, expected = await publish(maker)
            for other in others:
                assert await shout(other, name) == expected
                assert name in {tool.name for tool in await other.tools()}
                assert name in await find(other, f"shout this with {expected[4:]}")


async def test_clients_of_other_replicas_are_told(team: Team) -> None:
    async with (
        client_of(team.replicas[0].url, "modern") as maker,
        client_of(team.replicas[1].url, "modern") as modern,
        client_of(team.replicas[2].url, "legacy") as legacy,
    ):
        name, _ = await publish(maker)
        assert (await modern.tool(name)).name == (await legacy.tool(name)).name == name


@pytest.mark.parametrize("balancer", ["haproxy", "nginx"])
@ERAS
async def test_both_eras_go_through_a_balancer(team: Team, tmp_path: Path, balancer: str, era: str) -> None:
    """Each of six clients makes six requests: without stickiness sessions of the older era would be lost."""
    with running_nginx(tmp_path, team.ports) as nginx:
        url = team.url if balancer == "haproxy" else f"http://127.0.0.1:{nginx}/mcp"
        async with clients_of([url] * 6, era) as clients:
            name, expected = await publish(clients[0])
            for _ in range(3):
                for client in clients:
                    assert await shout(client, name) == expected
                    assert name in await find(client, f"shout this with {expected[4:]}")
