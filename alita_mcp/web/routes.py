"""Routes of the pages under /ui, behind the check of session and CSRF token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from alita_mcp.errors import AlitaError, ToolNotFound
from alita_mcp.web.pages import activity, ask, decide, gaps, health, library, tool, tool_calls, worth
from alita_mcp.web.rendering import render
from alita_mcp.web.security import SESSION_S
from alita_mcp.web.site import Site

MAX_FORM_BYTES = 65 << 20
"""Of a form with its files."""
MAX_FORM_FILES, MAX_FORM_FIELDS = 20, 1_000
MAX_DROPPED_BYTES = 1 << 30
SAFE_METHODS = ("GET", "HEAD")
Endpoint = Callable[[Request], Awaitable[Response]]


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

    pages = (ask, activity, library, tool, tool_calls, decide, gaps, worth, health)
    return Starlette(
        routes=[
            Route("/ui", check_session(site, home)),
            Route("/ui/enter", enter),
            Mount("/ui/static", StaticFiles(packages=[("alita_mcp.web", "static")])),
            *(
                Route(route.path, check_session(site, route.endpoint), methods=route.methods)
                for page in pages
                for route in page.routes(site)
            ),
        ],
        middleware=[Middleware(GZipMiddleware)],
        exception_handlers={AlitaError: show_error, HTTPException: show_refusal},
    )


def check_session(site: Site, endpoint: Endpoint) -> Endpoint:
    """Serves requests of a session; refuses others, changes without the session's CSRF token, and large forms.

    The endpoint gets the same request, so that a form is read once: `await request.form()` has it already.
    """

    async def serve(request: Request) -> Response:
        if not site.sessions.is_signed_in(request):
            return render(
                request, "error.html", status=401, message="You are not signed in.", hint="Run: alita ui"
            )
        token = request.state.csrf_token = site.sessions.csrf_token(request)
        if request.method in SAFE_METHODS:
            return await endpoint(request)
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_FORM_BYTES:
            await _drop_body(request)
            return render(
                request,
                "error.html",
                status=413,
                message=f"The form and its files exceed {MAX_FORM_BYTES >> 20} MB.",
                hint="Choose fewer or smaller files.",
            )
        try:
            form = await request.form(max_files=MAX_FORM_FILES, max_fields=MAX_FORM_FIELDS)
            sent = request.headers.get("x-csrf-token") or str(form.get("csrf_token", ""))
            if not hmac.compare_digest(sent.encode(), token.encode()):
                return render(
                    request,
                    "error.html",
                    status=403,
                    message="The form is out of date.",
                    hint="Reload the page and try again.",
                )
            return await endpoint(request)
        finally:
            await request.close()

    return serve


async def _drop_body(request: Request) -> None:
    """Reads what is not wanted: a browser that cannot send it all would not show the refusal."""
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_DROPPED_BYTES:
            return


async def show_error(request: Request, failed: Exception) -> Response:
    """An error of ours as a page."""
    status = 404 if isinstance(failed, ToolNotFound) else 400
    message, hint = (failed.message, failed.hint) if isinstance(failed, AlitaError) else (str(failed), "")
    return render(request, "error.html", status=status, message=message, hint=hint)


async def show_refusal(request: Request, failed: Exception) -> Response:
    """A request that no page takes, as a page."""
    status, detail = (failed.status_code, failed.detail) if isinstance(failed, HTTPException) else (400, "")
    return render(request, "error.html", status=status, message=detail, hint="")
