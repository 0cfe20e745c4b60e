"""What happens in the servers of a home, heard by somebody in another process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest

from alita_mcp.app.activity import Activity, Subscription
from alita_mcp.server.transports.local.activity import follow_servers
from tests.server.connections import publish_spin
from tests.server.local.conftest import User, in_home
from tests.server.local.test_shared_server import TURNS, client
from tests.server.processes import PATIENCE_S, gone

pytestmark = [
    pytest.mark.process,
    pytest.mark.anyio,
    in_home,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]


@asynccontextmanager
async def hearing(user: User) -> AsyncIterator[Subscription]:
    """Somebody who hears all servers of the user's home."""
    subscription = Subscription()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow_servers, user.home, subscription.add)
        yield subscription
        tasks.cancel_scope.cancel()


async def wait_for(subscription: Subscription, is_meant: Callable[[Activity], bool]) -> Activity:
    with anyio.fail_after(PATIENCE_S):
        while True:
            for activity in (await subscription.read())[0]:
                if is_meant(activity):
                    return activity


async def test_every_server_of_a_home_is_heard_and_one_that_dies_or_comes_later_is_noticed(
    user: User,
) -> None:
    await publish_spin(user.home)
    async with hearing(user) as heard, client(user) as first:
        await first.client.call_tool("spin_around", {"turns": 4})
        called = await wait_for(heard, lambda each: each.outcome and each.tool == "spin_around")
        assert (called.outcome, called.kind) == ("ok", "call")
        assert called.client
        one = await user.server()
        async with client(user, log_level="error") as second:  # has a server of its own
            await second.client.call_tool("search_capabilities", {"query": "water the plants"})
            searched = await wait_for(heard, lambda each: each.text == "water the plants")
            assert (searched.kind, searched.outcome) == ("search", "none")
        async with anyio.create_task_group() as calls:
            calls.start_soon(first.client.call_tool, "spin_around", {"turns": TURNS})
            spinning = await wait_for(heard, lambda each: each.tool == "spin_around" and each.tone == "busy")
            one.kill()
            lost = await wait_for(heard, lambda each: each.id == spinning.id and each.outcome)
            assert (lost.outcome, lost.text) == ("lost", "its server ended")
            calls.cancel_scope.cancel()


async def test_a_server_ends_though_somebody_listens(user: User) -> None:
    async with client(user) as first, hearing(user) as heard:
        await first.client.call_tool("search_capabilities", {"query": "water the plants"})
        await wait_for(heard, lambda each: each.text == "water the plants")
        server = await user.server()
        server.terminate()
        await gone([server])
