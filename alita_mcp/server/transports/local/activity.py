"""Activity between the servers of a home: each tells whoever has the key, in lines of JSON, what happens in it."""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
from anyio import to_thread
from anyio.abc import SocketStream

from alita_mcp.app.activity import LOST, Activity, ActivityFeed
from alita_mcp.library.clock import now
from alita_mcp.server.transports.local.endpoint import Endpoint, Refused, connect
from alita_mcp.server.transports.local.servers import find_endpoints

LOOK_EVERY_S = 2.0
"""How soon a server that has started is heard."""
CHUNK = 65_536
MAX_LINE = 1_000_000

log = logging.getLogger(__name__)


async def send_activity(stream: SocketStream, feed: ActivityFeed, closing: anyio.Event) -> None:
    """Writes what happens, from what is under way on, until the other side or this server ends."""
    async with anyio.create_task_group() as tasks:

        async def end_when_closing() -> None:
            await closing.wait()
            tasks.cancel_scope.cancel()

        async def end_with_other_side() -> None:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    await stream.receive()
            tasks.cancel_scope.cancel()

        tasks.start_soon(end_when_closing)
        tasks.start_soon(end_with_other_side)
        with feed.subscribe() as subscription, suppress(anyio.BrokenResourceError):
            while True:
                lines = [event.model_dump_json() for event in await subscription.read()]
                if dropped := subscription.take_dropped():
                    lines.append(json.dumps({"dropped": dropped}))
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
    under_way: dict[str, Activity] = {}
    try:
        async for line in _read_lines(connection.socket):
            fields = json.loads(line)
            if "dropped" in fields:
                feed.drop(int(fields["dropped"]))
                continue
            activity = Activity.model_validate(fields)
            under_way[activity.id] = activity
            if activity.outcome:
                del under_way[activity.id]
            feed.publish(activity)
    except (ValueError, TypeError, RecursionError) as garbled:
        log.info("%s says what this release does not understand: %s", endpoint.address, garbled)
    finally:
        connection.socket.close()
        for activity in under_way.values():
            lost = {"outcome": LOST, "text": "its server ended", "time": now()}
            feed.publish(activity.model_copy(update=lost))


async def _read_lines(link: socket.socket) -> AsyncIterator[bytes]:
    link.setblocking(False)
    rest = b""
    while True:
        await anyio.wait_readable(link)
        try:
            data = link.recv(CHUNK)
        except BlockingIOError:
            continue
        except OSError:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line
        if not data or len(rest) > MAX_LINE:
            return
