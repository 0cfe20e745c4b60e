"""How a connected client can call a tool now, and when its list shows the tool by itself; never a promise too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.sources import Context

REFRESHING = ("claude-code", "zed", "visual studio code", "alita")
"""Clients, by the beginning of the name they give, that make a new tool callable within the conversation."""
NOT_REFRESHING = ("claude-ai", "claude desktop", "codex", "openai", "chatgpt", "goose")
"""Clients that read the list once and keep it until they are started again."""


def call_and_visible(ctx: Context, name: str, app: App) -> dict[str, str]:
    """`call` and `visible` of a tool that was just published, for the client that asked for it.

    Every client can use `run_tool`; the table knows who can do better, and who must be told to wait.
    """
    if name not in {entry.name for entry in app.listed()}:
        return {"call": "run_tool", "visible": "in search"}
    client = ctx.session.client_params
    known_as = client.client_info.name.lower() if client else ""
    if known_as.startswith(NOT_REFRESHING):
        return {"call": "run_tool", "visible": "after reconnect"}
    return {"call": "direct" if known_as.startswith(REFRESHING) else "run_tool", "visible": "now"}
