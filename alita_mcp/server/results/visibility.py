"""Ways in which a client can call a tool now, and when its list shows it, from what it was seen to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from alita_mcp.errors import AlitaError, ToolNotFound

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.library.rows import CatalogueEntry
    from alita_mcp.server.client.observed import Observed
    from alita_mcp.server.sources import ToolCall

LISTS_WITHIN_S = 0.3
"""How long after it was told of a change a client may take to ask for its list while a result waits for that."""
IN_HAND_S = 0.05
"""How long a client may take from its list to the tools of its next request."""
CALLABLE = ("direct", "run_tool")
_UNLISTED = "in search"


def call_of(entry: CatalogueEntry, app: App, client: Observed) -> dict[str, str]:
    """`call` of a tool for one client: `direct`, `run_tool`, `after approval`, or `not here` with the `reason`."""
    reason = app.why_not(entry.manifest) if entry.state == "enabled" else f"is {entry.state}"
    if reason:
        return {"call": "not here", "reason": reason}
    if not entry.approved:
        return {"call": "after approval"}
    return {"call": "direct" if client.has(entry.name) else "run_tool"}


def call_and_visible(name: str, call: ToolCall) -> dict[str, str]:
    """`call` of a tool that a result is about, and `visible`: when the list of the client that asks shows it.

    Empty where the tool cannot be read any more.
    """
    try:
        entry = call.app.library.entry(name)
    except AlitaError:
        return {}
    client = call.client
    way = call_of(entry, call.app, client)
    if way["call"] not in CALLABLE:
        return way
    shows = client.has_listed(call.announcer.changes) or client.lists_after_hints
    soon = "now" if shows else "after reconnect"
    return way | {"visible": soon if _is_listed(name, call.app) else _UNLISTED}


async def until_listed(name: str, call: ToolCall) -> None:
    """Holds back the result of a change until the list of the client that asked for it shows that change.

    `LISTS_WITHIN_S` from its hint on at most, and not at all for a client that did not follow the last hint or has no
    stream to hear them on. The hint goes out first.
    """
    client, change = call.client, call.announcer.changes
    if not client.has_listed(change):
        if not client.can_hear or not _is_listed(name, call.app):
            return
        with anyio.move_on_after(LISTS_WITHIN_S):
            await client.until_told(change)
        if client.ignores_hints:
            return
        with anyio.CancelScope(deadline=client.told_at + LISTS_WITHIN_S):
            await client.until_listed(change)
        if not client.has_listed(change):
            client.ignores_hints = client.is_told(change)
            return
    await anyio.sleep_until(client.listed_at + IN_HAND_S)  # the client's next request then holds its list


def next_step(fit: str, results: Sequence[dict[str, Any]], likely: Sequence[bool]) -> str:
    """Advice after a search; names a tool to call only where that can be called. `likely` are its hits that fit."""
    if fit == "none":
        return "call synthesize_tool"
    if fit == "possible":
        return "see whether a result that can be called serves; if none does, call synthesize_tool"
    fitting = [row for row, fits in zip(results, likely, strict=True) if fits]
    if able := next((row for row in fitting if row["call"] in CALLABLE), None):
        return f"call {able['name']}" + (" through run_tool" if able["call"] == "run_tool" else "")
    first = fitting[0]
    return f"{first['name']} {said_of(first)}; tell the user, or call synthesize_tool for a tool that does without"


def with_ways(missing: ToolNotFound, app: App, client: Observed) -> ToolNotFound:
    """The error for a name that no tool has, with how each of the nearest ones can be called."""
    ways = {
        entry.name: call_of(entry, app, client) for entry in app.library.tools.some(missing.nearest).values()
    }
    said = [f"{name} ({said_of(ways[name])})" if name in ways else name for name in missing.nearest]
    near = f"Nearest: {', '.join(said)}. " if said else ""
    hint = near + "search_capabilities finds tools by what they do."
    return ToolNotFound(missing.message, hint=hint, nearest=missing.nearest)


def said_of(way: Mapping[str, Any]) -> str:
    """`call` in words that follow a tool's name."""
    if way["call"] == "not here":
        return f"cannot run here: it {way['reason']}"
    said = {
        "direct": "can be called by its name",
        "run_tool": "can be called through run_tool",
        "after approval": "can be called after a person approves it",
    }
    return said[way["call"]]


def _is_listed(name: str, app: App) -> bool:
    return any(entry.name == name for entry in app.visible_tools())
