"""TCP connection to one address, read and written without a task or a transport of its own.

A sandbox opens one for each request of a tool, so what opening costs is what a small request costs.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from contextlib import suppress

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream


class PlainConnection(ByteStream):
    """Connected socket that does not block."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """The next bytes; EndOfStream at the end, BrokenResourceError when the connection broke."""
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)
            except OSError as broken:
                raise anyio.BrokenResourceError from broken
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        """Writes all of it; BrokenResourceError when the connection broke."""
        left = memoryview(item)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
            except OSError as broken:
                raise anyio.BrokenResourceError from broken

    async def send_eof(self) -> None:
        """Says that nothing more follows."""
        with suppress(OSError):  # the other side may have gone meanwhile
            self._socket.shutdown(socket.SHUT_WR)
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Closes it, and wakes waiting tasks."""
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()
        await anyio.lowlevel.checkpoint()


async def connect(address: str, port: int) -> PlainConnection:
    """Connects to an IP address; no name is resolved here.

    Raises:
        OSError: no server answers there.
        ValueError: it is not an address.
    """
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        with suppress(BlockingIOError):
            opened.connect((address, port))
        await anyio.wait_writable(opened)
        if problem := opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(problem, os.strerror(problem))  # noqa: TRY301 - closed below as after any other failure
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        opened.close()
        raise
    return PlainConnection(opened)
