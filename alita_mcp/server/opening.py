"""Shared App of all connections of a server: opened behind the first response, closed when the server ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import CallNext, HandlerResult

from alita_mcp.errors import AlitaError
from alita_mcp.event_loop import LoopLag
from alita_mcp.server.client.client_identity import connection_of, is_modern
from alita_mcp.server.client.patience import Patience

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.client.announce import Announcer
    from alita_mcp.server.context import Context

OpenApp = Callable[[], "AbstractAsyncContextManager[App]"]
CLOSE_SECONDS = 2.0
"""How long the App may take to close when the server ends; clients kill after a little more."""

OPENS_AFTER_S = 0.1
"""How long the first response has the process to itself, where no request waits for the App."""

log = logging.getLogger(__name__)


@dataclass
class _Attempt:
    """One opening of the App, from start to end."""

    again: bool
    awaited: anyio.Event = field(default_factory=anyio.Event)
    settled: anyio.Event = field(default_factory=anyio.Event)
    ending: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=lambda: anyio.CancelScope(shield=True))
    app: App | None = None
    failure: Exception | None = None

    def end(self) -> None:
        """Asks for the end; forces it after `CLOSE_SECONDS`."""
        self.ending.set()
        self.awaited.set()
        self.scope.deadline = anyio.current_time() + CLOSE_SECONDS


class SharedApp:
    """Owner of the App and the task group of everything that outlives one request.

    The SDK enters a server's lifespan once per process over stdio and HTTP, and once per client in memory. The
    first entry opens and closes; later ones share what is open, and the first waits for their end before it closes.
    """

    def __init__(self, open_app: OpenApp, announcer: Announcer) -> None:
        self._open_app = open_app
        self._announcer = announcer
        self.patience = Patience()
        self._attempt: _Attempt | None = None
        self._tasks: TaskGroup | None = None
        self._sharers = 0
        self._sharer_left = anyio.Event()

    @property
    def current(self) -> App | None:
        """The App if it is open now."""
        return self._attempt.app if self._attempt else None

    @property
    def tasks(self) -> TaskGroup:
        """Work that goes on between requests and ends with the server."""
        if self._tasks is None:
            raise RuntimeError("the server is not running")
        return self._tasks

    def want(self) -> None:
        """Begins to open the App in a moment, unless it is open or being opened."""
        if self._tasks is not None and (self._attempt is None or self._attempt.failure is not None):
            self._attempt = _Attempt(again=self._attempt is not None)
            self._tasks.start_soon(self._host, self._attempt)

    async def get(self) -> App:
        """The App; raises whatever made its opening fail, and tries again at the next call."""
        attempt = self._attempt
        if attempt is None or attempt.app is None:
            attempt = await self.settled()
        if attempt is not None and attempt.app is not None:
            return attempt.app
        raise (attempt and attempt.failure) or RuntimeError("the server is ending")

    async def settled(self) -> _Attempt | None:
        """Returns when the App is open or cannot be opened, with how that went."""
        self.want()
        attempt = self._attempt
        if attempt is not None:
            attempt.awaited.set()
            await attempt.settled.wait()
        return attempt

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Opens the App behind the first response, so that no client waits for a disk to say hello.

        Tells each legacy connection of changes from its `initialized` on.
        """
        if ctx.method == "notifications/initialized" and not is_modern(ctx):
            self._announcer.follow(connection_of(ctx), self.tasks)
        try:
            return await call_next(ctx)
        finally:
            self.want()

    @asynccontextmanager
    async def lifespan(self, _server: Any) -> AsyncIterator[SharedApp]:
        """Lifespan context that the SDK enters around serving."""
        if self._tasks is not None:
            self._sharers += 1
            try:
                yield self
            finally:
                self._sharers -= 1
                self._sharer_left.set()
            return
        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._announcer.run)
                self._tasks.start_soon(LoopLag().watch)
                try:
                    yield self
                    while self._sharers:
                        self._sharer_left = anyio.Event()
                        await self._sharer_left.wait()
                finally:
                    if self._attempt is not None:
                        self._attempt.end()
                    self._tasks.cancel_scope.cancel()
        finally:
            self._tasks = self._attempt = None

    async def _host(self, attempt: _Attempt) -> None:
        """Keeps the App open in a task of its own; shielded, so that it closes in peace when the server ends."""
        with attempt.scope:
            try:
                with anyio.move_on_after(OPENS_AFTER_S):
                    await attempt.awaited.wait()
                if attempt.ending.is_set():
                    return
                async with self._open_app() as app:
                    await self._offer(app, attempt)
            except Exception as failure:
                is_ours = isinstance(failure, AlitaError)
                log.error("the library could not be opened, or broke: %s", failure, exc_info=not is_ours)  # noqa: TRY400
                attempt.failure = failure
            finally:
                attempt.settled.set()

    async def _offer(self, app: App, attempt: _Attempt) -> None:
        unsubscribe = app.library.on_change(self._announcer.library_changed)
        attempt.app = app
        attempt.settled.set()
        if attempt.again:
            self._announcer.library_changed()
        try:
            await attempt.ending.wait()
        finally:
            attempt.app = None
            unsubscribe()
