"""Notifications to every connected client, of both protocol eras, that the list of tools and the catalogue changed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

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

from alita_mcp.owners import team_of
from alita_mcp.server.client.identity import client_key, client_label, connection_of, is_modern, maker_of
from alita_mcp.server.client.tool_list import ClientToolList
from alita_mcp.server.context import Context

CATALOGUE_URI = "alita://tools"
MAX_CLIENTS = 1_000
"""How many clients without a connection of their own are remembered."""
_HEARS_OF_CATALOGUE = "alita/hears-of-catalogue"
_TOOL_LIST = "alita/tool-list"
_TEAM = "alita/team"


class _TeamListeners:
    """Clients of a team that listen, and the list of the team as they heard of it last."""

    def __init__(self, seen: object) -> None:
        self.bus = InMemorySubscriptionBus()
        self.handler = ListenHandler(self.bus)
        self.seen = seen
        self.is_behind = False


class Announcer(ListenHandler):
    """Announcer of changes to all clients, which knows the list of tools as each of them has it.

    Modern clients hear through the subscription bus: it is the handler of their `subscriptions/listen`. Each legacy
    connection has a task of its own that sends at most one pending hint, so a client that stopped reading holds up
    nobody, and a burst of changes is one hint.
    """

    def __init__(self) -> None:
        self.bus = InMemorySubscriptionBus()
        super().__init__(self.bus)
        self._teams: dict[str, _TeamListeners] = {}
        self._list_of: Callable[[str], object] = lambda _team: None
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
        team = team_of(maker_of(ctx).owner)
        serve = self._listeners_of(team).handler if team else super().__call__
        if not params.notifications.tools_list_changed:
            return await serve(ctx, params)
        with self.tool_list_of(ctx).listen():
            return await serve(ctx, params)

    def close(self) -> None:
        """Ends all streams with a final frame."""
        super().close()
        for listeners in self._teams.values():
            listeners.handler.close()

    def _listeners_of(self, team: str) -> _TeamListeners:
        if team not in self._teams:
            self._teams[team] = _TeamListeners(self._list_of(team))
        return self._teams[team]

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

    def know_lists(self, list_of: Callable[[str], object]) -> None:
        """`list_of` gives the list of a team from now on: its clients hear only of what changes that."""
        self._list_of = list_of
        for team, listeners in self._teams.items():
            listeners.seen = list_of(team)

    def record_change(self) -> None:
        """Records a change of the library; the hints go out by themselves."""
        self.changes += 1
        for team, listeners in self._teams.items():
            seen = self._list_of(team)
            listeners.is_behind |= seen != listeners.seen
            listeners.seen = seen
        if self._changed is not None:
            self._changed.set()
        for connection, event in self._pending.items():
            if _TEAM not in connection.state or self._teams[connection.state[_TEAM]].is_behind:
                event.set()

    async def publish_changes(self) -> None:
        """Publishes changes to modern clients until cancelled."""
        self._changed = anyio.Event()
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            behind = [listeners for listeners in self._teams.values() if listeners.is_behind]
            for listeners in behind:
                listeners.is_behind = False
            for bus in (self.bus, *(listeners.bus for listeners in behind)):
                for event in (ToolsListChanged(), ResourceUpdated(uri=CATALOGUE_URI)):
                    await bus.publish(event)

    def follow_connection(self, connection: Connection, tasks: TaskGroup, team: str = "") -> None:
        """Sends changes to one legacy connection from now until it closes; to that of a team, those of its list."""
        if connection in self._pending:
            return
        if team:
            self._listeners_of(team)
            connection.state[_TEAM] = team
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
