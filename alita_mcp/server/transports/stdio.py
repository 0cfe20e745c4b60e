"""Stdio transport for one client, in both protocol eras, until the client or the parent is gone."""

from __future__ import annotations

import io
import json
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from alita_mcp.server.transports.greeting import NO_GREETING, Greeting
from alita_mcp.server.transports.nonblocking_pipe import PipeReader, PipeWriter
from alita_mcp.server.transports.shutdown import ending_signal, leaving_at_latest, orphaned
from alita_mcp.server.transports.wire import Wire


class _FromClient(anyio.AsyncFile[str]):
    """Lines from the client; ends with the pipe, or at once when `end` is called.

    Ending the input, instead of cancelling the server, lets the server answer what it still can and run
    its clean-up uncancelled. Where a thread has to block in `read`, it is left behind.
    """

    def __init__(self, descriptor: int, read: bytes) -> None:
        raw = io.FileIO(descriptor, "rb", closefd=False)
        text = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="replace", newline="\n")
        super().__init__(text, limiter=anyio.CapacityLimiter(1))
        self._pipe = PipeReader(descriptor, read) if PipeReader.can_read(descriptor) else None
        self._reading = anyio.CancelScope()
        self.ended = anyio.Event()

    def end(self) -> None:
        """No line is delivered after this."""
        self.ended.set()
        self._reading.cancel()

    async def readline(self) -> str:
        """The next line, or an empty string at the end."""
        line = ""
        if not self.ended.is_set():
            with anyio.CancelScope() as self._reading:
                line = await (self._pipe.line() if self._pipe else self._line_in_thread())
        if not line:
            self.ended.set()
        return line

    async def _line_in_thread(self) -> str:
        return await anyio.to_thread.run_sync(
            self.wrapped.readline, abandon_on_cancel=True, limiter=self.limiter
        )


class _ToClient(anyio.AsyncFile[str]):
    """Lines to the client; a client that no longer reads ends the input."""

    def __init__(self, descriptor: int, input_: _FromClient, answered: int | str | None) -> None:
        raw = io.FileIO(descriptor, "wb", closefd=False)
        text = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", newline="\n")
        super().__init__(text, limiter=anyio.CapacityLimiter(1))
        self._pipe = PipeWriter(descriptor)
        self._input = input_
        self._answered = answered

    async def write(self, text: str) -> int:
        """Writes and flushes in one go; returns the number of characters taken."""
        if self._answered is not None and self._has_response(text):
            return len(text)
        try:
            if not self._pipe.write(text):
                await anyio.to_thread.run_sync(self._write_now, text, limiter=self.limiter)
        except OSError:
            self._input.end()
            return 0
        return len(text)

    def _has_response(self, text: str) -> bool:
        """Whether the client has this response already, from the greeting."""
        message = json.loads(text)
        if message.get("id") != self._answered or "method" in message:
            return False
        self._answered = None
        return True

    async def flush(self) -> None:
        """Nothing to do: `write` has flushed."""

    def _write_now(self, text: str) -> None:
        self.wrapped.write(text)
        self.wrapped.flush()


async def serve_stdio(
    server: Server[Any], wire: Wire, greeting: Greeting = NO_GREETING, *, parent: int
) -> int:
    """Serves until end of input, a signal, or the death of `parent`; returns the exit status.

    The server's lifespan closes what it opened. From the moment that the end is known, the process has
    `ending.END_WITHIN_S` seconds left.
    """
    lines = _FromClient(wire.reads, greeting.read)
    status = 0

    async def on_signal() -> None:
        nonlocal status
        status = await ending_signal()
        lines.end()

    async def on_orphaned() -> None:
        await orphaned(parent)
        lines.end()

    async def on_end() -> None:
        await lines.ended.wait()
        with leaving_at_latest(status):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as watchers:
        watchers.start_soon(on_signal)
        watchers.start_soon(on_orphaned)
        watchers.start_soon(on_end)
        async with stdio_server(stdin=lines, stdout=_ToClient(wire.writes, lines, greeting.answered)) as (
            incoming,
            outgoing,
        ):
            await server.run(incoming, outgoing, server.create_initialization_options())
        watchers.cancel_scope.cancel()
    return status
