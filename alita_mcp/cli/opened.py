"""Library or application, opened for the length of one command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alita_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.library.library import Library


@asynccontextmanager
async def opened_library(settings: Settings | None = None) -> AsyncIterator[Library]:
    """The library alone: for commands that run no tool."""
    from alita_mcp.library.opening import open_library

    async with open_library(settings or read_settings()) as library:
        yield library


@asynccontextmanager
async def opened_app(settings: Settings | None = None) -> AsyncIterator[App]:
    """The whole application, for commands that verify or run tools."""
    from alita_mcp.app import open_app
    from alita_mcp.server.tools.admission import admit

    async with open_app(settings or read_settings(), admit=admit) as app:
        yield app
