"""Activity between the servers of a home: each tells whoever has the key, in lines of JSON, what happens in it."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import SocketStream, UNIXSocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.app.activity import LOST, Activity, ActivityFeed
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
        with feed.subscribe() as subscription, suppress(anyio.BrokenResourceError):
            while True:
                events, dropped = await subscription.read()
                lines = [event.model_dump_json() for event in events]
                lines += [json.dumps({"dropped": dropped})] if dropped else []
                await stream.send("".join(f"{line}\n" for line in lines).encode())
        tasks.cancel_scope.cancel()


async def follow_servers(home: Path, feed: ActivityFeed) -> None:
    """Publishes what happens in the other servers of a home, those that start meanwhile too, until it is cancelled."""
    known: set[str] = set()

    async def follow(endpoint: Endpoint) -> None:
        with suppress(OSError, Refused):  # it has ended meanwhile
            await _follow_server(endpoint, feed)
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


async def _follow_server(endpoint: Endpoint, feed: ActivityFeed) -> None:
    """Publishes what happens in one server until it ends; raises as `connect`."""
    connection = await to_thread.run_sync(connect, endpoint, "events", abandon_on_cancel=True)
    connected = UNIXSocketStream if HAS_UNIX_SOCKETS else SocketStream
    under_way: dict[str, Activity] = {}
    try:
        async with await connected.from_socket(connection.socket) as stream:
            lines = BufferedByteReceiveStream(stream)
            while True:
                fields = json.loads(await lines.receive_until(b"\n", MAX_LINE))
                if "dropped" in fields:
                    feed.drop(int(fields["dropped"]))
                    continue
                activity = Activity.model_validate(fields)
                under_way[activity.id] = activity
                if activity.outcome:
                    del under_way[activity.id]
                feed.publish(activity)
    except (anyio.IncompleteRead, anyio.BrokenResourceError):  # it has ended
        for activity in under_way.values():
            lost = {"outcome": LOST, "text": "its server ended", "time": datetime.now(UTC)}
            feed.publish(activity.model_copy(update=lost))
    except (ValueError, TypeError, RecursionError, anyio.DelimiterNotFound) as garbled:
        log.info("%s says what this release does not understand: %s", endpoint.address, garbled)
