"""Streamable HTTP transport at `/mcp` for many clients, in both protocol eras, until a signal."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.subscriptions import ListenHandler
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alita_mcp.errors import UsageError
from alita_mcp.event_loop import collect_garbage_rarely
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.transports.connections import (
    MAX_UNACCEPTED,
    BoundedConnection,
    ConnectionLimits,
    Connections,
)
from alita_mcp.server.transports.guard import (
    HEALTH_PATH,
    Guard,
    host_names,
    in_brackets,
    refuse_open_server,
)
from alita_mcp.server.transports.local.clients import share_server
from alita_mcp.server.transports.malformed import answer_malformed
from alita_mcp.server.transports.sessions import IDLE_S, ResumableSessions
from alita_mcp.server.transports.shutdown import wait_for_signal
from alita_mcp.settings import Settings

MCP_PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 256
RETRY_MS = 500
"""How soon a client that lost its stream is asked to come back."""
RETRY_AFTER = b"5"
"""Seconds after which a full server may be asked again."""
GRACE_S = 0.5
"""How long running requests may go on once the end is known."""


async def until_signal(url: str, notice: str = "") -> int:
    """Writes the notice and where the server listens, and waits for a signal; returns the exit status."""
    return await wait_for_signal(f"{notice}alita: serving MCP at {url}\n")


async def serve_http(
    settings: Settings,
    host: str,
    port: int,
    *,
    token: str | None,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    server: Server[Any] | None = None,
    pages: Sequence[Route] = (),
    limits: ConnectionLimits | None = None,
    until: Callable[[str], Awaitable[int]] = until_signal,
) -> int:
    """Serves for as long as `until` runs, which is given the URL; returns the exit status that it gives.

    Without a `token` none is asked for. `allowed_hosts` are further names under which clients may reach the server, as
    a proxy in front of it has; pages of the `allowed_origins` may call it from a browser. Port 0 takes a free port.
    `pages` are further routes, behind the same checks of host, origin and token.

    Raises:
        UsageError: the address cannot be bound, or there is no token and there must be one.
    """
    from alita_mcp.server.api.tasks import api_routes
    from alita_mcp.server.build import DualEraServer, build_server

    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper())
    collect_garbage_rarely()
    if token is None:
        refuse_open_server(settings, host, allowed_hosts, allowed_origins)
    with _listen(host, port) as listener:
        server = server or build_server(settings)
        sessions = ResumableSessions(
            server,
            retry_interval=RETRY_MS,
            session_idle_timeout=IDLE_S,
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=MAX_SESSIONS,
        )
        routes: list[BaseRoute] = [Route(HEALTH_PATH, _health), *pages]
        if isinstance(server, DualEraServer):
            routes += api_routes(server.shared)
        mcp, others = answer_malformed(StreamableHTTPASGIApp(sessions)), Starlette(routes=routes)

        async def route(scope: Scope, receive: Receive, send: Send) -> None:
            """Spares the many requests to `/mcp` the layers of the few others."""
            await (mcp if scope["path"] == MCP_PATH else others)(scope, receive, send)

        listener.setblocking(False)
        connections = Connections(limits)
        requests = OpenRequests(route, connections)
        guard = Guard(requests, token, [*host_names(host), *allowed_hosts], allowed_origins)
        web = _Web(guard, connections)
        async with (
            sessions.run(),
            share_server(server, settings) as stopped,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(web.serve, [])
            tasks.start_soon(connections.accept, listener, web.make_connection)
            bound_host, bound_port = listener.getsockname()[:2]
            status = 0
            async with anyio.create_task_group() as waiting:

                async def end_when_stopped() -> None:
                    await stopped.wait()
                    waiting.cancel_scope.cancel()

                waiting.start_soon(end_when_stopped)
                status = await until(f"http://{in_brackets(bound_host)}:{bound_port}{MCP_PATH}")
                waiting.cancel_scope.cancel()
            # The listen streams of 2026-07-28 end with a final frame of their own; GET streams of 2025 never do.
            listen = server.get_request_handler("subscriptions/listen")
            if listen is not None and isinstance(listen.handler, ListenHandler):
                listen.handler.close()
            connections.stop_accepting()
            web.should_exit = True
            await requests.finish(GRACE_S)
    return status


class OpenRequests:
    """ASGI middleware that knows the requests under way and can end them with complete responses.

    Each response says what its client has to know: that its place is needed, or when to ask a full server again.
    """

    def __init__(self, app: ASGIApp, connections: Connections | None = None) -> None:
        self._app = app
        self._connections = connections
        self._open: set[anyio.CancelScope] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request."""
        last: Message | None = None

        async def send_and_note(message: Message) -> None:
            nonlocal last
            last = message
            if message["type"] == "http.response.start":
                if self._connections is not None and self._connections.is_crowded:
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
                if message["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
                    message = {**message, "headers": [*message["headers"], (b"retry-after", RETRY_AFTER)]}
            await send(message)

        with anyio.CancelScope() as mine:
            self._open.add(mine)
            try:
                await self._app(scope, receive, send_and_note)
            finally:
                self._open.discard(mine)
        if not mine.cancelled_caught:
            return
        # Ended by `finish`: nothing was sent yet, or a stream is open that needs its last chunk.
        if last is None:
            await Refusal(503, "ending", "The server is shutting down.").response()(scope, receive, send)
        elif last["type"] == "http.response.start" or last.get("more_body", False):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

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


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise UsageError(f"Cannot listen on port {port}: ports go from 0 to 65535.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=MAX_UNACCEPTED)
    except OSError as refused:
        raise UsageError(
            f"Cannot listen on {host!r} port {port}: {refused}.", hint="Choose another address or port."
        ) from refused
