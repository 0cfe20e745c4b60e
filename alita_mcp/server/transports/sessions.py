"""Sessions of the 2025 protocol over HTTP: lost streams are resumed, and nobody's session ends for a newcomer."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.streamable_http import (
    EventCallback,
    EventMessage,
    EventStore,
    StreamableHTTPServerTransport,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCMessage

IDLE_S = 30 * 60.0
"""After so long without a request a session ends."""
CROWDED_IDLE_S = 5 * 60.0
"""The same while as many are open as may be."""
MAX_EVENTS = 200
MAX_BYTES = 1_000_000


class _Event(NamedTuple):
    number: int
    stream: str
    message: JSONRPCMessage | None
    size: int


class RecentEvents(EventStore):
    """Store of the last messages of one session, bounded in number and bytes; the newest is always kept."""

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[_Event] = deque()
        self._bytes = 0
        self._last = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keeps a message (None: a mark to resume from) and returns its id."""
        self._last += 1
        size = len(message.model_dump_json()) if message is not None else 0
        self._events.append(_Event(self._last, stream_id, message, size))
        self._bytes += size
        while len(self._events) > 1 and (
            len(self._events) > self._max_events or self._bytes > self._max_bytes
        ):
            self._bytes -= self._events.popleft().size
        return str(self._last)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Sends what came later on the same stream; None when the id is unknown or no longer kept."""
        seen = next((event for event in self._events if str(event.number) == last_event_id), None)
        if seen is None:
            return None
        for event in [later for later in self._events if later.number > seen.number]:
            if event.stream == seen.stream and event.message is not None:
                await send_callback(EventMessage(event.message, str(event.number)))
        return seen.stream


class ResumableSessions(StreamableHTTPSessionManager):
    """Session manager that gives every session an event store of its own.

    The SDK names streams by request id, which repeats between sessions: from a shared store a client could get
    another client's messages.
    """

    @property
    def count(self) -> int:
        """How many sessions are open."""
        return len(self._server_instances)

    @property
    def event_store(self) -> EventStore | None:
        """A new store at each access: the SDK accesses it once, when it opens a session."""
        return RecentEvents()

    @event_store.setter
    def event_store(self, _given: Any) -> None:
        """Ignores the one that the constructor sets."""

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """Registers a session; None where as many are open as may be.

        A full server ends none for a newcomer's sake, but waits less long for those whose clients do not come back.
        """
        if self.max_sessions is not None and len(self._server_instances) >= self.max_sessions:
            ends_at = anyio.current_time() + IDLE_S - CROWDED_IDLE_S
            for name, session in tuple(self._server_instances.items()):
                if session.idle_scope is not None and session.idle_scope.deadline <= ends_at:
                    del self._server_instances[name]
                    self._session_owners.pop(name, None)
                    session.idle_scope.cancel()
        return super()._admit_session(requestor)
