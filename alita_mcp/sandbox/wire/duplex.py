"""Byte streams to and from a sandbox: pollable descriptors without a thread, all others in threads."""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio

PIECE = 1 << 18
_Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)
"""The one that asks once without a file descriptor of its own, where there is one."""
InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class Polled:
    """Byte stream over a socket or two pipes; what a cancelled `send` did not write goes out with the next one."""

    is_whole = True

    def __init__(self, source: socket.socket | int, sink: socket.socket | int) -> None:
        self._source = source
        self._sink = sink
        self._closed = False
        self._unsent = bytearray()
        for end in {source, sink}:
            if isinstance(end, socket.socket):
                end.setblocking(False)
            else:
                os.set_blocking(end, False)

    async def send(self, data: bytes) -> None:
        """Writes all of it; OSError when the other end is closed."""
        self._unsent += data
        while self._unsent:
            if self._closed:
                raise BrokenPipeError("closed on this side")
            piece, sink = bytes(self._unsent[:PIECE]), self._sink
            try:
                del self._unsent[: os.write(sink, piece) if isinstance(sink, int) else sink.send(piece)]
            except BlockingIOError:
                await self._wait(anyio.wait_writable, self._sink)

    async def receive(self) -> bytes:
        """The next bytes; empty at the end."""
        source = self._source
        while not self._closed:
            try:
                return os.read(source, PIECE) if isinstance(source, int) else source.recv(PIECE)
            except BlockingIOError:
                await self._wait(anyio.wait_readable, source)
            except OSError:
                break
        return b""

    def is_silent(self) -> bool:
        """Whether nothing waits to be received, the end included."""
        if self._closed:
            return False
        with _Selector() as selector:
            selector.register(self._source, selectors.EVENT_READ)
            return not selector.select(0)

    def close(self) -> None:
        """Closes the stream and wakes waiting tasks."""
        if self._closed:
            return
        self._closed = True
        for end in {self._source, self._sink}:
            with suppress(OSError):
                anyio.notify_closing(end)
            if isinstance(end, int):
                os.close(end)
            else:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    async def _wait(
        self, ready: Callable[[socket.socket | int], Awaitable[None]], end: socket.socket | int
    ) -> None:
        with suppress(anyio.ClosedResourceError):
            await ready(end)


class Threaded:
    """Byte stream over a socket that only blocks (TLS, SSH, a named pipe). A cancelled `send` may be lost."""

    def __init__(self, blocking: Any, in_thread: InThread) -> None:
        self._socket = blocking
        self._in_thread = in_thread
        self._closed = False
        self.is_whole = True
        with suppress(AttributeError):
            blocking.settimeout(None)

    async def send(self, data: bytes) -> None:
        """Writes all of it; OSError when the other end is closed."""
        whole, self.is_whole = self.is_whole, False
        await self._in_thread(partial(self._socket.sendall, data))
        self.is_whole = whole

    async def receive(self) -> bytes:
        """The next bytes; empty at the end."""
        try:
            data: bytes = await self._in_thread(partial(self._socket.recv, PIECE))
        except OSError:
            return b""
        return data

    def is_silent(self) -> bool:
        """True until it is closed: nothing more can be told without waiting; a dead worker is noticed when used."""
        return not self._closed

    def close(self) -> None:
        """Closes the stream and wakes a waiting reader."""
        self._closed = True
        with suppress(OSError, AttributeError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def duplex_of(attached: Any, in_thread: InThread) -> Polled | Threaded:
    """Byte stream over a socket-like object of the Docker client."""
    found = getattr(attached, "_sock", attached)
    if type(found) is socket.socket:  # not its subclasses: TLS holds bytes back that no poll sees
        return Polled(found, found)
    return Threaded(found, in_thread)
