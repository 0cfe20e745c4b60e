"""Opens the library of a home with its background work, and closes both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from alita_mcp.library.background import background
from alita_mcp.library.disk import OnStep, no_step
from alita_mcp.library.library import Library
from alita_mcp.library.storage import Storage, find_storage
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
    """The library in `settings.home`, or the shared one that the home has a copy of, with the starter tools if empty.

    Raises:
        LibraryError: the home, the catalogue or the shared library cannot be used; nothing was deleted.
        ExtraMissing: there is a shared library, and the extra `team` is not installed.
    """
    storage = find_storage(settings)
    async with AsyncExitStack() as files:
        store = await anyio.to_thread.run_sync(_open_store, storage, starters(), on_step)
        files.push_async_callback(_run_to_the_end, store.close)
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


def _open_store(storage: Storage, starters: Path | None, on_step: OnStep) -> Store:
    if storage.database is None:
        return Store(storage.home, starters, on_step)
    from alita_mcp.library.versions.shared import SharedStore

    return SharedStore(storage.home, starters, storage.database, on_step)


async def _run_to_the_end(close: Callable[[], None]) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(close)
