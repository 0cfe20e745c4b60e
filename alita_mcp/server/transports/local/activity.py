"""Activity between the servers of a home: each tells whoever has the key, in lines of JSON, what happens in it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio import to_thread

from alita_mcp.app.activity import LOST, Activity, ActivityFeed, Subscription
from alita_mcp.sandbox.wire.duplex import Polled
from alita_mcp.server.transports.lines import split_lines
from alita_mcp.server.transports.local.endpoint import Endpoint, Refused, connect
from alita_mcp.server.transports.local.servers import find_endpoints

LOOK_EVERY_S = 2.0
"""How soon a server that has started is heard."""

log = logging.getLogger(__name__)


async def send_activity(link: Polled, feed: ActivityFeed, closing: anyio.Event) -> None:
    """Writes what happens, from what is under way on, until this server ends or nobody listens any more."""
    async with anyio.create_task_group() as tasks:

        async def end_when_closing() -> None:
            await closing.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(end_when_closing)
        subscription = Subscription()
        with feed.tell(subscription.add), suppress(OSError):
            while True:
                events, _ = await subscription.read()
                await link.send("".join(f"{event.model_dump_json()}\n" for event in events).encode())
        tasks.cancel_scope.cancel()


async def follow_servers(home: Path, listener: Callable[[Activity], None]) -> None:
    """Tells what happens in the other servers of a home, those that start meanwhile too, until it is cancelled."""
    known: set[str] = set()

    async def follow(endpoint: Endpoint) -> None:
        with suppress(OSError, Refused):  # it has ended meanwhile
            await _follow_server(endpoint, listener)
        known.discard(endpoint.name)

    async with anyio.create_task_group() as tasks:
        while True:
            for endpoint, server in await to_thread.run_sync(
                find_endpoints, home, frozenset(known), abandon_on_cancel=True
            ):
                if "problem" in server:
                    continue
                known.add(endpoint.name)
                if server["pid"] != os.getpid():
                    tasks.start_soon(follow, endpoint)
            await anyio.sleep(LOOK_EVERY_S)


async def _follow_server(endpoint: Endpoint, listener: Callable[[Activity], None]) -> None:
    """Tells what happens in one server until it ends; raises as `connect`."""
    link = await to_thread.run_sync(connect, endpoint, "events", abandon_on_cancel=True)
    connection = Polled(link, link)
    under_way: dict[str, Activity] = {}
    try:
        async for line in split_lines(connection):
            activity = Activity.model_validate_json(line)
            under_way[activity.id] = activity
            if activity.outcome:
                del under_way[activity.id]
            listener(activity)
    except ValueError as garbled:
        log.info("%s says what this release does not understand: %s", endpoint.address, garbled)
    finally:
        connection.close()
    for activity in under_way.values():
        lost = {"outcome": LOST, "text": "its server ended", "time": datetime.now(UTC)}
        listener(activity.model_copy(update=lost))
