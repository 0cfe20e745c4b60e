"""Streamable HTTP transport at `/mcp` for many clients, in both protocol eras, until a signal."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.subscriptions import ListenHandler
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.server.api.problems import Refusal, is_api
from alita_mcp.server.transports.bearer_auth import BearerAuthMiddleware, is_loopback, token_for
from alita_mcp.server.transports.connections import (
    ACCEPTED_AT_ONCE,
    MAX_UNACCEPTED,
    ConnectionLimits,
    bounded,
    usual_limits,
)
from alita_mcp.server.transports.replay import ResumableSessions
from alita_mcp.server.transports.shutdown import ending_signal, leaving_at_latest
from alita_mcp.settings import Settings

MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 256
SESSION_IDLE_S = 30 * 60
RETRY_MS = 500
"""How soon a client that lost its stream is asked to come back."""
GRACE_S = 0.5
"""How long running requests may go on once the end is known."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - recognised here, not bound to


async def until_signal(url: str) -> int:
    """Writes where the server listens and waits for a signal; returns the exit status."""
    sys.stderr.write(f"alita: serving MCP at {url}\n")
    sys.stderr.flush()
    return await ending_signal()


async def serve_http(
    settings: Settings,
    host: str,
    port: int,
    *,
    allowed_hosts: tuple[str, ...] = (),
    server: Server[Any] | None = None,
    pages: Sequence[Route] = (),
    limits: ConnectionLimits | None = None,
    until: Callable[[str], Awaitable[int]] = until_signal,
) -> int:
    """Serves for as long as `until` runs, which is given the URL; returns the exit status that it gives.

    `allowed_hosts` are further names under which clients may reach the server, as a proxy in front of it has.
    Port 0 takes a free port. `pages` are further routes, behind the same checks of host, origin and token.

    Raises:
        UsageError: the address cannot be had, or it is open to other machines and there is no token.
    """
    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper())
    token = token_for(settings, host)
    with _listen(host, port) as listener, ExitStack() as deadline:
        server = server or _built(settings, host)
        security = _security((*LOCAL_NAMES, *_names_of(host), *allowed_hosts))
        sessions = _sessions(server, security)
        pages = [*pages, *_api(server, needs_token=token is not None)]
        requests = OpenRequests(_routes(sessions, pages, security))
        web = _Web(BearerAuthMiddleware(requests, token), limits or usual_limits())
        async with sessions.run(), anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listener])
            await web.wait_until_started(listener)
            status = await until(_url(listener))
            deadline.enter_context(leaving_at_latest(status))
            _close_listen_streams(server)
            await requests.drain(GRACE_S)
            web.should_exit = True
    return status


class OpenRequests:
    """ASGI middleware that knows the requests under way and can end them.

    The stream that a client of the 2025 protocol keeps open never ends by itself and would hold up the
    server's end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[anyio.CancelScope] = set()
        self._closing = False
        self._idle = anyio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request; one that is ended from outside still gets a complete response."""
        response = _Response(send)
        if self._closing:
            await response.finish(scope, receive)
            return
        with anyio.CancelScope() as mine:
            self._open.add(mine)
            try:
                await self._app(scope, receive, response.send)
            finally:
                self._discard(mine)
        if mine.cancelled_caught:
            await response.finish(scope, receive)

    async def drain(self, grace_s: float) -> None:
        """Refuses new requests, waits a little for the open ones, then ends them."""
        self._closing = True
        if self._open:
            with anyio.move_on_after(grace_s):
                await self._idle.wait()
        for scope in list(self._open):
            scope.cancel()

    def _discard(self, scope: anyio.CancelScope) -> None:
        self._open.discard(scope)
        if self._closing and not self._open:
            self._idle.set()


