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
from anyio.abc import SocketStream, UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.app.activity import LOST, Activity, ActivityFeed, Subscription
from alita_mcp.server.transports.local.endpoint import HAS_UNIX_SOCKETS, Endpoint, Refused, connect
from alita_mcp.server.transports.local.servers import find_endpoints

LOOK_EVERY_S = 2.0
"""How soon a server that has started is heard."""
MAX_LINE = 1_000_000

log = logging.getLogger(__name__)


async def send_activity(stream: SocketStream, feed: ActivityFeed, closing: anyio.Event) -> None:
    """Writes what happens, from what is under way on, until this server ends or nobody listens any more."""
    async with anyio.create_task_group() as tasks:

        async def end_when_closing() -> None:
            await closing.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(end_when_closing)
        subscription = Subscription()
        with feed.tell(subscription.add), suppress(anyio.BrokenResourceError):
            while True:
                events, _ = await subscription.read()
                await stream.send("".join(f"{event.model_dump_json()}\n" for event in events).encode())
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
    connection = await to_thread.run_sync(connect, endpoint, "events", abandon_on_cancel=True)
    connected = UNIXSocketStream if HAS_UNIX_SOCKETS else SocketStream
    under_way: dict[str, Activity] = {}
    try:
        async with await connected.from_socket(connection.socket) as stream:
            lines = BufferedByteReceiveStream(stream)
            while True:
                activity = Activity.model_validate_json(await lines.receive_until(b"\n", MAX_LINE))
                under_way[activity.id] = activity
                if activity.outcome:
                    del under_way[activity.id]
                listener(activity)
    except (anyio.IncompleteRead, anyio.BrokenResourceError):  # it has ended
        for activity in under_way.values():
            lost = {"outcome": LOST, "text": "its server ended", "time": datetime.now(UTC)}
            listener(activity.model_copy(update=lost))
    except (ValueError, anyio.DelimiterNotFound) as garbled:
        log.info("%s says what this release does not understand: %s", endpoint.address, garbled)
