"""Library: all tools page by page, and search as one types."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.library.library import Library
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

TOOLS = 50
"""So many tools stand on one page."""
FOUND = 10
MAX_QUERY = 1_000


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show(request: Request) -> Response:
        library, asked = (await site.app_of(request)).library, request.query_params
        words = asked.get("q", "").strip()[:MAX_QUERY]
        answer = await library.search(words, FOUND) if words else None
        names = [hit.name for hit in answer.results] if answer else []
        page = await anyio.to_thread.run_sync(_describe, library, words, names, asked.get("after", ""))
        page |= {"words": words, "fit": answer.fit if answer else ""}
        return render(request, "library.html", **page)

    return [Route("/ui/library", show)]


def _describe(library: Library, words: str, found: list[str], after: str) -> dict[str, Any]:
    """The tools that are shown: those found and those that have the words in their names, or a page of all."""
    tools, following = library.tools, ""
    if words:
        part = "_".join(words.lower().split())
        named = [name for name in tools.names_like(part) if part in name]
        names = list(dict.fromkeys([*named[:FOUND], *found]))
    else:
        names = tools.names(after=after, limit=TOOLS + 1, deleted=True)
        following = names[TOOLS - 1] if len(names) > TOOLS else ""
    entries, waiting = tools.some(names[:TOOLS]), library.waiting_versions()
    return {
        "entries": entries,
        "waiting": {each.manifest.name: each for each in waiting},
        "reviewed": {
            name for name, each in entries.items() if tools.origin(name, each.manifest.version).reviewed
        },
        "last_calls": tools.last_calls(list(entries)),
        "after": after,
        "following": following,
    }
