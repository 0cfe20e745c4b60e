"""Shared App of all connections of a server: opened behind the first response, closed when the server ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from mcp.server.context import CallNext, HandlerResult

from alita_mcp.errors import AlitaError
from alita_mcp.server.client.identity import client_label, connection_of, is_modern
from alita_mcp.server.client.local import LOCAL_CLIENT
from alita_mcp.server.client.scopes import check_request
from alita_mcp.server.client.timeouts import ClientTimeouts
from alita_mcp.server.results.failures import protocol_error

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.server.client.announcer import Announcer
    from alita_mcp.server.context import Context

OpenApp = Callable[[], "AbstractAsyncContextManager[App]"]
CLOSE_SECONDS = 2.0
"""How long the App may take to close when the server ends; clients kill after a little more."""

log = logging.getLogger(__name__)


@dataclass
class _Opening:
    """One opening of the App, from its start to the end of the App."""

    is_retry: bool
    settled: anyio.Event = field(default_factory=anyio.Event)
    """The App is open, or its opening failed."""
    ending: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=lambda: anyio.CancelScope(shield=True))
    app: App | None = None
    failure: Exception | None = None


class SharedApp:
    """Owner of the App and the task group of everything that outlives one request.

    The SDK enters a server's lifespan once per process over stdio and HTTP, and once per client in memory. The
    first entry opens and closes; later ones share what is open, and the first waits for their end before it closes.
    """

    def __init__(self, open_app: OpenApp, announcer: Announcer) -> None:
        self._open_app = open_app
        self._announcer = announcer
        self.timeouts = ClientTimeouts()
        self.domains: Sequence[str] = ()
        """What the tools of the library are about, as the list of tools said last."""
        self.watch: Callable[[App], AbstractContextManager[object]] = nullcontext
        """What is entered with each App that is opened, and left before it closes."""
        self._opening: _Opening | None = None
        self._tasks: TaskGroup | None = None
        self._sharers = 0
        self._sharer_left = anyio.Event()

    @property
    def current(self) -> App | None:
        """The App if it is open now."""
        return self._opening.app if self._opening else None

    @property
    def tasks(self) -> TaskGroup:
        """Task group of work that goes on between requests and ends with the server."""
        if self._tasks is None:
            raise RuntimeError("the server is not running")
        return self._tasks

    async def get(self) -> App:
        """The App; raises whatever made its opening fail, and tries again at the next call."""
        app = self.current
        if app is None:
            await self.wait_until_settled()
            app = self.current
        if app is None:
            raise (self._opening and self._opening.failure) or RuntimeError("the server is ending")
        return app

    async def wait_until_settled(self) -> None:
        """Returns when the App is open or cannot be opened."""
        self._open_soon()
        if self._opening is not None:
            await self._opening.settled.wait()

    def _open_soon(self) -> None:
        """Starts to open the App, unless it is open or being opened."""
        if self._tasks is not None and (self._opening is None or self._opening.failure is not None):
            self._opening = _Opening(is_retry=self._opening is not None)
            self._tasks.start_soon(self._keep_open, self._opening)

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Opens the App behind the first response, so that no client waits for a disk to say hello.

        Notifies each legacy connection of changes from its `initialized` on. What a client may not do, no handler sees;
        every failure outside a tool leaves as
        a protocol error without internals.
        """
        client = LOCAL_CLIENT.get()
        client.label = client.label or client_label(ctx)
        if ctx.method == "notifications/initialized" and not is_modern(ctx):
            self._announcer.follow_connection(connection_of(ctx), self.tasks)
        try:
            check_request(ctx)
            return await call_next(ctx)
        except Exception as raised:  # noqa: BLE001 - the outermost edge of every method
            raise protocol_error(raised) from None
        finally:
            if self.current is None:
                self._open_soon()

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
                self._tasks.start_soon(self._announcer.publish_changes)
                try:
                    yield self
                    while self._sharers:
                        self._sharer_left = anyio.Event()
                        await self._sharer_left.wait()
                finally:
                    if self._opening is not None:
                        self._opening.ending.set()
                        self._opening.scope.deadline = anyio.current_time() + CLOSE_SECONDS
                    self._tasks.cancel_scope.cancel()
        finally:
            self._tasks = self._opening = None

    async def _keep_open(self, opening: _Opening) -> None:
        """Opens the App in a task of its own; shielded, so that it closes in peace when the server ends."""
        with opening.scope:
            try:
                async with self._open_app() as app:
                    unsubscribe = app.library.on_change(self._announcer.record_change)
                    opening.app = app
                    opening.settled.set()
                    if opening.is_retry:
                        self._announcer.record_change()
                    try:
                        with self.watch(app):
                            await opening.ending.wait()
                    finally:
                        opening.app = None
                        unsubscribe()
            except Exception as failure:
                is_ours = isinstance(failure, AlitaError)
                log.error("cannot open the library: %s", failure, exc_info=not is_ours)  # noqa: TRY400
                opening.failure = failure
            finally:
                opening.settled.set()
