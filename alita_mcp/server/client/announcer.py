"""Notifications to every connected client, of both protocol eras, that the list of tools and the catalogue changed."""

from __future__ import annotations

from collections import OrderedDict

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)

from alita_mcp.server.client.identity import client_key, client_label, connection_of, is_modern
from alita_mcp.server.client.tool_list import ClientToolList
from alita_mcp.server.context import Context

CATALOGUE_URI = "alita://tools"
MAX_CLIENTS = 1_000
"""How many clients without a connection of their own are remembered."""
_HEARS_OF_CATALOGUE = "alita/hears-of-catalogue"
_TOOL_LIST = "alita/tool-list"


class Announcer(ListenHandler):
    """Announcer of changes to all clients, which knows the list of tools as each of them has it.

    Modern clients hear through the subscription bus: it is the handler of their `subscriptions/listen`. Each legacy
    connection has a task of its own that sends at most one pending hint, so a client that stopped reading holds up
    nobody, and a burst of changes is one hint.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        super().__init__(self.bus)
        self.changes = 0
        """How many changes there were since the server started."""
        self._modern: OrderedDict[tuple[str, str], ClientToolList] = OrderedDict()
        self._pending: dict[Connection, anyio.Event] = {}
        """Legacy connections that are followed, each with the event of its next hint."""
        self._changed: anyio.Event | None = None

    async def __call__(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serves one `subscriptions/listen` stream until it ends."""
        if not params.notifications.tools_list_changed:
            return await super().__call__(ctx, params)
        with self.tool_list_of(ctx).listen():
            return await super().__call__(ctx, params)

    def tool_list_of(self, ctx: Context) -> ClientToolList:
        """The list of tools as the client of a request has it."""
        # 1. A legacy client is its connection.
        # 2. Requests of 2026-07-28 over HTTP have a connection each. What ties them together is the address, and the
        #    name and version that the client gives; clients alike in all of that are one. Over stdio there is only one.
        if not is_modern(ctx):
            return self._tool_list_at(connection_of(ctx))
        peer = ctx.request.client if ctx.request is not None else None
        key = (client_key(ctx) or (peer.host if peer else ""), client_label(ctx))
        if key not in self._modern:
            if len(self._modern) >= MAX_CLIENTS:  # the one that was silent longest and does not listen goes
                silent = (other for other, known in self._modern.items() if not known.can_hear)
                del self._modern[next(silent, next(iter(self._modern)))]
            self._modern[key] = ClientToolList(self.changes, is_one=ctx.request is None)
        self._modern.move_to_end(key)
        return self._modern[key]

    def _tool_list_at(self, connection: Connection) -> ClientToolList:
        new = ClientToolList(self.changes, is_one=True)
        known: ClientToolList = connection.state.setdefault(_TOOL_LIST, new)
        return known

    def record_change(self) -> None:
        """Records a change of the library; the hints go out by themselves."""
        self.changes += 1
        for event in (self._changed, *self._pending.values()):
            if event is not None:
                event.set()

    async def publish_changes(self) -> None:
        """Publishes changes to modern clients until cancelled."""
        self._changed = anyio.Event()
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            for event in (ToolsListChanged(), ResourceUpdated(uri=CATALOGUE_URI)):
                await self.bus.publish(event)

    def follow_connection(self, connection: Connection, tasks: TaskGroup) -> None:
        """Sends changes to one legacy connection from now until it closes."""
        if connection in self._pending:
            return
        scope = anyio.CancelScope()
        connection.exit_stack.callback(scope.cancel)
        self._pending[connection] = anyio.Event()
        tasks.start_soon(self._send_hints, connection, scope)

    async def _send_hints(self, connection: Connection, scope: anyio.CancelScope) -> None:
        try:
            with scope, self._tool_list_at(connection).listen():
                while True:
                    await self._pending[connection].wait()
                    self._pending[connection] = anyio.Event()
                    await connection.send_tool_list_changed()
                    if connection.state.get(_HEARS_OF_CATALOGUE):
                        await connection.send_resource_updated(CATALOGUE_URI)
        finally:
            del self._pending[connection]


async def subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    """Subscribes a connection to the catalogue, the only resource that changes."""
    if str(params.uri) == CATALOGUE_URI:
        connection_of(ctx).state[_HEARS_OF_CATALOGUE] = True
    return types.EmptyResult()


async def unsubscribe(ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    """Ends the subscription of a connection to the catalogue."""
    if str(params.uri) == CATALOGUE_URI:
        connection_of(ctx).state.pop(_HEARS_OF_CATALOGUE, None)
    return types.EmptyResult()
