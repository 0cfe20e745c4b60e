"""Stdio transport for one client, in both protocol eras, until the client or the parent is gone.

Pipes and sockets are read and written on the event loop itself: a thread for each line would cost more than most calls.
Windows, regular files and terminals use a thread.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server

from alita_mcp.server.transports.greeting import NO_GREETING, Greeting
from alita_mcp.server.transports.lines import serve_lines, split_lines
from alita_mcp.server.transports.shutdown import start_exit_timer, wait_for_signal
from alita_mcp.server.transports.wire import Wire

CHUNK_BYTES = 65_536
PARENT_POLL_S = 0.4


class LineReader:
    """Lines from the client; they end with the pipe, or at once when `end` is called.

    Ending the input, instead of cancelling the server, lets the server answer what it still can and run
    its clean-up uncancelled. Where a thread has to block in `read`, it is left behind.
    """

    def __init__(self, descriptor: int, already_read: bytes = b"") -> None:
        """`already_read` came from the descriptor before."""
        self._descriptor = descriptor
        self._already_read = already_read
        mode = os.fstat(descriptor).st_mode
        self._is_pollable = sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
        self._reading = anyio.CancelScope()
        self._thread = anyio.CapacityLimiter(1)
        self.ended = anyio.Event()

    def end(self) -> None:
        """No line is delivered after this."""
        self.ended.set()
        self._reading.cancel()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each line without its end, and what is left where the last one has none."""
        async for line in split_lines(self._chunks()):
            if self.ended.is_set():
                return
            yield line
        self.ended.set()

    async def _chunks(self) -> AsyncIterator[bytes]:
        chunk = self._already_read
        while chunk or (chunk := await self._read_chunk()):
            yield chunk
            chunk = b""

    async def _read_chunk(self) -> bytes:
        """The next bytes; none at the end of the input."""
        if self.ended.is_set():
            return b""
        with anyio.CancelScope() as self._reading:
            if not self._is_pollable:
                return await anyio.to_thread.run_sync(
                    os.read, self._descriptor, CHUNK_BYTES, abandon_on_cancel=True, limiter=self._thread
                )
            while True:
                await anyio.wait_readable(self._descriptor)
                try:
                    return os.read(self._descriptor, CHUNK_BYTES)
                except BlockingIOError:  # another process shares the descriptor and was faster
                    continue
                except ConnectionError:
                    break
        return b""


class LineWriter:
    """Lines to the client; a client that no longer reads ends the input."""

    def __init__(self, descriptor: int, lines: LineReader, answered: int | str | None = None) -> None:
        """`answered` is the id of a request whose response the client has already, from the greeting."""
        self._descriptor = descriptor
        self._file = os.fdopen(descriptor, "wb", closefd=False)
        self._thread = anyio.CapacityLimiter(1)
        self._lines = lines
        self._answered = answered
        self._unsent = bytearray()
        """What a cancelled line left; goes out before the next one."""
        mode = os.fstat(descriptor).st_mode
        self._poll = None
        if sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLOUT)

    async def write(self, text: str) -> None:
        """Writes a line and flushes it."""
        if self._answered is not None:
            message = json.loads(text)
            if message.get("id") == self._answered and "method" not in message:
                self._answered = None
                return
        self._unsent += text.encode()
        try:
            while self._unsent:
                if self._poll is None:
                    whole, self._unsent = self._unsent, bytearray()
                    await anyio.to_thread.run_sync(self._write_in_thread, whole, limiter=self._thread)
                elif self._poll.poll(0):  # what has space takes up to PIPE_BUF bytes at once
                    del self._unsent[: os.write(self._descriptor, self._unsent[: select.PIPE_BUF])]
                else:
                    await anyio.wait_writable(self._descriptor)
        except OSError:
            self._lines.end()

    def _write_in_thread(self, data: bytearray) -> None:
        self._file.write(data)
        self._file.flush()


async def serve_stdio(
    server: Server[Any], wire: Wire, greeting: Greeting = NO_GREETING, *, parent: int
) -> int:
    """Serves until end of input, a signal, or the death of `parent`; returns the exit status.

    The server's lifespan closes what it opened. From the moment that the end is known, the process has
    `shutdown.END_WITHIN_S` seconds left.
    """
    lines = LineReader(wire.reads, greeting.read)
    writer = LineWriter(wire.writes, lines, greeting.answered)
    status = 0

    async def end_on_signal() -> None:
        nonlocal status
        status = await wait_for_signal()
        lines.end()

    async def end_when_orphaned() -> None:
        # Even if another process still holds our stdin open.
        while os.getppid() == parent:  # noqa: ASYNC110 - no event tells of a parent's death
            await anyio.sleep(PARENT_POLL_S)
        lines.end()

    async def exit_in_time() -> None:
        await lines.ended.wait()
        start_exit_timer(status)

    async with anyio.create_task_group() as watchers:
        watchers.start_soon(end_on_signal)
        watchers.start_soon(end_when_orphaned)
        watchers.start_soon(exit_in_time)
        await serve_lines(server, lines, writer.write)
        watchers.cancel_scope.cancel()
    return status
