"""Library: all tools page by page, and search as one types."""

from __future__ import annotations

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry, JournalRow
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site
from alita_mcp.web.standing import Badge, badges_of, waiting_version

TOOLS = 50
"""So many tools stand on one page."""
FOUND = 20
MAX_QUERY = 1_000
_VERDICTS = {
    "match": "A match.",
    "possible": "Possible matches: look closer.",
    "none": "No match; these are the nearest.",
}


class ToolRow:
    """One tool in the list."""

    def __init__(self, library: Library, entry: CatalogueEntry, last_call: JournalRow | None) -> None:
        self.entry = entry
        self.last_call = last_call
        origin = library.tools.origin(entry.name, entry.manifest.version)
        self.badges: list[Badge] = badges_of(entry, reviewed=origin.reviewed)
        waiting = waiting_version(library, entry)
        if waiting is not None and entry.approved:
            self.badges.append(Badge("warn", f"v{waiting} waits for approval"))


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show(request: Request) -> Response:
        library = (await site.app()).library
        words = request.query_params.get("q", "").strip()[:MAX_QUERY]
        after, deleted = request.query_params.get("after", ""), "deleted" in request.query_params
        verdict, following = "", None
        if words:
            answer = await library.search(words, FOUND)
            verdict = _VERDICTS[answer.fit]
            named = await anyio.to_thread.run_sync(_names_with, library, words)
            names = list(dict.fromkeys([*named, *(hit.name for hit in answer.results)]))
        else:
            names = await anyio.to_thread.run_sync(
                lambda: library.tools.names(after=after, limit=TOOLS + 1, deleted=deleted)
            )
            following = names[TOOLS - 1] if len(names) > TOOLS else None
        rows = await anyio.to_thread.run_sync(_rows, library, names[:TOOLS])
        is_part = request.headers.get("hx-request") == "true"
        return render(
            request,
            "_tools.html" if is_part else "library.html",
            words=words,
            verdict=verdict,
            rows=rows,
            after=after,
            deleted=deleted,
            following=following,
            counts=await anyio.to_thread.run_sync(library.tools.counts),
        )

    return [Route("/ui/library", show)]


def _names_with(library: Library, words: str) -> list[str]:
    """Names of tools that hold the words, disabled ones too, which a search does not find."""
    part = "_".join(words.lower().split())
    return [name for name in library.tools.names_like(part) if part in name][:FOUND]


def _rows(library: Library, names: list[str]) -> list[ToolRow]:
    last_calls = library.tools.last_calls(names)
    found = library.tools.some(names)
    return [ToolRow(library, entry, last_calls.get(name)) for name, entry in found.items()]
