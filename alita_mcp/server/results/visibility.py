"""How a client can call a tool now, and when its list shows it, from what it was seen to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from alita_mcp.errors import AlitaError, ToolNotFound

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.library.rows import CatalogueEntry
    from alita_mcp.server.client.tool_list import ClientToolList
    from alita_mcp.server.sources import ToolCall

LISTS_WITHIN_S = 0.3
"""How long after a hint a client may take to ask for its list while a result waits for that."""
IN_HAND_S = 0.05
"""How long a client may take from its list to the tools of its next request."""
CALLABLE = {
    "direct": "can be called by its name",
    "run_tool": "can be called through run_tool",
}


def call_of(entry: CatalogueEntry, app: App, client: ClientToolList) -> dict[str, str]:
    """`call` of a tool for one client: `direct`, `run_tool`, `after approval`, or `not here` with the `reason`."""
    why_not = app.calls.verifier.why_not
    reason = why_not(entry.manifest) if entry.state == "enabled" else f"is {entry.state}"
    if reason:
        return {"call": "not here", "reason": reason}
    if not entry.approved:
        return {"call": "after approval"}
    return {"call": "direct" if client.has_tool(entry.name) else "run_tool"}


def call_phrase(call: Mapping[str, Any]) -> str:
    """`call` in words that follow a tool's name."""
    if call["call"] == "not here":
        return f"cannot run here: it {call['reason']}"
    return CALLABLE.get(call["call"], "can be called after a person approves it")


def call_and_visible(name: str, call: ToolCall) -> dict[str, str]:
    """`call` of a tool that a result is about, and `visible`: when the list of the client that asks shows it.

    Empty if the tool is gone.
    """
    try:
        entry = call.app.library.entry(name)
    except AlitaError:
        return {}
    fields = call_of(entry, call.app, call.client)
    if fields["call"] not in CALLABLE:
        return fields
    if not _is_listed(name, call.app):
        return fields | {"visible": "in search"}
    is_shown = call.client.has_change(call.announcer.changes) or call.client.follows
    return fields | {"visible": "now" if is_shown else "after reconnect"}


async def wait_until_listed(name: str, call: ToolCall) -> None:
    """Holds back the result of a change until the list of the client that asked for it shows that change."""
    client, change = call.client, call.announcer.changes
    # 1. The client has the change already.
    # 2. It cannot hear of it, no list will ever show the tool, or it ignored the last change: nothing to wait for.
    # 3. It has `LISTS_WITHIN_S` to ask for its list.
    if not client.has_change(change):
        if not client.can_hear or client.ignores_hints or not _is_listed(name, call.app):
            return
        with anyio.move_on_after(LISTS_WITHIN_S):
            await client.wait_for_change(change)
        if not client.has_change(change):
            client.ignores_hints = True
            return
    await anyio.sleep_until(client.listed_at + IN_HAND_S)  # the client's next request then holds its list


def next_step(fit: str, results: Sequence[dict[str, Any]], likely: Sequence[bool]) -> str:
    """Advice after a search; names a tool to call only where that can be called. `likely` says which results fit."""
    if fit == "none":
        return "call synthesize_tool"
    if fit == "possible":
        return "check whether a result that can be called fits; if none does, call synthesize_tool"
    fitting = [row for row, fits in zip(results, likely, strict=True) if fits]
    if row := next((row for row in fitting if row["call"] in CALLABLE), None):
        return f"call {row['name']}" + (" through run_tool" if row["call"] == "run_tool" else "")
    name, phrase = fitting[0]["name"], call_phrase(fitting[0])
    return f"{name} {phrase}; tell the user, or call synthesize_tool for a tool that works without that"


def name_nearest(missing: ToolNotFound, app: App, client: ClientToolList) -> ToolNotFound:
    """The error for a name that no tool has, with how each of the nearest ones can be called."""
    entries = app.library.tools.some(missing.nearest)
    phrases = [
        f"{name} ({call_phrase(call_of(entries[name], app, client))})" if name in entries else name
        for name in missing.nearest
    ]
    nearest = f"Nearest: {', '.join(phrases)}. " if phrases else ""
    hint = nearest + "search_capabilities finds tools by what they do."
    return ToolNotFound(missing.message, hint=hint, nearest=missing.nearest)


def _is_listed(name: str, app: App) -> bool:
    return any(entry.name == name for entry in app.visible_tools())
