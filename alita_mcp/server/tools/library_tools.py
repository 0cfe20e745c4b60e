"""Tool source of the library: the promoted tools in the list, every published tool by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import mcp_types as types

from alita_mcp.errors import AlitaError
from alita_mcp.library.unreviewed import origin_if_unreviewed
from alita_mcp.server.results.delivery import run_tool
from alita_mcp.server.tools.definitions import definition_of

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.owners import Maker
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.values import Manifest


MAX_FOUND = 512


class LibraryTools:
    """The library as a source of tools; empty while the library is not open."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared
        self._found: dict[str, tuple[Manifest, types.Tool]] = {}
        """Tools that were called, each with the manifest that its definition was made of."""

    def list_tools(self, reader: Maker) -> Sequence[types.Tool]:
        """The first-class tools, in the order that the App keeps stable."""
        if (app := self._shared.current) is None:
            return []
        app = app.seen_by(reader.owner)
        return [_definition(entry.manifest, app, reader) for entry in app.visible_tools()]

    def find_tool(self, name: str, reader: Maker) -> types.Tool | None:
        """Any tool of the library, so that a call of an unlisted or disabled one is refused in its own terms.

        Not for readers: all of its author's words are in it.
        """
        if (app := self._shared.current) is None:
            return None
        try:
            manifest = app.seen_by(reader.owner).library.entry(name).manifest
        except AlitaError:
            return None
        known, tool = self._found.get(name, (None, None))
        if tool is None or known is not manifest:
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            tool = definition_of(manifest)
            self._found[name] = manifest, tool
        return tool

    async def call_tool(self, call: ToolCall) -> ToolResult:
        """Runs the current version."""
        return await run_tool(call, call.name, call.arguments)


def _definition(manifest: Manifest, app: App, reader: Maker) -> types.Tool:
    return definition_of(manifest, origin_if_unreviewed(app, manifest.name, manifest.version, reader))