class _Response:
    """Watches how far a response has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False
        self._complete = False

    async def send(self, message: Message) -> None:
        self._started = True
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        if not self._started:
            gone: Response = JSONResponse({"error": "the server is shutting down"}, status_code=503)
            if is_api(scope["path"]):
                gone = Refusal(503, "ending", "The server is shutting down.").response()
            await gone(scope, receive, self._send)
        elif not self._complete:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Web(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process by the signal itself."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=bounded(limits),
                backlog=ACCEPTED_AT_ONCE,
                lifespan="off",
                ws="none",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield

    async def wait_until_started(self, listener: socket.socket) -> None:
        """Returns when connections are accepted, a few at once, while the system lets many more wait."""
        while not self.started:  # noqa: ASYNC110 - uvicorn sets a flag, not an event
            await anyio.sleep(0.01)
        listener.listen(MAX_UNACCEPTED)


def _built(settings: Settings, host: str) -> Server[Any]:
    from alita_mcp.server.build import build_server

    asks = is_loopback(host) if settings.elicit is None else settings.elicit
    closed = {"review": settings.review or "describe", "elicit": asks}
    return build_server(settings.model_copy(update=closed))


def _api(server: Server[Any], *, needs_token: bool) -> Sequence[Route]:
    """The API over the App of a server; none over a server that has no App of ours."""
    from alita_mcp.server.api.routes import api_routes
    from alita_mcp.server.build import DualEraServer

    return api_routes(server.shared, needs_token=needs_token) if isinstance(server, DualEraServer) else []


def _sessions(server: Server[Any], security: TransportSecuritySettings) -> ResumableSessions:
    return ResumableSessions(
        server,
        retry_interval=RETRY_MS,
        security_settings=security,
        session_idle_timeout=SESSION_IDLE_S,
        max_request_body_size=MAX_BODY_BYTES,
        max_sessions=MAX_SESSIONS,
    )


def _routes(
    sessions: ResumableSessions, pages: Sequence[Route], security: TransportSecuritySettings
) -> Starlette:
    async def health(_request: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "version": __version__})

    fixed = [Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions)), Route("/healthz", health)]
    guarded = [
        Route(page.path, endpoint=_SameHost(page.app, security), methods=page.methods) for page in pages
    ]
    return Starlette(routes=[*fixed, *guarded])


class _SameHost:
    """ASGI middleware that lets a page of another name or origin see nothing, as the SDK does for `/mcp`."""

    def __init__(self, app: ASGIApp, security: TransportSecuritySettings) -> None:
        self._app = app
        self._check = TransportSecurityMiddleware(security)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request whose host and origin are ours."""
        refused = await self._check.validate_request(Request(scope))
        if refused is not None and is_api(scope["path"]):
            what = "origin" if refused.status_code == HTTPStatus.FORBIDDEN else "host"
            told = Refusal(refused.status_code, f"unknown_{what}", f"The {what} is not one of this server's.")
            refused = told.response()
        await (refused or self._app)(scope, receive, send)


def _security(names: tuple[str, ...]) -> TransportSecuritySettings:
    """Hosts and origins that a request may name, each with any port; all others are refused."""
    hosts = [pattern for name in names for pattern in (name, f"{name}:*")]
    return TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts],
    )


def _names_of(host: str) -> tuple[str, ...]:
    """Names by which clients may call the address; listening on all: this machine's name and addresses."""
    if host not in EVERY_ADDRESS:
        return (_bracketed(host),)
    name = socket.gethostname()
    try:
        found = {str(address[0]) for *_, address in socket.getaddrinfo(name, None)}
    except OSError:
        found = set()
    return (name, *sorted(_bracketed(address) for address in found))


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65_535:
        raise UsageError(f"Cannot listen on port {port}: there is none of that number.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as refused:
        raise UsageError(
            f"Cannot listen on {host!r} port {port}: {refused}.", hint="Choose another address or port."
        ) from refused


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{_bracketed(host)}:{port}/mcp"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _close_listen_streams(server: Server[Any]) -> None:
    """Ends every `subscriptions/listen` stream with its final frame."""
    entry = server.get_request_handler("subscriptions/listen")
    if entry is not None and isinstance(entry.handler, ListenHandler):
        entry.handler.close()
