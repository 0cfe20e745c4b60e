"""One App behind a server: when it opens, who shares it, what happens when it cannot open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.server.client.announcer import Announcer
from alita_mcp.server.shared_app import SharedApp

PATIENCE_S = 180


class OnlyChanges:
    """As much of a library as opening needs."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)


class Opener:
    """Counts how often the App is opened and closed; fails as often as it is told to."""

    def __init__(self, failures: tuple[Exception, ...] = ()) -> None:
        self.failures = list(failures)
        self.opened = self.closed = 0
        self.library = OnlyChanges()
        self.broken = anyio.Event()
        self.gone = anyio.Event()

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Any]:
        self.opened += 1
        if self.failures:
            raise self.failures.pop(0)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._break)
                yield self
                tasks.cancel_scope.cancel()
        finally:
            await anyio.lowlevel.checkpoint()
            self.closed += 1
            self.gone.set()

    async def _break(self) -> None:
        await self.broken.wait()
        raise RuntimeError("a part of the App broke")


@pytest.fixture(autouse=True)
async def no_hang() -> AsyncIterator[None]:
    with anyio.fail_after(PATIENCE_S):
        yield


async def test_nothing_is_opened_until_something_is_wanted() -> None:
    opener = Opener()

    async with SharedApp(opener, Announcer()).lifespan(None):
        await anyio.wait_all_tasks_blocked()

    assert opener.opened == 0


async def test_all_connections_share_one_app_and_the_last_to_leave_closes_it() -> None:
    opener = Opener()
    shared = SharedApp(opener, Announcer())

    async with shared.lifespan(None), shared.lifespan(None), shared.lifespan(None):
        found = [await shared.get(), await shared.get()]
        assert found[0] is found[1] is shared.current
        assert (opener.opened, opener.closed) == (1, 0)

    assert (opener.opened, opener.closed) == (1, 1)
    assert shared.current is None
    assert opener.library.callbacks == []


async def test_an_app_that_cannot_open_says_why_and_is_tried_again() -> None:
    opener = Opener(failures=(LibraryError("the disk is full"),))
    shared = SharedApp(opener, Announcer())

    async with shared.lifespan(None):
        with pytest.raises(LibraryError, match="disk is full"):
            await shared.get()
        await shared.wait_until_settled()
        assert await shared.get() is opener


async def test_an_app_that_breaks_later_does_not_take_the_server_with_it() -> None:
    opener = Opener()
    shared = SharedApp(opener, Announcer())

    async with shared.lifespan(None):
        await shared.get()
        opener.broken.set()
        await opener.gone.wait()
        opener.broken = anyio.Event()
        assert await shared.get() is opener

    assert (opener.opened, opener.closed) == (2, 2)


async def test_a_cancelled_server_still_closes_its_app() -> None:
    opener = Opener()
    shared = SharedApp(opener, Announcer())

    with anyio.CancelScope() as scope:
        async with shared.lifespan(None), shared.lifespan(None):
            await shared.get()
            scope.cancel()
            await anyio.sleep_forever()

    assert opener.closed == 1
