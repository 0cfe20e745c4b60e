"""Routes of the pages under /ui, behind the check of session and CSRF token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from alita_mcp.errors import AlitaError
from alita_mcp.web.pages import activity, ask, decide, gaps, health, library, worth
from alita_mcp.web.rendering import render
from alita_mcp.web.security import SESSION_S
from alita_mcp.web.site import Site

OPEN_PATHS = ("/ui/enter", "/ui/static/")
"""What needs no session."""
SAFE_METHODS = ("GET", "HEAD")


def ui_application(site: Site) -> Starlette:
    """The pages; the server decides which hosts and origins may reach them."""

    async def enter(request: Request) -> Response:
        """Exchanges a one-time code for a session."""
        session = site.sessions.redeem_code(request.query_params.get("code", ""))
        if session is None:
            return render(
                request,
                "error.html",
                status=403,
                message="This code was used or is too old.",
                hint="Run: alita ui",
            )
        response = RedirectResponse("/ui", status_code=303)
        response.set_cookie(
            site.sessions.cookie, session, max_age=SESSION_S, path="/ui", httponly=True, samesite="strict"
        )
        return response

    async def home(_request: Request) -> Response:
        return RedirectResponse("/ui/ask", status_code=303)

    async def check(request: Request, call_next: RequestResponseEndpoint) -> Response:
        return await check_request(site, request, call_next)

    pages = (ask, activity, library, decide, gaps, worth, health)
    return Starlette(
        routes=[
            Route("/ui", home),
            Route("/ui/enter", enter),
            Mount("/ui/static", StaticFiles(packages=[("alita_mcp.web", "static")])),
            *(route for page in pages for route in page.routes(site)),
        ],
        middleware=[Middleware(GZipMiddleware), Middleware(BaseHTTPMiddleware, dispatch=check)],
        exception_handlers={AlitaError: show_error},
    )


async def check_request(
    site: Site, request: Request, call_next: Callable[[Request], Awaitable[Response]]
) -> Response:
    """Serves a request of a session; refuses others, and changes without the session's CSRF token."""
    if request.url.path.startswith(OPEN_PATHS):
        return await call_next(request)
    if not site.sessions.is_signed_in(request):
        return render(
            request, "error.html", status=401, message="You are not signed in.", hint="Run: alita ui"
        )
    token = request.state.csrf_token = site.sessions.csrf_token(request)
    if request.method not in SAFE_METHODS:
        sent = request.headers.get("x-csrf-token") or str((await request.form()).get("csrf_token", ""))
        if not hmac.compare_digest(sent.encode(), token.encode()):
            return render(
                request,
                "error.html",
                status=403,
                message="The form is out of date.",
                hint="Reload the page and try again.",
            )
    return await call_next(request)


async def show_error(request: Request, failed: Exception) -> Response:
    """An error of ours as a page."""
    hint = getattr(failed, "hint", "") or ""
    return render(request, "error.html", status=400, message=str(failed), hint=hint)
