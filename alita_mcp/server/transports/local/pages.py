"""Pages for people, as this process serves them: loaded at the first request, entered through one-time links."""

from __future__ import annotations

import importlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.server.transports.http_token import PAGES_KEY_FILE, ensure_key, ensure_token
from alita_mcp.settings import absolute_home

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from alita_mcp.server.shared_app import SharedApp
    from alita_mcp.server.transports.access import Access
    from alita_mcp.settings import Settings
    from alita_mcp.web.security import Sessions

LOOPBACK = "127.0.0.1"
STAYS_OPEN_S = 150.0
"""A page counts as open so long after its last request: each one asks every 10 s, every minute in a hidden tab."""
MAX_CONNECTIONS = 256
GRACE_S = 0.1
"""How long a page's requests may go on once the end is known: its event streams would not end by themselves."""


class Pages:
    """The pages over the App of one server: an ASGI application that weighs nothing until somebody asks for it."""

    def __init__(
        self,
        shared: SharedApp,
        settings: Settings,
        *,
        access: Access | None = None,
        address: str = "",
    ) -> None:
        """Tokens that `access` knows open a session, too; without it, that of the home.

        At an `address`, something else serves them.
        """
        self._shared = shared
        self._settings = settings
        self._access = access
        self.address = address
        """Host and port; empty as long as nobody asked for them."""
        self._loading = anyio.Lock()
        self._loaded: tuple[Sessions, ASGIApp] | None = None
        self._tasks: TaskGroup | None = None
        self._ending = anyio.Event()

    @property
    def open(self) -> int:
        """How many pages are open in browsers, as far as they say so: one for each stream, and one that asks."""
        if self._loaded is None:
            return 0
        sessions, _ = self._loaded
        return max(len(sessions.streams), int(time.monotonic() - sessions.used_at < STAYS_OPEN_S))

    async def make_link(self, port: int) -> str:
        """A link that opens a session, once and within five minutes; the pages listen from now on.

        `port` of the loopback address is asked for first; a free one is taken where it is in use.

        Raises:
            UsageError: no port can be had, or there is no key for the sessions.
        """
        sessions, _ = await self._load()
        if not self.address and self._tasks is not None:
            async with self._loading:
                if not self.address:
                    await self._tasks.start(self._listen, port)
        return f"http://{self.address}/ui/enter?code={sessions.make_code()}"

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While the block runs, the pages can listen on a port of their own."""
        async with anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._ending.set()

    async def _listen(self, port: int, *, task_status: TaskStatus[None]) -> None:
        web_server = await _import("alita_mcp.server.transports.web_server")
        from alita_mcp.server.transports.access import Access
        from alita_mcp.server.transports.connections import ConnectionLimits
        from alita_mcp.server.transports.guard import LOCAL_NAMES

        try:
            listener = web_server.listen(LOOPBACK, port)
        except UsageError:
            listener = web_server.listen(LOOPBACK, 0)
        limits = ConnectionLimits(strangers=MAX_CONNECTIONS, every=MAX_CONNECTIONS)
        with listener:
            async with web_server.serve_requests(
                self, listener, Access(None), LOCAL_NAMES, limits=limits, grace_s=GRACE_S
            ):
                self.address = f"{LOOPBACK}:{listener.getsockname()[1]}"
                task_status.started()
                await self._ending.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a request."""
        try:
            _, app = await self._load()
        except AlitaError as failed:
            from alita_mcp.server.api.problems import Refusal

            app = Refusal(503, "unavailable", failed.message, failed.hint).response()
        await app(scope, receive, send)

    async def _load(self) -> tuple[Sessions, ASGIApp]:
        async with self._loading:
            if self._loaded is None:
                # first: two threads that import the same modules could wait for each other
                await self._shared.wait_until_settled()
                from alita_mcp.server.transports.access import Access

                access = self._access or Access(await anyio.to_thread.run_sync(ensure_token, self._settings))
                key = await anyio.to_thread.run_sync(ensure_key, self._settings, PAGES_KEY_FILE)
                for flow in ("app.code_runner", "app.task_runner", "toolsmith.toolsmith"):
                    await _import(f"alita_mcp.{flow}")  # the first page uses them
                routes = await _import("alita_mcp.web.routes")
                from alita_mcp.server.transports.local.activity import follow_servers
                from alita_mcp.web.security import Sessions
                from alita_mcp.web.site import Site

                sessions = Sessions(key.encode(), access.find if access.takes_token else None)
                follow = partial(follow_servers, absolute_home(self._settings.home))
                site = Site(app=self._shared.get, sessions=sessions, follow_others=follow)
                self._loaded = sessions, routes.ui_application(site)
            return self._loaded


async def _import(module: str) -> ModuleType:
    return await anyio.to_thread.run_sync(importlib.import_module, module)
