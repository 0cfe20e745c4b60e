"""Read-only HTTP routes of the page: `/ui` for people, `/ui/library.json` for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.web.page import CONTENT_SECURITY_POLICY, library_page

EVENTS = 50
TOOLS = 500
"""So many tools stand on one page."""
_PRIVATE: Mapping[str, Any] = {"manifest": {"digest"}, "last_used": True}
"""What no program with the token is told: the digest that approves, when others called."""


def library_routes(library: Library, per_page: int = TOOLS) -> list[Route]:
    """Routes over an open library; the server decides who may reach them."""

    async def page(request: Request) -> Response:
        after = request.query_params.get("after", "")
        text = await anyio.to_thread.run_sync(_page, library, after, per_page)
        headers = {"content-security-policy": CONTENT_SECURITY_POLICY, "cache-control": "no-store"}
        return HTMLResponse(text, headers=headers)

    async def catalogue(_request: Request) -> Response:
        return StreamingResponse(_json_array(library.tools.entries()), media_type="application/json")

    return [Route("/ui", page), Route("/ui/library.json", catalogue)]


def _page(library: Library, after: str, per_page: int) -> str:
    names = library.tools.names(after=after, limit=per_page + 1)
    entries = list(library.tools.some(names[:per_page]).values())
    following = names[per_page - 1] if len(names) > per_page else None
    total = sum(library.tools.counts().values())
    return library_page(entries, library.journal(EVENTS), total, following)


def _json_array(entries: Iterator[CatalogueEntry]) -> Iterator[str]:
    yield "["
    for number, entry in enumerate(entries):
        yield f"{',' if number else ''}{entry.model_dump_json(exclude=_PRIVATE)}"
    yield "]"
