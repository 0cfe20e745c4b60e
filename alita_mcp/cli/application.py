"""The library or the whole application, opened for one command with the settings of the environment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from alita_mcp.cli.output import Output

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.library.library import Library


@asynccontextmanager
async def open_library(*, tells: bool = True) -> AsyncIterator[Library]:
    """The library alone, for commands that run no tool; `tells` a person once that its catalogue was rebuilt."""
    from alita_mcp.library import opening
    from alita_mcp.settings import read_settings

    async with opening.open_library(read_settings()) as library:
        if tells:
            await tell_of_rebuilding(library)
        yield library


@asynccontextmanager
async def open_app() -> AsyncIterator[App]:
    """The whole application, for commands that verify or run tools."""
    from alita_mcp import app
    from alita_mcp.server.tools.admission import admit
    from alita_mcp.settings import read_settings

    async with app.open_app(read_settings(), admit=admit) as opened:
        await tell_of_rebuilding(opened.library)
        yield opened


async def tell_of_rebuilding(library: Library) -> None:
    """Prints on stderr, once for all commands, that the catalogue was rebuilt, and what is lost."""
    from alita_mcp.library.library import REBUILDING_TOLD

    if said := library.untold_rebuilding():
        Output().note(f"warning: {said}")
        await library.record(REBUILDING_TOLD, None, {})
