"""Tells every connected client, of both protocol eras, that the lists of tools and resources changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from alita_mcp.server.sources import Context

CATALOGUE_URI = "alita://tools"
MAX_SUBSCRIPTIONS = 100
_SUBSCRIBED = "alita/subscribed"


class Announcer:
    """Fans changes out.

    Modern clients hear through the subscription bus. Each legacy connection has a task of its own that sends at
    most one pending hint, so a client that stopped reading holds up nobody, and a burst of changes is one hint.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self._waiting: dict[Connection, anyio.Event] = {}
        self._dirty: anyio.Event | None = None

    @property
    def following(self) -> int:
        """How many legacy connections are followed."""
        return len(self._waiting)

    def library_changed(self) -> None:
        """Notes a change; the hints go out by themselves."""
        for event in (self._dirty, *self._waiting.values()):
            if event is not None:
                event.set()

    async def run(self) -> None:
        """Publishes changes to modern clients until cancelled."""
        self._dirty = anyio.Event()
        while True:
            await self._dirty.wait()
            self._dirty = anyio.Event()
            for event in (ToolsListChanged(), ResourcesListChanged(), ResourceUpdated(uri=CATALOGUE_URI)):
                await self.bus.publish(event)

    def follow(self, connection: Connection, tasks: TaskGroup) -> None:
        """Sends changes to one legacy connection from now until it closes."""
        if connection in self._waiting:
            return
        scope = anyio.CancelScope()
        connection.exit_stack.callback(scope.cancel)
        self._waiting[connection] = anyio.Event()
        tasks.start_soon(self._tell, connection, scope)

    async def _tell(self, connection: Connection, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                while True:
                    await self._waiting[connection].wait()
                    self._waiting[connection] = anyio.Event()
                    await connection.send_tool_list_changed()
                    await connection.send_resource_list_changed()
                    if CATALOGUE_URI in connection.state.get(_SUBSCRIBED, ()):
                        await connection.send_resource_updated(CATALOGUE_URI)
        finally:
            del self._waiting[connection]

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Follows each legacy connection from its `initialized` on."""
        if ctx.method == "notifications/initialized" and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.follow(connection_of(ctx), ctx.lifespan_context.tasks)
        return await call_next(ctx)


async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    """Remembers, for as long as the connection lives, that it wants to hear of a resource."""
    uris: set[str] = connection_of(ctx).state.setdefault(_SUBSCRIBED, set())
    if len(uris) < MAX_SUBSCRIPTIONS:
        uris.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    """Forgets it again."""
    connection_of(ctx).state.setdefault(_SUBSCRIBED, set()).discard(str(params.uri))
    return types.EmptyResult()


def connection_of(ctx: Context) -> Connection:
    """The connection that carries a request; the SDK has no public accessor yet (2.3)."""
    return ctx.session._connection  # noqa: SLF001
