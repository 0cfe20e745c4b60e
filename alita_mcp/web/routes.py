"""Routes of the pages under /ui: the entrance, the static files and the errors here, all else in `pages`."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

import anyio
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alita_mcp.errors import AlitaError, ToolNotFound
from alita_mcp.machine import edge_error
from alita_mcp.web.pages import activity, ask, decide, gaps, health, library, tool, worth
from alita_mcp.web.rendering import render
from alita_mcp.web.security import (
    NOT_SIGNED_IN,
    PERSON,
    SECURITY_HEADERS,
    SESSION_S,
    Refusal,
    check_request,
    refuse_other_pages,
)
from alita_mcp.web.site import Site

FIRST_PAGE = "/ui/ask"
MAX_CODE = 4_096
MAX_STREAMS = 4
"""Event streams of one browser, which has six connections for all of its tabs: without a free one, none would load."""
PAUSED = (
    b"event: paused\ndata: <p class='panel'><span class='badge warn'>paused</span> Too many pages are open at once. "
    b"Reload this one to see it live.</p>\n\nevent: done\ndata: \n\n"
)

log = logging.getLogger(__name__)


PageRoutes = Callable[[Site], Sequence[Route]]
PAGES: Sequence[PageRoutes] = [
    page.routes for page in (ask, activity, library, tool, decide, gaps, worth, health)
]


def ui_application(site: Site, pages: Sequence[PageRoutes] = PAGES) -> ASGIApp:
    """The pages; the server decides which hosts and origins may reach them."""
    sessions = site.sessions

    async def enter(request: Request) -> Response:
        """Exchanges a one-time code, or the token, for a session."""
        given = request.query_params.get("code", "")
        if request.method == "POST":
            refuse_other_pages(request)
            given = str((await request.form(max_files=0, max_part_size=MAX_CODE)).get("code", ""))
        if not given or request.method == "HEAD":
            raise Refusal(401, NOT_SIGNED_IN)
        known = sessions.read(request)
        if request.method == "GET" and known and known[1] is PERSON:
            with suppress(Refusal):  # an old link is as good; the forms of open pages stay valid
                sessions.enter(given)
            return await show_first_page(request)
        cookie = sessions.enter(given)
        # A redirect would belong to whichever site the link was clicked on, and get no strict cookie.
        response = HTMLResponse(
            f'<a href="{FIRST_PAGE}">Go on</a>', headers={"refresh": f"0;url={FIRST_PAGE}"}
        )
        is_secure = "https" in (request.url.scheme, request.headers.get("origin", "").partition(":")[0])
        response.set_cookie(
            sessions.cookie, cookie, SESSION_S, path="/ui", secure=is_secure, httponly=True, samesite="strict"
        )
        return response

    async def find_nothing(_request: Request) -> NoReturn:
        raise HTTPException(404)

    async def show_first_page(_request: Request) -> Response:
        return RedirectResponse(FIRST_PAGE, status_code=303)

    async def show_problem(request: Request, failed: Exception) -> Response:
        """What was raised, as a page, or as a line above the page where htmx asked."""
        status, message, hint = explain(failed)
        if status == 401:
            message = ""  # the form says it
        values = {"message": message, "hint": hint, "takes_token": sessions.takes_token}
        response = render(request, "error.html", status=status, **values)
        place = {"hx-retarget": "#problem", "hx-reswap": "innerHTML show:top", "hx-reselect": ".problem"}
        response.headers.update(place)
        if status == 401:
            response.headers["hx-refresh"] = "true"
        return response

    router = Router(
        [
            Route("/", show_first_page),
            Route("/ui", show_first_page),
            Route("/ui/enter", enter, methods=["GET", "POST"]),
            Mount("/ui/static", GZipMiddleware(StaticFiles(packages=[("alita_mcp.web", "static")]))),
            *(
                Route(route.path, check_request(sessions, route.endpoint), methods=route.methods)
                for page in pages
                for route in page(site)
            ),
            Route("/ui/{path:path}", check_request(sessions, find_nothing)),
        ]
    )
    handlers = dict.fromkeys((HTTPException, Exception), show_problem)
    application = ExceptionMiddleware(router, handlers=handlers)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        """Adds the security headers to every response; ends a session's oldest event stream where it has too many."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if headers.get("content-type", "").startswith("text/event-stream"):
                    session = scope["state"]["session"]
                    others = [stream for stream, whose in sessions.streams.items() if whose == session]
                    for stream in others[: max(0, len(others) + 1 - MAX_STREAMS)]:
                        stream.cancel()
                    sessions.streams[mine] = session
            await send(message)

        with anyio.CancelScope() as mine:
            try:
                await application(scope, receive, send_with_headers)
            finally:
                sessions.streams.pop(mine, None)
        if mine.cancelled_caught:
            await send({"type": "http.response.body", "body": PAUSED, "more_body": False})

    return serve


def explain(raised: Exception) -> tuple[int, str, str]:
    """Status, message and hint for what a handler raised; nothing internal leaves the server."""
    failure = edge_error(raised)
    match failure:
        case Refusal():
            return failure.status, failure.message, failure.hint
        case AlitaError():
            return 404 if isinstance(failure, ToolNotFound) else 400, failure.message, failure.hint
        case MultiPartException() | ClientDisconnect():
            return 400, "The form cannot be read.", str(failure)
        case HTTPException(status_code=404):
            return 404, "There is no such page.", ""
        case HTTPException():
            return failure.status_code, failure.detail, ""
    number = secrets.token_hex(4)
    log.error("internal error %s", number, exc_info=failure)
    return 500, f"Internal error (id {number}).", "See the server's log."
