"""Routes of the pages under /ui: the entrance, the static files and the errors here, all else in `pages`."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from typing import NoReturn

import anyio
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alita_mcp.errors import AlitaError, LibraryError, SandboxBusy, SandboxError, ToolNotFound, TooMany
from alita_mcp.machine import edge_error
from alita_mcp.web.pages import activity, ask, decide, gaps, health, library, tool, tool_calls, worth
from alita_mcp.web.rendering import render
from alita_mcp.web.security import (
    SECURITY_HEADERS,
    SESSION_S,
    Refusal,
    Session,
    check_request,
    is_encrypted,
    is_longer_than,
    refuse_other_pages,
)
from alita_mcp.web.site import Site

FIRST_PAGE = "/ui/ask"
MAX_SIGN_IN_BYTES = 4_096
MAX_SIGN_INS = 8
"""At once: who has no session yet may hold no more connections than these."""
SIGN_IN_WITHIN_S = 5.0
MAX_STREAMS = 4
"""Event streams of one browser, which has six connections for all of its tabs: without a free one, none would load."""
PAUSED = (
    b"event: paused\ndata: <p class='panel'><span class='badge warn'>paused</span> Too many pages are open at once. "
    b"Reload this one to see it live.</p>\n\nevent: done\ndata: \n\n"
)
FOREVER = "public, max-age=31536000, immutable"
"""For files whose URL changes with what they hold."""

log = logging.getLogger(__name__)


PageRoutes = Callable[[Site], Sequence[Route]]
PAGES: Sequence[PageRoutes] = [
    page.routes for page in (ask, activity, library, tool, tool_calls, decide, gaps, worth, health)
]


def ui_application(site: Site, pages: Sequence[PageRoutes] = PAGES) -> ASGIApp:
    """The pages; the server decides which hosts and origins may reach them."""
    sign_ins = anyio.CapacityLimiter(MAX_SIGN_INS)

    def sign_in(request: Request, status: int = 200, message: str = "", hint: str = "") -> Response:
        takes_token = site.sessions.takes_token
        return render(
            request, "sign_in.html", status=status, message=message, hint=hint, takes_token=takes_token
        )

    async def enter(request: Request) -> Response:
        """Exchanges a one-time code, or the token, for a session."""
        if request.method == "POST":
            refuse_other_pages(request)
            given = await read_code(request)
        else:
            given = request.query_params.get("code", "")
        if not given or request.method == "HEAD":
            return sign_in(request)
        try:
            cookie = site.sessions.enter(given)
        except Refusal:
            if request.method == "GET" and site.sessions.read(request):  # a link that was kept
                return RedirectResponse(FIRST_PAGE, status_code=303)
            raise
        # A redirect would belong to whichever site the link was clicked on, and get no strict cookie.
        response = render(request, "entered.html", page=FIRST_PAGE)
        response.set_cookie(
            site.sessions.cookie, cookie, max_age=SESSION_S, path="/ui",
            httponly=True, samesite="strict", secure=is_encrypted(request),
        )  # fmt: skip
        return response

    async def read_code(request: Request) -> str:
        """What somebody without a session typed; a slow or large form takes nothing from others."""
        if is_longer_than(MAX_SIGN_IN_BYTES, request):
            raise Refusal(413, "This is too long for a token.")
        try:
            sign_ins.acquire_on_behalf_of_nowait(request)
        except anyio.WouldBlock:
            raise Refusal(429, "Too many sign in at once.", hint="Try again in a moment.") from None
        try:
            with anyio.fail_after(SIGN_IN_WITHIN_S):
                return str((await request.form()).get("code", ""))
        except TimeoutError:
            raise Refusal(408, "The form did not arrive in time.", hint="Send it again.") from None
        finally:
            sign_ins.release_on_behalf_of(request)
            await request.close()

    async def find_nothing(_request: Request) -> NoReturn:
        raise HTTPException(404)

    async def show_first_page(_request: Request) -> Response:
        return RedirectResponse(FIRST_PAGE, status_code=303)

    async def show_problem(request: Request, failed: Exception) -> Response:
        """What was raised, as a page, or as a line above the page where htmx asked."""
        status, message, hint = explain(failed)
        if request.headers.get("hx-request") == "true":
            response: Response = render(request, "_problem.html", status=status, message=message, hint=hint)
            response.headers.update({"hx-retarget": "#problem", "hx-reswap": "innerHTML show:top"})
            if status == 401:
                response.headers["hx-refresh"] = "true"
            return response
        if status == 401:
            return sign_in(request, status)
        if getattr(request.state, "session", None) is None:
            return sign_in(request, status, message, hint)
        return render(request, "error.html", status=status, message=message, hint=hint)

    router = Router(
        [
            Route("/", show_first_page),
            Route("/ui", show_first_page),
            Route("/ui/enter", enter, methods=["GET", "POST"]),
            Mount("/ui/static", GZipMiddleware(_Static(packages=[("alita_mcp.web", "static")]))),
            *(
                Route(route.path, check_request(site.sessions, route.endpoint), methods=route.methods)
                for page in pages
                for route in page(site)
            ),
            Route("/ui/{path:path}", check_request(site.sessions, find_nothing)),
        ]
    )
    handlers = dict.fromkeys((HTTPException, Exception), show_problem)
    application = ExceptionMiddleware(router, handlers=handlers)

    streams: dict[anyio.CancelScope, Session | None] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        """Adds the security headers to every response; ends a session's oldest event stream where it has too many."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if headers.get("content-type", "").startswith("text/event-stream"):
                    session = scope["state"].get("session")
                    others = [stream for stream, whose in streams.items() if whose == session]
                    for stream in others[: max(0, len(others) + 1 - MAX_STREAMS)]:
                        stream.cancel()
                    streams[mine] = session
            await send(message)

        with anyio.CancelScope() as mine:
            try:
                await application(scope, receive, send_with_headers)
            finally:
                streams.pop(mine, None)
        if mine.cancelled_caught:
            await send({"type": "http.response.body", "body": PAUSED, "more_body": False})

    return serve


def explain(raised: Exception) -> tuple[int, str, str]:
    """Status, message and hint for what a handler raised; nothing internal leaves the server."""
    failure = edge_error(raised)
    match failure:
        case Refusal():
            return failure.status, failure.message, failure.hint
        case MultiPartException():
            return 400, "The form cannot be read.", failure.message
        case HTTPException(status_code=404):
            return 404, "There is no such page.", ""
        case HTTPException():
            return failure.status_code, failure.detail, ""
        case AlitaError():
            statuses = {
                ToolNotFound: 404, TooMany: 429, SandboxBusy: 429, SandboxError: 503, LibraryError: 503,
            }  # fmt: skip
            status = next((code for kind, code in statuses.items() if isinstance(failure, kind)), 400)
            return status, failure.message, failure.hint
    number = secrets.token_hex(4)
    log.error("internal error %s", number, exc_info=failure)
    return 500, f"Internal error (id {number}).", "See the server's log."


class _Static(StaticFiles):
    """The files of the package, which browsers need not ask for twice."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if b"v=" in scope["query_string"]:
            response.headers["cache-control"] = FOREVER
        return response
