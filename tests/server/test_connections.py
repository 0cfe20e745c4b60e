"""Connections as they are accepted."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

import anyio

from alita_mcp.server.transports.connections import ConnectionLimits, Connections
from tests.server.processes import PATIENCE_S


async def test_a_response_in_two_parts_does_not_wait_for_an_acknowledgement() -> None:
    accepted: list[socket.socket] = []
    came = anyio.Event()

    class Newcomer(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.append(transport.get_extra_info("socket"))
            came.set()

    connections = Connections(ConnectionLimits(strangers=1, every=1))
    with socket.create_server(("127.0.0.1", 0)) as listener, anyio.fail_after(PATIENCE_S):
        listener.setblocking(False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connections.accept, listener, cast("Any", Newcomer))
            async with await anyio.connect_tcp(*listener.getsockname()):
                await came.wait()
                assert accepted[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            connections.stop_accepting()
