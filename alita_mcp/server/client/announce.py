"""Notifications to every connected client, of both protocol eras, that the lists of tools and resources changed."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from alita_mcp.server.client.client_identity import client_of, connection_of, is_modern, key_of
from alita_mcp.server.client.observed import Observed

if TYPE_CHECKING:
    from alita_mcp.server.context import Context

CATALOGUE_URI = "alita://tools"
MAX_SUBSCRIPTIONS = 100
MAX_OBSERVED = 1_000
"""How many clients without a connection of their own are remembered."""
_SUBSCRIBED = "alita/subscribed"
_OBSERVED = "alita/observed"


class Listening(ListenHandler):
    """Handler of `subscriptions/listen` that remembers which clients hear of changes of the tools that way."""

    def __init__(self, announcer: Announcer) -> None:
        super().__init__(announcer.bus)
        self._announcer = announcer

    async def __call__(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serves one stream until it ends."""
        if not params.notifications.tools_list_changed:
            return await super().__call__(ctx, params)
        with self._announcer.observed(ctx).listening():
            return await super().__call__(ctx, params)


class Announcer:
    """Announcer of changes to all clients, which keeps what each did about them.

    Modern clients hear through the subscription bus. Each legacy connection has a task of its own that sends at
    most one pending hint, so a client that stopped reading holds up nobody, and a burst of changes is one hint.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        self.listen = Listening(self)
        self.changes = 0
        """How many changes there were since the server began."""
        self._known: OrderedDict[tuple[str, str], Observed] = OrderedDict()
        """Clients of 2026-07-28."""
        self._waiting: dict[Connection, anyio.Event] = {}
        self._dirty: anyio.Event | None = None

    @property
    def following(self) -> int:
        """Number of legacy connections that are followed."""
        return len(self._waiting)

    def observed(self, ctx: Context) -> Observed:
        """Observations of the client of a request: by connection, by process, and of others by what they say.

        Requests of 2026-07-28 over HTTP have a connection each. What ties them together is the authenticated subject
        or the address, and the name and version that the client gives; clients alike in all of that are one.
        """
        if not is_modern(ctx):
            return self._observed_at(connection_of(ctx))
        peer = ctx.request.client if ctx.request is not None else None
        key = (key_of(ctx) or (peer.host if peer else ""), client_of(ctx))
        if key not in self._known:
            if len(self._known) >= MAX_OBSERVED:  # the one that was longest silent and does not listen
                silent = (other for other, known in self._known.items() if not known.can_hear)
                del self._known[next(silent, next(iter(self._known)))]
            self._known[key] = Observed(self.changes, is_one=ctx.request is None)
        self._known.move_to_end(key)
        return self._known[key]

    def _observed_at(self, connection: Connection) -> Observed:
        """The client of a connection that lasts."""
        if _OBSERVED not in connection.state:
            connection.state[_OBSERVED] = Observed(self.changes, is_one=True)
        known: Observed = connection.state[_OBSERVED]
        return known

    def library_changed(self) -> None:
        """Notes a change; the hints go out by themselves."""
        self.changes += 1
        for event in (self._dirty, *self._waiting.values()):
            if event is not None:
                event.set()

    async def run(self) -> None:
        """Publishes changes to modern clients until cancelled."""
        self._dirty = anyio.Event()
        while True:
            await self._dirty.wait()
            self._dirty = anyio.Event()
            change = self.changes
            for event in (ToolsListChanged(), ResourcesListChanged(), ResourceUpdated(uri=CATALOGUE_URI)):
                await self.bus.publish(event)
            for client in [known for known in self._known.values() if known.can_hear]:
                client.tell(change, anyio.current_time())

    def follow(self, connection: Connection, tasks: TaskGroup) -> None:
        """Sends changes to one legacy connection from now until it closes."""
        if connection in self._waiting:
            return
        scope = anyio.CancelScope()
        connection.exit_stack.callback(scope.cancel)
        self._waiting[connection] = anyio.Event()
        tasks.start_soon(self._tell, connection, scope)

    async def _tell(self, connection: Connection, scope: anyio.CancelScope) -> None:
        client = self._observed_at(connection)
        try:
            with scope, client.listening():
                while True:
                    await self._waiting[connection].wait()
                    self._waiting[connection] = anyio.Event()
                    change = self.changes
                    await connection.send_tool_list_changed()
                    client.tell(change, anyio.current_time())
                    await connection.send_resource_list_changed()
                    if CATALOGUE_URI in connection.state.get(_SUBSCRIBED, ()):
                        await connection.send_resource_updated(CATALOGUE_URI)
        finally:
            del self._waiting[connection]


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
