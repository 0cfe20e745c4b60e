"""Bytes to and from a sandbox: sockets and pipes that are polled, and what only blocks."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import pytest

from alita_mcp.sandbox.wire.duplex import Polled, Threaded, duplex_of

WAIT_SECONDS = 60
MUCH = b"0123456789" * 200_000
"""More than any socket or pipe takes at once."""


class Pair(NamedTuple):
    """A duplex and the other end of it."""

    near: Polled
    read: Callable[[], bytes]
    write: Callable[[bytes], object]


@pytest.fixture(params=["socket", "pipes"])
async def pair(request: pytest.FixtureRequest) -> AsyncIterator[Pair]:
    if request.param == "socket":
        near, far = socket.socketpair()
        with far:
            duplex = Polled(near, near)
            yield Pair(duplex, lambda: far.recv(1 << 16), far.sendall)
            duplex.close()
    else:
        (inside, to_it), (from_it, outside) = os.pipe(), os.pipe()
        duplex = Polled(from_it, to_it)
        yield Pair(duplex, lambda: os.read(inside, 1 << 16), lambda data: os.write(outside, data))
        duplex.close()
        os.close(inside)
        os.close(outside)


async def test_the_rest_of_a_send_that_was_cancelled_goes_out_before_the_next(pair: Pair) -> None:
    arrived = bytearray()

    def take() -> None:
        while not arrived.endswith(b"end"):
            arrived.extend(pair.read())

    with anyio.fail_after(WAIT_SECONDS):
        with anyio.move_on_after(0.1) as scope:
            await pair.near.send(MUCH)
        assert scope.cancelled_caught
        assert pair.near.is_whole
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, take)
            await pair.near.send(b"end")
        assert arrived == MUCH + b"end"
        assert pair.near.is_silent()
        pair.write(b"back")
        assert not pair.near.is_silent()
        assert await pair.near.receive() == b"back"


async def test_closing_wakes_whoever_waits(pair: Pair) -> None:
    received: list[bytes] = []

    async def wait() -> None:
        received.append(await pair.near.receive())

    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            pair.near.close()
        assert received == [b""]
        assert await pair.near.receive() == b""
        assert not pair.near.is_silent()
        with pytest.raises(OSError, match="closed on this side"):
            await pair.near.send(b"x")
        pair.near.close()


async def in_thread(action: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(action, abandon_on_cancel=True)


class Blocking:
    """What is no plain socket: TLS, SSH or a named pipe."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner
        self.sendall, self.recv, self.close = inner.sendall, inner.recv, inner.close
        self.shutdown = inner.shutdown


async def test_what_cannot_be_polled_is_read_and_written_in_threads() -> None:
    near, far = socket.socketpair()
    duplex = duplex_of(Blocking(near), in_thread)
    assert isinstance(duplex, Threaded)
    with far, anyio.fail_after(WAIT_SECONDS):
        await duplex.send(b"there")
        assert far.recv(100) == b"there"
        far.sendall(b"back")
        assert await duplex.receive() == b"back"
        assert duplex.is_silent()
        assert duplex.is_whole
        duplex.close()
        assert not duplex.is_silent()
        assert await duplex.receive() == b""


async def test_bytes_that_a_cancelled_thread_may_have_lost_are_not_hidden() -> None:
    near, far = socket.socketpair()
    duplex = Threaded(Blocking(near), in_thread)
    with anyio.fail_after(WAIT_SECONDS):
        with anyio.move_on_after(0.1):
            await duplex.send(MUCH)
        assert not duplex.is_whole
        far.close()
        duplex.close()
