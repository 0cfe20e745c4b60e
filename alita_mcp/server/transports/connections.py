"""Limits of HTTP connections: how long a request may take to arrive, and how many connections have no token yet."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from asyncio import Protocol, TimerHandle, Transport  # noqa: TID251 - uvicorn's own words

ACCEPTED_AT_ONCE = 32
"""Connections accepted in one turn of the loop: far fewer than strangers may wait, so that each is heard first."""
MAX_UNACCEPTED = 2048
"""Connections that the system keeps until they are accepted."""
MAX_STRANGERS = 256
MAX_DESCRIPTORS = (65_536, 10_240)
"""More would serve nobody; macOS allows the second."""
_MARK_KNOWN = "alita.mark_known"
_BAD_REQUEST = b"\r\n".join(
    (
        b"HTTP/1.1 400 Bad Request",
        b"Content-Type: text/plain; charset=utf-8",
        b"X-Content-Type-Options: nosniff",
        b"Connection: close",
        b"\r\n",
    )
)


class ConnectionLimits(NamedTuple):
    """Limits on what one connection may take, and how many may wait without a token."""

    head_s: float = 10.0
    """From the connection's first moment, or its last response, to the end of a request's head."""
    body_s: float = 60.0
    """From there to the end of its body."""
    strangers: int = MAX_STRANGERS


class BoundedConnection(H11Protocol):
    """uvicorn's connection, closed when a request does not arrive in time, or when too many strangers came after it."""

    def __init__(
        self, *args: Any, limits: ConnectionLimits, strangers: dict[BoundedConnection, None], **options: Any
    ) -> None:
        """`strangers` holds the connections that showed no token yet, the oldest first; all share it."""
        super().__init__(*args, **options)
        self._limits = limits
        self._strangers = strangers
        self._timed_state: object = None
        self._timer: TimerHandle | None = None
        self.app_state = {**self.app_state, _MARK_KNOWN: partial(strangers.pop, self, None)}

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Counts the connection as a stranger's; one too many closes the oldest."""
        super().connection_made(transport)
        self._strangers[self] = None
        if len(self._strangers) > self._limits.strangers:
            next(iter(self._strangers)).abort()
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._strangers.pop(self, None)
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
        """Answers what is not HTTP with the headers of every response, which uvicorn's own answer lacks, and ends."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_BAD_REQUEST + msg.encode())
        self.transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        self._strangers.pop(self, None)
        self.transport.abort()

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


def connection_factory(limits: ConnectionLimits | None) -> type[Protocol]:
    """Factory of the connections of one server, as uvicorn takes it; without `limits`, those of this machine."""
    if limits is None:
        limits = ConnectionLimits(strangers=min(MAX_STRANGERS, raise_descriptor_limit() // 4))
    return cast("type[Protocol]", partial(BoundedConnection, limits=limits, strangers={}))


def mark_connection_known(scope: Scope) -> None:
    """Stops counting the connection of a request as a stranger's."""
    mark_known = scope.get("state", {}).get(_MARK_KNOWN)
    if mark_known is not None:
        mark_known()


def raise_descriptor_limit() -> int:
    """Lets this process open as many files as the system allows; returns how many."""
    if sys.platform == "win32":
        return MAX_DESCRIPTORS[0]
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in MAX_DESCRIPTORS:
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        if soft == resource.RLIM_INFINITY or soft >= bound:
            break
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (bound, hard))
            soft = bound
    return MAX_DESCRIPTORS[0] if soft == resource.RLIM_INFINITY else soft
