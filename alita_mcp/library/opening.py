"""Opens the library of a home with its background work, and closes both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio

from alita_mcp.library.background import background
from alita_mcp.library.disk import OnStep, no_step
from alita_mcp.library.library import Library
from alita_mcp.library.storage import open_storage
from alita_mcp.library.versions.starter import starter_tools_folder
from alita_mcp.library.versions.store import Store
from alita_mcp.settings import Settings


@asynccontextmanager
async def open_library(
    settings: Settings,
    *,
    starters: Callable[[], Path | None] = starter_tools_folder,
    on_step: OnStep = no_step,
) -> AsyncIterator[Library]:
    """The library in `settings.home`, made when there is none, with the starter tools when it is empty.

    Raises:
        LibraryError: the home or the catalogue cannot be used; nothing was deleted.
    """
    store = await anyio.to_thread.run_sync(Store, settings.home, starters(), on_step)
    with ExitStack() as files:
        storage = files.enter_context(open_storage(settings))
        files.callback(store.close)
        async with background() as tasks:
            library = Library(store, tasks, settings, storage)
            files.callback(
                library.close
            )  # after the tasks: a thread of theirs that is late would open a file again
            await library.refresh()
            tasks.start_soon(library.watch)
            try:
                yield library
            finally:
                tasks.cancel_scope.cancel()
