"""Egress of a sandbox without a network: connections arrive as streams of frames and are served by the proxy.

An egress policy decides where they may go; everything else gets 403 before any name is resolved.
"""

from __future__ import annotations

from collections import deque

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import EgressPolicy
from alita_mcp.sandbox.network.proxy import USUAL_CLOCKS, Clocks, serve
from alita_mcp.sandbox.wire.frames import WINDOW, Frame, FrameError, Kind, credit, read_credit
from alita_mcp.sandbox.wire.link import Worker
from alita_mcp.sandbox.wire.outbox import Outbox

MAX_STREAMS = 256
"""Far more than the inside opens at once; some of those that it closed may still be on their way out."""
STREAM_KINDS = frozenset({Kind.OPEN, Kind.DATA, Kind.END, Kind.RESET, Kind.CREDIT})
_PIECE = 64 << 10


class Stream:
    """Host's end of one connection; both directions are bounded by credit."""

    def __init__(self, outbox: Outbox, number: int) -> None:
        self.scope = anyio.CancelScope()
        """Cancelled when the connection inside is broken."""
        self._outbox = outbox
        self._number = number
        self._credit = WINDOW
        self._arrived: deque[bytes] = deque()
        self._outstanding = 0
        self._taken = 0
        """Received since the last credit was given back."""
        self._ended = False
        self._changed = anyio.Event()

    async def receive(self) -> bytes:
        """The next bytes from inside; empty at the end."""
        while not self._arrived:
            if self._ended:
                return b""
            await self._changed.wait()
        data = self._arrived.popleft()
        self._outstanding -= len(data)
        self._taken += len(data)
        if self._taken >= WINDOW // 4:
            taken, self._taken = self._taken, 0
            await self._outbox.send(Kind.CREDIT, self._number, credit(taken))
        return data

    async def send(self, data: bytes) -> None:
        """Sends bytes inside, as fast as they are taken."""
        view = memoryview(data)
        while view:
            while self._credit <= 0:
                await self._changed.wait()
            piece = view[: min(self._credit, _PIECE)]
            self._credit -= len(piece)
            await self._outbox.send(Kind.DATA, self._number, bytes(piece))
            view = view[len(piece) :]

    async def end(self) -> None:
        """Says that nothing more follows."""
        await self._outbox.send(Kind.END, self._number)

    async def reset(self) -> None:
        """Breaks the connection inside."""
        await self._outbox.send(Kind.RESET, self._number)

    def take(self, frame: Frame) -> None:
        """Takes a frame about this stream.

        Raises:
            SandboxError: more bytes than the credit allows.
        """
        if frame.kind == Kind.DATA:
            self._outstanding += len(frame.payload)
            if self._outstanding > 2 * WINDOW:
                raise SandboxError("The sandbox broke its protocol: a stream over its credit.")
            self._arrived.append(frame.payload)
        elif frame.kind == Kind.CREDIT:
            try:
                self._credit += read_credit(frame.payload)
            except FrameError as broken:
                raise SandboxError(f"The sandbox broke its protocol: {broken}.") from broken
        else:
            self._ended = True
        self._changed.set()
        self._changed = anyio.Event()


class Egress:
    """All network streams of one call or build, each served by the proxy in a task of its own."""

    def __init__(
        self, worker: Worker, policy: EgressPolicy, tasks: TaskGroup, *, clocks: Clocks = USUAL_CLOCKS
    ) -> None:
        self._outbox = Outbox(worker, tasks)
        self._policy = policy
        self._tasks = tasks
        self._clocks = clocks
        self._streams: dict[int, Stream] = {}
        self._closed = False

    def take(self, frame: Frame) -> None:
        """Takes a frame about a stream; one that comes after `close` is about a call that is over.

        Raises:
            SandboxError: a frame that breaks the protocol.
        """
        if frame.kind not in STREAM_KINDS:
            raise SandboxError(f"The sandbox broke its protocol: {frame.kind.name} is not expected.")
        if self._closed:
            return
        stream = self._streams.get(frame.stream)
        if frame.kind == Kind.OPEN:
            if stream is not None or len(self._streams) >= MAX_STREAMS:
                raise SandboxError("The sandbox broke its protocol: too many streams.")
            stream = self._streams[frame.stream] = Stream(self._outbox, frame.stream)
            self._tasks.start_soon(self._serve, frame.stream, stream)
        elif stream is not None and frame.kind == Kind.RESET:
            stream.scope.cancel()
            del self._streams[frame.stream]
        elif stream is not None:
            stream.take(frame)

    def close(self) -> None:
        """Ends all connections."""
        self._closed = True
        for stream in self._streams.values():
            stream.scope.cancel()
        self._outbox.close()

    async def _serve(self, number: int, stream: Stream) -> None:
        with stream.scope:
            if not await serve(stream, self._policy, self._clocks):
                await stream.reset()
        if self._streams.get(number) is stream:
            del self._streams[number]
