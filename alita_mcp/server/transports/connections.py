"""HTTP connections of one server: accepted as there is room for them, and never at the cost of a request under way."""

from __future__ import annotations

import asyncio  # noqa: TID251 - anyio hands no accepted socket to a protocol of uvicorn
import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.lowlevel
import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from alita_mcp.machine import MAX_DESCRIPTORS, OWN_DESCRIPTORS, WORKER_DESCRIPTORS, raise_descriptor_limit

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport  # noqa: TID251 - uvicorn's own words

MAX_UNACCEPTED = 2048
"""Connections that the system keeps until they are accepted."""
MAX_STRANGERS = 1024
USUAL_WORKERS = 8
ACCEPTED_AT_ONCE = 32
LOOK_EVERY_S = 0.02
"""How often a full server looks for room."""
_MARK_KNOWN = "alita.mark_known"
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"


class ConnectionLimits(NamedTuple):
    """Limits on what one connection may take, and on how many there may be."""

    head_s: float = 10.0
    """From the connection's first moment, or its last response, to the end of a request's head."""
    body_s: float = 60.0
    """From there to the end of its body."""
    strangers: int = MAX_STRANGERS
    """Connections without a token yet."""
    every: int = MAX_DESCRIPTORS[0]
    grace_s: float = 0.5
    """How long a stranger may be silent before it makes room for another."""


class Connections:
    """The open connections of one server, and the acceptor of new ones.

    A request is under way from the end of its head to the end of its response. While all places are taken, newcomers
    wait in the system's queue, and each response ends its connection, so that clients take turns.
    """

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        """Without `limits`, those of this machine."""
        if limits is None:
            descriptors = raise_descriptor_limit()
            every = max(descriptors // 4, descriptors - OWN_DESCRIPTORS - WORKER_DESCRIPTORS * USUAL_WORKERS)
            limits = ConnectionLimits(strangers=min(MAX_STRANGERS, every), every=every)
        self.limits = limits
        self.open: set[BoundedConnection] = set()
        self.strangers: dict[BoundedConnection, None] = {}
        """Those that showed no token yet, the oldest first."""
        self.is_crowded = False
        """Whether a newcomer waits for a place."""
        self._accepting = anyio.CancelScope()

    async def accept(self, listener: socket.socket, make: Callable[[], BoundedConnection]) -> None:
        """Accepts connections until `stop_accepting`, then closes the listener; `make` gives the protocol of each."""
        loop = asyncio.get_running_loop()
        with listener, self._accepting:
            while True:
                await anyio.wait_readable(listener)
                places = await self._wait_for_room()
                async with anyio.create_task_group() as tasks:
                    try:
                        for _ in range(places):
                            accepted = listener.accept()[0]
                            accepted.setblocking(False)
                            # asyncio does so only where the listener names the protocol; without it the second part of
                            # a response waits 40 ms for an acknowledgement of the first.
                            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                            tasks.start_soon(loop.connect_accepted_socket, make, accepted)
                    except BlockingIOError:
                        continue
                    except OSError:  # no descriptors are left, or the newcomer went away
                        await anyio.sleep(LOOK_EVERY_S)

    def stop_accepting(self) -> None:
        """Refuses newcomers from now on."""
        self._accepting.cancel()

    async def _wait_for_room(self) -> int:
        """Returns how many may be accepted now, at least one."""
        while True:
            # what has arrived is read first: it may complete the head of a request
            for _ in range(2):
                await anyio.lowlevel.checkpoint()
            self._end_silent_strangers()
            limits = self.limits
            places = min(
                limits.every - len(self.open), limits.strangers - len(self.strangers), ACCEPTED_AT_ONCE
            )
            self.is_crowded = places <= 0
            if not self.is_crowded:
                return places
            await anyio.sleep(LOOK_EVERY_S)

    def _end_silent_strangers(self) -> None:
        """Ends strangers of which no request is under way, the oldest first, as far as newcomers need their places."""
        limits, now = self.limits, anyio.current_time()
        for stranger in tuple(self.strangers):
            if len(self.open) < limits.every and len(self.strangers) < limits.strangers:
                return
            if now - stranger.made_at >= limits.grace_s and not stranger.has_request:
                stranger.abort()


class BoundedConnection(H11Protocol):
    """uvicorn's connection, closed when a request does not arrive in time."""

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self.made_at = 0.0
        """On the clock of the event loop."""
        self._connections = connections
        self._limits = connections.limits
        self._timed_state: object = None
        self._timer: TimerHandle | None = None
        self.app_state = {**self.app_state, _MARK_KNOWN: partial(connections.strangers.pop, self, None)}

    @property
    def has_request(self) -> bool:
        """Whether a request is under way; a stranger's body that has not arrived is none."""
        has_body = self.conn.their_state is not h11.SEND_BODY
        return self.cycle is not None and not self.cycle.response_complete and has_body

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Counts the connection as a stranger's."""
        super().connection_made(transport)
        self.made_at = self.loop.time()
        self._connections.open.add(self)
        self._connections.strangers[self] = None
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._forget()
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on; the next part of a request has its own time."""
        super().data_received(data)
        self._restart_timer()

    def on_response_complete(self) -> None:
        """Waits for the next request, or for the rest of one that was answered early."""
        super().on_response_complete()
        self._restart_timer()

    def send_400_response(self, msg: str) -> None:
        """Answers what is not HTTP with the header of every response, which uvicorn's own answer lacks, and ends."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_BAD_REQUEST + msg.encode())
        self.transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        self._connections.open.discard(self)
        self._connections.strangers.pop(self, None)

    def _restart_timer(self) -> None:
        state = self.conn.their_state
        if state is self._timed_state or self.transport.is_closing():
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timed_state, self._timer = state, None
        seconds = {h11.IDLE: self._limits.head_s, h11.SEND_BODY: self._limits.body_s}.get(state)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self.abort)


def mark_connection_known(scope: Scope) -> None:
    """Stops counting the connection of a request as a stranger's."""
    mark_known = scope.get("state", {}).get(_MARK_KNOWN)
    if mark_known is not None:
        mark_known()
