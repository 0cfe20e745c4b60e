"""TCP without a transport: whole in both directions, honest about ends and breaks, woken when closed."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing

import anyio
import pytest

from alita_mcp.sandbox.network.plain_connection import PlainConnection, connect


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family, address = request.param
    with socket.socket(family) as listening:
        try:
            listening.bind((address, 0))
        except OSError:
            assert family == socket.AF_INET6, "IPv4 is everywhere"
            pytest.skip("this machine has no IPv6")
        listening.listen()
        yield listening


@asynccontextmanager
async def pair(listener: socket.socket) -> AsyncIterator[tuple[PlainConnection, socket.socket]]:
    address, port = listener.getsockname()[:2]
    with anyio.fail_after(60):
        ours = await connect(address, port)
        accepted, _ = listener.accept()
        with closing(accepted):
            yield ours, accepted
        await ours.aclose()
        await ours.aclose()


async def test_bytes_go_both_ways_and_the_end_is_told(listener: socket.socket) -> None:
    async with pair(listener) as (ours, theirs):
        await ours.send(b"question")
        await ours.send_eof()
        assert theirs.recv(100) == b"question"
        assert theirs.recv(100) == b""
        theirs.sendall(b"answer")
        theirs.close()
        assert await ours.receive(3) == b"ans"
        assert await ours.receive() == b"wer"
        with pytest.raises(anyio.EndOfStream):
            await ours.receive()


async def test_more_than_any_buffer_holds_arrives_whole(listener: socket.socket) -> None:
    much = bytes(range(256)) * (64 << 10)
    arrived = bytearray()
    async with pair(listener) as (ours, theirs), anyio.create_task_group() as tasks:
        reader = PlainConnection(theirs)
        theirs.setblocking(False)
        tasks.start_soon(ours.send, much)
        while len(arrived) < len(much):
            arrived += await reader.receive()
    assert arrived == much


async def test_a_broken_connection_is_no_end(listener: socket.socket) -> None:
    async with pair(listener) as (ours, theirs):
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        with pytest.raises(anyio.BrokenResourceError):
            await ours.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await ours.send(b"anybody?")
        await ours.send_eof()


async def test_closing_wakes_who_waits(listener: socket.socket) -> None:
    async with pair(listener) as (ours, _theirs), anyio.create_task_group() as tasks:

        async def waits() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await ours.receive()

        tasks.start_soon(waits)
        await anyio.wait_all_tasks_blocked()
        await ours.aclose()


async def test_where_nobody_listens_the_error_of_the_system_is_raised(listener: socket.socket) -> None:
    address, port = listener.getsockname()[:2]
    listener.close()
    with anyio.fail_after(60), pytest.raises(OSError, match="refused"):
        await connect(address, port)


async def test_what_is_no_address_is_never_looked_up() -> None:
    with anyio.fail_after(60), pytest.raises(ValueError, match="localhost"):
        await connect("localhost", 80)
