"""Limits of HTTP connections: a time for each request to arrive, a bound on those without a token."""

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
"""More would serve nobody, and a sandbox's process may close each number up to the limit; macOS allows the second."""
_ADMIT = "alita.admit"


class ConnectionLimits(NamedTuple):
    """Limits on what one connection may take, and how many may wait without a token."""

    head_s: float = 10.0
    """From the connection's first moment, or its last answer, to the end of a request's head."""
    body_s: float = 60.0
    """From there to the end of its body."""
    strangers: int = MAX_STRANGERS


def usual_limits() -> ConnectionLimits:
    """The limits of a server, which from now on may have as many descriptors as the system allows."""
    return ConnectionLimits(strangers=min(MAX_STRANGERS, _raised_descriptors() // 4))


class BoundedConnection(H11Protocol):
    """uvicorn's connection, let go when a request does not arrive in time, or when too many strangers came after it."""

    def __init__(
        self,
        *args: Any,
        limits: ConnectionLimits,
        strangers: dict[BoundedConnection, None],
        **options: Any,
    ) -> None:
        """`strangers` holds the connections that showed no token yet, the oldest first; all share it."""
        super().__init__(*args, **options)
        self._limits = limits
        self._strangers = strangers
        self._awaited: object = None
        self._timer: TimerHandle | None = None
        self.app_state = {**self.app_state, _ADMIT: partial(strangers.pop, self, None)}

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Counts the connection as a stranger's; one too many ends the oldest."""
        super().connection_made(transport)
        self._strangers[self] = None
        if len(self._strangers) > self._limits.strangers:
            next(iter(self._strangers)).let_go()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._strangers.pop(self, None)
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on, and starts another time-out when another part of a request is due."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Waits for the next request, or for the rest of one that was answered early."""
        super().on_response_complete()
        self._watch()

    def let_go(self) -> None:
        """Closes the connection at once."""
        self._strangers.pop(self, None)
        self.transport.abort()

    def _watch(self) -> None:
        state = self.conn.their_state
        if state is self._awaited or self.transport.is_closing():
            return
        self._stop()
        self._awaited = state
        seconds = {h11.IDLE: self._limits.head_s, h11.SEND_BODY: self._limits.body_s}.get(state)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self.let_go)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def bounded(limits: ConnectionLimits) -> type[Protocol]:
    """Factory of the connections of one server, as uvicorn takes it."""
    made = partial(BoundedConnection, limits=limits, strangers={})
    return cast("type[Protocol]", made)


def admit(scope: Scope) -> None:
    """Counts the connection of a request as no stranger's any more."""
    known = scope.get("state", {}).get(_ADMIT)
    if known is not None:
        known()


def _raised_descriptors() -> int:
    """Lets this process have as many descriptors as the system allows; returns how many."""
    if sys.platform == "win32":
        return MAX_DESCRIPTORS[0]
    import resource

    for wanted in MAX_DESCRIPTORS:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft == resource.RLIM_INFINITY or soft >= bound:
            break
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (bound, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_DESCRIPTORS[0] if soft == resource.RLIM_INFINITY else soft
