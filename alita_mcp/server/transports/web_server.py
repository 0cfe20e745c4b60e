"""HTTP server of this process: uvicorn behind the checks of host, origin and token, within limits of connections."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus

import anyio
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alita_mcp.errors import UsageError
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.transports.access import Access
from alita_mcp.server.transports.connections import (
    MAX_UNACCEPTED,
    BoundedConnection,
    ConnectionLimits,
    Connections,
)
from alita_mcp.server.transports.guard import Guard

RETRY_AFTER = b"5"
"""Seconds after which a full server may be asked again."""
GRACE_S = 0.5
"""How long running requests may go on once the end is known."""


@asynccontextmanager
async def serve_requests(
    app: ASGIApp,
    listener: socket.socket,
    access: Access,
    names: Sequence[str],
    origins: Sequence[str] = (),
    *,
    limits: ConnectionLimits | None = None,
    grace_s: float = GRACE_S,
) -> AsyncIterator[OpenRequests]:
    """Serves what arrives at a listener while the block runs; the requests under way then end within `grace_s`."""
    listener.setblocking(False)
    connections = Connections(limits)
    requests = OpenRequests(app, connections)
    web = _Web(Guard(requests, access, names, origins), connections)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(web.serve, [])
        tasks.start_soon(connections.accept, listener, web.make_connection)
        yield requests
        connections.stop_accepting()
        web.should_exit = True
        await requests.finish(grace_s)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free port.

    Raises:
        UsageError: the address cannot be bound.
    """
    if not 0 <= port <= 65_535:
        raise UsageError(f"Cannot listen on port {port}: ports go from 0 to 65535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=MAX_UNACCEPTED)
    except OSError as refused:
        raise UsageError(
            f"Cannot listen on {host!r} port {port}: {refused}.", hint="Choose another address or port."
        ) from refused


class OpenRequests:
    """ASGI middleware that knows the requests under way and can end them with complete responses.

    Each response says what its client has to know: that its place is needed, or when to ask a full server again.
    """

    def __init__(self, app: ASGIApp, connections: Connections | None = None) -> None:
        self._app = app
        self._connections = connections
        self._open: dict[anyio.CancelScope, bool] = {}
        """Those under way, and whether their clients wait for an answer: a GET is a stream without an end."""
        self._one_ended = anyio.Event()
        self.ends_connections = False
        """Whether each response ends its connection, so that the client's next one goes elsewhere."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request."""
        last: Message | None = None

        async def send_and_note(message: Message) -> None:
            nonlocal last
            last = message
            if message["type"] == "http.response.start":
                is_crowded = self._connections is not None and self._connections.is_crowded
                if is_crowded or self.ends_connections:
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
                if message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
                    message = {**message, "headers": [*message["headers"], (b"retry-after", RETRY_AFTER)]}
            await send(message)

        with anyio.CancelScope() as mine:
            self._open[mine] = scope.get("method") == "POST"
            try:
                await self._app(scope, receive, send_and_note)
            finally:
                del self._open[mine]
                self._one_ended.set()
        if not mine.cancelled_caught:
            return
        # Ended by `finish`: nothing was sent yet, or a stream is open that needs its last chunk.
        if last is None:
            await Refusal(503, "ending", "The server is shutting down.").response()(scope, receive, send)
        elif last["type"] == "http.response.start" or last.get("more_body", False):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def refuse_newcomers(self) -> None:
        """Accepts no more connections; requests that arrive over the open ones are served."""
        if self._connections is not None:
            self._connections.stop_accepting()

    async def wait_for_answers(self) -> None:
        """Returns once no request waits for an answer."""
        while any(self._open.values()):
            self._one_ended = anyio.Event()
            await self._one_ended.wait()

    async def finish(self, grace_s: float) -> None:
        """Waits a little for the open requests, then ends them."""
        with anyio.move_on_after(grace_s):
            while self._open:  # noqa: ASYNC110 - half a second, once in a server's life
                await anyio.sleep(0.01)
        for scope in list(self._open):
            scope.cancel()


class _Web(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process by the signal itself."""

    def __init__(self, app: ASGIApp, connections: Connections) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                headers=[("X-Content-Type-Options", "nosniff")],
                timeout_graceful_shutdown=1,
            )
        )
        self._connections = connections
        self.config.load()

    def make_connection(self) -> BoundedConnection:
        """The protocol of a connection that was accepted."""
        return BoundedConnection(
            config=self.config, server_state=self.server_state, app_state={}, connections=self._connections
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield
