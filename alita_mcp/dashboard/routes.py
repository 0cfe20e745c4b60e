"""The dashboard's routes for the HTTP server: `/ui` for people, `/ui/library.json` for programs. Read-only."""

from __future__ import annotations

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from alita_mcp.dashboard.page import CONTENT_SECURITY_POLICY, library_page
from alita_mcp.library.library import Library

EVENTS = 50


def dashboard_routes(library: Library) -> list[Route]:
    """Routes over an open library; who may reach them is the server's to decide."""

    async def page(_request: Request) -> Response:
        journal = await anyio.to_thread.run_sync(library.journal, EVENTS)
        headers = {"content-security-policy": CONTENT_SECURITY_POLICY, "cache-control": "no-store"}
        return HTMLResponse(library_page(library.entries(), journal), headers=headers)

    async def catalogue(_request: Request) -> Response:
        return JSONResponse([entry.model_dump(mode="json") for entry in library.entries()])

    return [Route("/ui", page), Route("/ui/library.json", catalogue)]
