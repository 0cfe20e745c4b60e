"""Streamable HTTP transport at `/mcp` for many clients, in both protocol eras, until a signal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.subscriptions import ListenHandler
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from alita_mcp.event_loop import collect_garbage_rarely
from alita_mcp.server.transports.access import Access
from alita_mcp.server.transports.connections import ConnectionLimits
from alita_mcp.server.transports.guard import (
    EVERY_ADDRESS,
    HEALTH_PATH,
    READY_PATH,
    host_names,
    in_brackets,
    is_page,
    refuse_open_server,
)
from alita_mcp.server.transports.http_token import STATE_KEY_FILE, ensure_key
from alita_mcp.server.transports.local.clients import share_server
from alita_mcp.server.transports.local.pages import LOOPBACK, Pages
from alita_mcp.server.transports.malformed import answer_malformed
from alita_mcp.server.transports.sessions import IDLE_S, ResumableSessions
from alita_mcp.server.transports.shutdown import Drain, wait_for_signal
from alita_mcp.server.transports.web_server import listen, serve_requests
from alita_mcp.settings import Settings

MCP_PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
MAX_SESSIONS = 256
RETRY_MS = 500
"""How soon a client that lost its stream is asked to come back."""


async def until_signal(url: str, drain: Drain, notice: str = "") -> int:
    """Writes the notice and where the server listens, and waits for a signal; returns the exit status."""
    return await wait_for_signal(f"{notice}alita: serving MCP at {url}\n", drain)


async def serve_http(
    settings: Settings,
    host: str,
    port: int,
    *,
    token: str | None,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    server: Server[Any] | None = None,
    limits: ConnectionLimits | None = None,
    until: Callable[[str, Drain], Awaitable[int]] = until_signal,
) -> int:
    """Serves for as long as `until` runs, which is given the URL and how to drain; returns the status that it gives.

    Without a `token` none is asked for. `allowed_hosts` are further names under which clients may reach the server, as
    a proxy in front of it has; pages of the `allowed_origins` may call it from a browser. Port 0 takes a free port.

    Raises:
        UsageError: the address cannot be bound, or there is no token and there must be one.
        LibraryError: as `ensure_key`.
    """
    from alita_mcp.server.api.tasks import api_routes
    from alita_mcp.server.build import DualEraServer, build_server
    from alita_mcp.server.transports.readiness import Readiness

    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper())
    collect_garbage_rarely()
    if token is None:
        refuse_open_server(settings, host, allowed_hosts, allowed_origins)
    shares = bool(settings.library_url)
    state_key = await anyio.to_thread.run_sync(ensure_key, settings, STATE_KEY_FILE) if shares else None
    with listen(host, port) as listener:
        server = server or build_server(settings, state_key=state_key)
        sessions = ResumableSessions(
            server,
            retry_interval=RETRY_MS,
            session_idle_timeout=IDLE_S,
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=MAX_SESSIONS,
        )
        readiness = Readiness(settings, server.shared if isinstance(server, DualEraServer) else None)
        routes: list[BaseRoute] = [Route(HEALTH_PATH, _health), Route(READY_PATH, readiness.answer)]
        access = Access(token, settings)
        routes += access.routes
        pages = None
        bound_host, bound_port = listener.getsockname()[:2]
        if isinstance(server, DualEraServer):
            reached_at = LOOPBACK if host in EVERY_ADDRESS else bound_host
            address = f"{in_brackets(reached_at)}:{bound_port}"
            pages = Pages(server.shared, settings, access=access, address=address)
            routes += api_routes(server.shared)
        mcp = AuthContextMiddleware(answer_malformed(StreamableHTTPASGIApp(sessions)))
        others = Starlette(routes=routes)

        async def route(scope: Scope, receive: Receive, send: Send) -> None:
            """Spares the many requests to `/mcp` the layers of the few others."""
            if scope["path"] == MCP_PATH:
                await mcp(scope, receive, send)
            elif pages is not None and is_page(scope["path"]):
                await pages(scope, receive, send)
            else:
                await others(scope, receive, send)

        names = [*host_names(host), *allowed_hosts]
        async with (
            access.follow_tokens(),
            sessions.run(),
            share_server(server, settings, pages) as stopped,
            serve_requests(route, listener, access, names, allowed_origins, limits=limits) as requests,
            AsyncExitStack() as serving,
        ):

            def end_listening() -> None:
                """The listen streams of 2026-07-28 end with a final frame; GET streams of 2025 never do."""
                listening = server.get_request_handler("subscriptions/listen")
                if listening is not None and isinstance(listening.handler, ListenHandler):
                    listening.handler.close()

            if settings.metrics is not None:
                from alita_mcp.server.transports.metrics import Metrics, serve_metrics

                metrics = Metrics(settings.max_workers, readiness, sessions)
                if isinstance(server, DualEraServer):
                    server.shared.watch = lambda app: app.activity.tell(metrics.record)
                await serving.enter_async_context(serve_metrics(settings.metrics, metrics))
            drain = Drain(
                partial(readiness.drain, requests, end_listening),
                settings.drain_grace_s + settings.drain_limit_s,
            )
            status = 0
            async with anyio.create_task_group() as waiting:

                async def end_when_stopped() -> None:
                    await stopped.wait()
                    waiting.cancel_scope.cancel()

                waiting.start_soon(end_when_stopped)
                status = await until(f"http://{in_brackets(bound_host)}:{bound_port}{MCP_PATH}", drain)
                waiting.cancel_scope.cancel()
            end_listening()
    return status


async def _health(_request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
