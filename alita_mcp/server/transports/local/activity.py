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
import anyio.to_thread
from anyio.abc import SocketStream
from pydantic import ValidationError

from alita_mcp.app.activity import LOST, Activity, ActivityFeed
from alita_mcp.library.clock import now
from alita_mcp.server.transports.local.endpoint import Endpoint, Refused, connect, endpoints

HEADER = {"alita": "events"}
"""The first line; a server of an earlier release does not send it."""
LOOK_EVERY_S = 1.0
"""How soon a server that has started is heard."""
TRY_AGAIN_S = 30.0
"""When a server that did not say what happens is asked again."""
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
            lines = [json.dumps(HEADER)]
            while True:
                await stream.send("".join(f"{line}\n" for line in lines).encode())
                lines = [event.model_dump_json() for event in await subscription.read()]
                if dropped := subscription.take_dropped():
                    lines.append(json.dumps({"dropped": dropped}))
        tasks.cancel_scope.cancel()


async def follow_servers(home: Path, feed: ActivityFeed) -> None:
    """Publishes what happens in the other servers of a home, those that start meanwhile too, until it is cancelled."""
    known: set[str] = set()

    async def follow(endpoint: Endpoint) -> None:
        try:
            told = await _follow_server(endpoint, feed)
        except (OSError, Refused) as problem:
            told = isinstance(problem, ConnectionError | FileNotFoundError)  # it has ended
            log.debug("%s: %s", endpoint.address, problem)
        if not told:
            await anyio.sleep(TRY_AGAIN_S)
        known.discard(endpoint.name)

    async with anyio.create_task_group() as tasks:
        while True:
            found = await anyio.to_thread.run_sync(_find_servers, home, frozenset(known))
            known |= {endpoint.name for endpoint, _ in found}
            for endpoint, is_other in found:
                if is_other:
                    tasks.start_soon(follow, endpoint)
            await anyio.sleep(LOOK_EVERY_S)


def _find_servers(home: Path, known: frozenset[str]) -> list[tuple[Endpoint, bool]]:
    """Servers that are not known yet, and whether each is another one of this home."""
    found = []
    with suppress(OSError, Refused):  # nothing can be shared
        for endpoint in endpoints():
            if endpoint.name in known:
                continue
            is_other = False
            try:
                with connect(endpoint, "status").socket as link, link.makefile("rb") as answer:
                    server = json.loads(answer.readline())
                is_other = server["home"] == str(home) and server["pid"] != os.getpid()
            except (ConnectionError, FileNotFoundError):  # it was killed; another one may come
                continue
            except (OSError, Refused, ValueError, KeyError, TypeError) as problem:
                log.info("%s: %s", endpoint.address, problem)
            found.append((endpoint, is_other))
    return found


async def _follow_server(endpoint: Endpoint, feed: ActivityFeed) -> bool:
    """Publishes what happens in one server until it ends; returns whether it said anything at all.

    Raises as `connect`.
    """
    connection = await anyio.to_thread.run_sync(connect, endpoint, "events")
    under_way: dict[str, Activity] = {}
    told = False
    try:
        async for line in _read_lines(connection.socket):
            fields = json.loads(line)
            if fields == HEADER:
                told = True
            elif "dropped" in fields:
                feed.drop(int(fields["dropped"]))
            else:
                activity = Activity.model_validate(fields)
                under_way[activity.id] = activity
                if activity.phase == "ended":
                    del under_way[activity.id]
                feed.publish(activity)
    except (ValueError, TypeError, ValidationError) as garbled:
        log.info("%s says what this release does not understand: %s", endpoint.address, garbled)
    finally:
        connection.socket.close()
        for activity in under_way.values():
            lost = {"phase": "ended", "outcome": LOST, "text": "its server ended", "time": now()}
            feed.publish(activity.model_copy(update=lost))
    return told


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
