"""Who hears of changes, and that nobody who stopped reading keeps it from the others."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.server.connection import Connection

from alita_mcp.server.build import DualEraServer
from alita_mcp.server.client.announcer import CATALOGUE_URI, Announcer
from tests.server.drafts import VOWEL_SHARE
from tests.server.in_memory import PATIENCE_S, connected, library_of, succeeded


class Wire:
    """The far end of a connection: notes what arrives, or never takes it."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.stuck = stuck
        self.methods: list[str] = []
        self.arrived = anyio.Event()

    async def notify(self, method: str, _params: Any, _opts: Any = None) -> None:
        if self.stuck:
            await anyio.sleep_forever()
        self.methods.append(method)
        self.arrived.set()

    async def send_raw_request(self, *_: Any) -> dict[str, Any]:
        raise AssertionError("nothing is asked here")


async def test_a_client_that_does_not_read_holds_up_nobody() -> None:
    announcer = Announcer()
    stuck, reading = (Connection(Wire(stuck=stuck), protocol_version="2025-11-25") for stuck in (True, False))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            for connection in (stuck, reading):
                announcer.follow_connection(connection, tasks)
            await anyio.wait_all_tasks_blocked()
            for _ in range(3):
                reading.outbound.arrived = anyio.Event()
                announcer.record_change()
                await reading.outbound.arrived.wait()
                await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()

    assert reading.outbound.methods.count("notifications/tools/list_changed") == 3


async def test_a_burst_of_changes_is_one_hint() -> None:
    announcer = Announcer()
    connection = Connection(Wire(), protocol_version="2025-11-25")

    async with anyio.create_task_group() as tasks:
        announcer.follow_connection(connection, tasks)
        await anyio.wait_all_tasks_blocked()
        for _ in range(10):
            announcer.record_change()
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()

    assert connection.outbound.methods.count("notifications/tools/list_changed") == 1


async def test_a_closed_connection_is_forgotten() -> None:
    announcer = Announcer()
    connection = Connection(Wire(stuck=True), protocol_version="2025-11-25")

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            announcer.follow_connection(connection, tasks)
            await anyio.wait_all_tasks_blocked()
            announcer.record_change()
            await anyio.wait_all_tasks_blocked()
            await connection.exit_stack.aclose()

    assert not announcer._pending


async def test_an_old_client_that_subscribed_hears_of_the_catalogue(server: DualEraServer) -> None:
    updated: list[str] = []
    heard = anyio.Event()

    async def listen(message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            updated.append(str(message.params.uri))
            heard.set()

    async with connected(server, "legacy", message_handler=listen) as client:
        await subscribe(client, CATALOGUE_URI)
        await subscribe(client, "alita://tools/other/v1/source")
        await succeeded(client, "synthesize_tool", **VOWEL_SHARE)
        await heard.wait()
        assert updated == [CATALOGUE_URI]
        await client.session.send_request(
            types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=CATALOGUE_URI)),
            types.EmptyResult,
        )
        heard = anyio.Event()
        await (await library_of(server)).disable("vowel_share")
        await client.list_tools()

    assert updated == [CATALOGUE_URI]


async def subscribe(client: Client, uri: str) -> None:
    params = types.SubscribeRequestParams(uri=uri)
    await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)
