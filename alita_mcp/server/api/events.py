"""Server-sent events of a run: a response that ends with the run."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.types import Receive, Scope, Send

from alita_mcp.agent.values import TaskEvent
from alita_mcp.errors import AlitaError

HEARTBEAT_S = 15.0
RETRY_MS = 1_000
MAX_STREAMS = 64
"""How many callers may follow runs at once."""
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

log = logging.getLogger(__name__)


class EventStream:
    """ASGI response of server-sent events, with a comment where none came for a while; its reader may leave."""

    def __init__(
        self,
        events: AsyncIterator[TaskEvent],
        limiter: anyio.CapacityLimiter,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._events = events
        self._limiter = limiter
        self._heartbeat_s = heartbeat_s

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Sends events until the run has ended or the reader is gone; the run hears of neither."""
        source, events = anyio.create_memory_object_stream[TaskEvent](0)
        async with self._limiter:
            with source, events:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
                    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                    await _send(send, f"retry: {RETRY_MS}\n\n")
                    tasks.start_soon(self._read, source)
                    await self._write(events, send)
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    tasks.cancel_scope.cancel()

    async def _read(self, source: MemoryObjectSendStream[TaskEvent]) -> None:
        with source:
            try:
                async for event in self._events:
                    await source.send(event)
            except AlitaError as gone:
                log.warning("a run can no longer be followed: %s", gone)

    async def _write(self, events: MemoryObjectReceiveStream[TaskEvent], send: Send) -> None:
        while True:
            try:
                with anyio.fail_after(self._heartbeat_s):
                    event = await events.receive()
            except TimeoutError:
                await _send(send, ": still running\n\n")
            except anyio.EndOfStream:
                return
            else:
                await _send(send, as_message(event))
                if event.kind == "finished":
                    return


def as_message(event: TaskEvent) -> str:
    """An event as it travels; its number is what a reader that comes back names."""
    return f"id: {event.number}\nevent: {event.kind}\ndata: {event.model_dump_json()}\n\n"


async def _send(send: Send, text: str) -> None:
    body = text.encode("utf-8", "replace")
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
