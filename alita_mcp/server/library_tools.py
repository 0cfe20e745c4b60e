"""Published tools as tools of their own: the listed ones in the list, every one of them by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import mcp_types as types

from alita_mcp.errors import AlitaError
from alita_mcp.server.definitions import definition_of
from alita_mcp.server.results import delivered

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.sources import ToolAnswer, ToolCall
    from alita_mcp.values import Manifest


class LibraryTools:
    """The library as a source of tools; empty while the library is not open."""

    def __init__(self, app: Callable[[], App | None]) -> None:
        self._app = app
        self._defined: dict[str, types.Tool] = {}

    def definitions(self) -> Sequence[types.Tool]:
        """The first-class tools, in the order that the App keeps stable."""
        app = self._app()
        if app is None:
            return ()
        manifests = [entry.manifest for entry in app.listed()]
        self._defined = {manifest.digest: self._definition(manifest) for manifest in manifests}
        return tuple(self._defined[manifest.digest] for manifest in manifests)

    def find(self, name: str) -> types.Tool | None:
        """Any tool of the library, so that a call of an unlisted or disabled one is answered in its own terms."""
        app = self._app()
        if app is None:
            return None
        try:
            return self._definition(app.library.entry(name).manifest)
        except AlitaError:
            return None

    async def call(self, call: ToolCall) -> ToolAnswer:
        """Runs the current version."""
        return await delivered(await call.app.run(call.name, call.arguments), call.app)

    def _definition(self, manifest: Manifest) -> types.Tool:
        return self._defined.get(manifest.digest) or definition_of(manifest)
