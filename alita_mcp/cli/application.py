"""The library or the whole application, opened for one command with the settings of the environment."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.library.library import Library
    from alita_mcp.values import Manifest


def open_library() -> AbstractAsyncContextManager[Library]:
    """The library alone, for commands that run no tool."""
    from alita_mcp.library import opening
    from alita_mcp.settings import read_settings

    return opening.open_library(read_settings())


def open_app() -> AbstractAsyncContextManager[App]:
    """The whole application, for commands that verify or run tools."""
    from alita_mcp import app
    from alita_mcp.settings import read_settings

    def admit(manifest: Manifest) -> tuple[str, ...]:
        # It loads the MCP SDK, which no command needs before it publishes a tool.
        from alita_mcp.server.tools import admission

        return admission.admit(manifest)

    return app.open_app(read_settings(), admit=admit)
