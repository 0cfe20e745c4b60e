"""Library: all tools page by page, search as one types, and how a tool stands in the words of the pages."""

from __future__ import annotations

from typing import NamedTuple

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.library.catalogue.waiting import WaitingVersion
from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry, JournalRow
from alita_mcp.web.rendering import render
from alita_mcp.web.site import Site

TOOLS = 50
"""So many tools stand on one page."""
FOUND = 10
MAX_QUERY = 1_000
_VERDICTS = {
    "match": "A match.",
    "possible": "Possible matches: look closer.",
    "none": "No match; these are the nearest.",
}


class Badge(NamedTuple):
    """A word in a colour."""

    colour: str
    """`ok`, `warn`, `bad`, or nothing."""
    word: str


class ToolRow(NamedTuple):
    """One tool in the list."""

    entry: CatalogueEntry
    badges: list[Badge]
    last_call: JournalRow | None


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
    last_calls, waiting, rows = library.tools.last_calls(names), waiting_versions(library), []
    for name, entry in library.tools.some(names).items():
        origin = library.tools.origin(name, entry.manifest.version)
        badges = badges_of(entry, waiting.get(name), reviewed=origin.reviewed)
        rows.append(ToolRow(entry, badges, last_calls.get(name)))
    return rows


def badges_of(entry: CatalogueEntry, waiting: WaitingVersion | None, *, reviewed: bool) -> list[Badge]:
    """Trust of the current version, and whatever keeps a tool from being called or seen as others are.

    `waiting`: the version of it that asks for what it was not granted.
    """
    trust = entry.manifest.trust
    found = [Badge("ok" if trust == "verified" else "warn", trust)]
    if entry.state != "enabled":
        found.append(Badge("bad", entry.state))
    if waiting is not None and not waiting.set_aside:
        other = "" if waiting.manifest.version == waiting.current else f"v{waiting.manifest.version} "
        found.append(Badge("warn", f"{other}waits for approval"))
    elif not entry.approved:
        found.append(Badge("warn", "not approved"))
    if not reviewed:
        found.append(Badge("", "unreviewed"))
    if entry.pinned:
        found.append(Badge("", "pinned"))
    return found


def describe_standing(entry: CatalogueEntry) -> str:
    """What the actions of a tool's page change, as in `v3, enabled, pinned`."""
    return f"v{entry.manifest.version}, {entry.state}{', pinned' if entry.pinned else ''}"


def waiting_versions(library: Library) -> dict[str, WaitingVersion]:
    """Versions that ask for what they were not granted, by the names of their tools; blocks."""
    return {each.manifest.name: each for each in library.waiting_versions()}
