"""Tool source of the library: the promoted tools in the list, every published tool by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mcp_types as types

from alita_mcp.errors import AlitaError
from alita_mcp.server.results.delivery import run_and_deliver
from alita_mcp.server.results.unreviewed import unreviewed
from alita_mcp.server.tools.definitions import definition_of

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.values import Manifest


class LibraryTools:
    """The library as a source of tools; empty while the library is not open."""

    def __init__(self, app: Callable[[], App | None]) -> None:
        self._app = app

    def definitions(self) -> Sequence[types.Tool]:
        """The first-class tools, in the order that the App keeps stable."""
        app = self._app()
        if app is None:
            return ()
        return tuple(_definition(entry.manifest, app) for entry in app.visible_tools())

    def find(self, name: str) -> types.Tool | None:
        """Any tool of the library, so that a call of an unlisted or disabled one is refused in its own terms."""
        app = self._app()
        if app is None:
            return None
        try:
            return _definition(app.library.entry(name).manifest, app)
        except AlitaError:
            return None

    async def call(self, call: ToolCall) -> ToolResult:
        """Runs the current version."""
        return await run_and_deliver(call, call.name, call.arguments)


def _definition(manifest: Manifest, app: App) -> types.Tool:
    return definition_of(manifest, unreviewed(app, manifest.name, manifest.version))
