"""Egress of a sandbox that has no network: connections arrive as streams of frames, an allow-list proxy here answers.

What is allowed is a set of `host:port`; everything else gets 403 before any name is resolved.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import NamedTuple

import anyio
from anyio.abc import ByteStream, ObjectSendStream, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.frames import WINDOW, Frame, FrameError, Kind, credit, read_credit
from alita_mcp.sandbox.wire import Worker, WorkerLost

MAX_HEAD = 16 << 10
MAX_STREAMS = 256
"""Far more than the inside opens at once; some of those that it closed may still be on their way out."""
CONNECT_SECONDS = 20.0
_PIECE = 64 << 10
_QUEUED = 16
Parcel = tuple[Kind, int, bytes]
_REASONS = {400: "Bad Request", 403: "Forbidden", 411: "Length Required", 502: "Bad Gateway"}
_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
_HOP_BY_HOP = {b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive", b"host"}


class Stream:
    """The host's end of one connection; both directions are bounded by credit."""

    def __init__(self, outbox: ObjectSendStream[Parcel], number: int) -> None:
        self.scope = anyio.CancelScope()
        """Cancelled when the connection inside is broken."""
        self._outbox = outbox
        self._number = number
        self._credit = WINDOW
        self._arrived: deque[bytes] = deque()
        self._outstanding = 0
        self._ended = False
        self._changed = anyio.Event()

    async def receive(self) -> bytes:
        """The next bytes from inside; empty at the end."""
        while not self._arrived:
            if self._ended:
                return b""
            await self._change()
        data = self._arrived.popleft()
        self._outstanding -= len(data)
        await self._outbox.send((Kind.CREDIT, self._number, credit(len(data))))
        return data

    async def send(self, data: bytes) -> None:
        """Sends bytes inside, as fast as they are taken."""
        view = memoryview(data)
        while view:
            while self._credit <= 0:
                await self._change()
            piece = view[: min(self._credit, _PIECE)]
            self._credit -= len(piece)
            await self._outbox.send((Kind.DATA, self._number, bytes(piece)))
            view = view[len(piece) :]

    async def end(self) -> None:
        """Says that nothing more follows."""
        await self._outbox.send((Kind.END, self._number, b""))

    async def reset(self) -> None:
        """Breaks the connection inside."""
        await self._outbox.send((Kind.RESET, self._number, b""))

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
            self._credit += _credit_of(frame)
        else:
            self._ended = True
        self._changed.set()
        self._changed = anyio.Event()

    async def _change(self) -> None:
        await self._changed.wait()


def _credit_of(frame: Frame) -> int:
    try:
        return read_credit(frame.payload)
    except FrameError as broken:
        raise SandboxError(f"The sandbox broke its protocol: {broken}.") from broken


class Egress:
    """All streams of one worker, each served by the proxy in a task of its own."""

    def __init__(self, worker: Worker, hosts: frozenset[str], tasks: TaskGroup) -> None:
        # one writer: a stream's task may be cancelled at any point, a frame must never be cut
        self._outbox, parcels = anyio.create_memory_object_stream[Parcel](_QUEUED)
        tasks.start_soon(_write, worker, parcels)
        self._hosts = frozenset(host.lower() for host in hosts)
        self._tasks = tasks
        self._streams: dict[int, Stream] = {}

    def take(self, frame: Frame) -> None:
        """Takes a frame about a stream.

        Raises:
            SandboxError: a frame that breaks the protocol.
        """
        stream = self._streams.get(frame.stream)
        if frame.kind == Kind.OPEN:
            if stream is not None or len(self._streams) >= MAX_STREAMS:
                raise SandboxError("The sandbox broke its protocol: too many streams.")
            stream = self._streams[frame.stream] = Stream(self._outbox, frame.stream)
            self._tasks.start_soon(self._serve, frame.stream, stream)
        elif frame.kind not in {Kind.DATA, Kind.END, Kind.RESET, Kind.CREDIT}:
            raise SandboxError(f"The sandbox broke its protocol: {frame.kind.name} is not expected.")
        elif stream is not None and frame.kind == Kind.RESET:
            stream.scope.cancel()
            del self._streams[frame.stream]
        elif stream is not None:
            stream.take(frame)

    async def _serve(self, number: int, stream: Stream) -> None:
        with stream.scope:
            if not await serve(stream, self._hosts):
                await stream.reset()
        self._streams.pop(number, None)

    def close(self) -> None:
        """Lets the writer end."""
        self._outbox.close()


async def _write(worker: Worker, parcels: MemoryObjectReceiveStream[Parcel]) -> None:
    with parcels, suppress(WorkerLost):  # whoever reads the frames hears of a lost worker too
        async for kind, stream, payload in parcels:
            await worker.send(kind, stream, payload)


class Target(NamedTuple):
    """Where a request wants to go, and what to send there first."""

    host: str
    port: int
    opening: bytes
    """Empty for CONNECT."""
    body_bytes: int | None
    """How much of the request's body follows; None: a tunnel, everything goes both ways."""

    @property
    def upload_bytes(self) -> int | None:
        """How much goes to the server in all; None: no end."""
        return None if self.body_bytes is None else len(self.opening) + self.body_bytes


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def serve(stream: Stream, hosts: frozenset[str]) -> bool:
    """Answers one connection: one request, or one tunnel; False when it broke and must be reset."""
    try:
        head, rest = await _read_head(stream)
        target = read_target(head)
        upstream = await _connect(target, hosts)
    except _Refused as refused:
        await _refuse(stream, refused)
        return True
    async with upstream:
        if target.body_bytes is None:
            await stream.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_upload, stream, upstream, target.opening + rest, target.upload_bytes)
            whole = await _download(stream, upstream)
            tasks.cancel_scope.cancel()
    if whole:
        await _discard(stream)
    return whole


def read_target(head: bytes) -> Target:
    """The target of a request's head, for CONNECT and for absolute `http://` URLs."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3:
        raise _Refused(400, "no HTTP request")
    method, where, _version = words
    try:
        if method == b"CONNECT":
            host, port = _split_host(where.decode("ascii"), None)
            return Target(host, port, b"", None)
        if not where.lower().startswith(b"http://"):
            raise _Refused(400, "only CONNECT and absolute http:// URLs are served")
        authority, _slash, path = where[len(b"http://") :].decode("ascii").partition("/")
        host, port = _split_host(authority, 80)
    except UnicodeDecodeError as strange:
        raise _Refused(400, "the target is not ASCII") from strange
    headers = [line for line in lines[1:] if line.split(b":")[0].strip().lower() not in _HOP_BY_HOP]
    opening = b"%s /%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" % (
        method, path.encode(), authority.encode()
    )  # fmt: skip
    opening += b"".join(line + b"\r\n" for line in headers) + b"\r\n"
    return Target(host, port, opening, _body_bytes(headers))


def _split_host(authority: str, default_port: int | None) -> tuple[str, int]:
    if "@" in authority:
        raise _Refused(400, "user names in URLs are not served")
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        host, port = authority, str(default_port or "")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise _Refused(400, "no port")
    return host.strip("[]").rstrip(".").lower(), int(port)


def _body_bytes(headers: list[bytes]) -> int:
    named = {line.partition(b":")[0].strip().lower(): line.partition(b":")[2].strip() for line in headers}
    if b"transfer-encoding" in named:
        raise _Refused(411, "a request's body needs a Content-Length")
    length = named.get(b"content-length", b"0")
    if not length.isdigit():
        raise _Refused(400, "Content-Length is no number")
    return int(length)


async def _read_head(stream: Stream) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await stream.receive()
        data += piece
        if not piece or (len(data) > MAX_HEAD and b"\r\n\r\n" not in data[:MAX_HEAD]):
            raise _Refused(400, "no HTTP request")
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


async def _connect(target: Target, hosts: frozenset[str]) -> ByteStream:
    if f"{target.host}:{target.port}" not in hosts:
        raise _Refused(403, f"{target.host}:{target.port} is not on the allow-list")
    try:
        with anyio.fail_after(CONNECT_SECONDS):
            return await anyio.connect_tcp(target.host, target.port)
    except (OSError, TimeoutError) as problem:
        raise _Refused(502, f"{target.host}:{target.port} cannot be reached: {problem}") from problem


async def _refuse(stream: Stream, refused: _Refused) -> None:
    body = f"{refused}\n".encode()
    head = f"HTTP/1.1 {refused.status} {_REASONS[refused.status]}\r\nContent-Type: text/plain\r\n"
    await stream.send(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await stream.end()
    await _discard(stream)


async def _discard(stream: Stream) -> None:
    """Takes what a client still sends: many read no answer before they have sent their whole body."""
    while await stream.receive():
        continue


async def _upload(stream: Stream, upstream: ByteStream, data: bytes, left: int | None) -> None:
    """From inside to the server: all of a tunnel, or exactly one request, so that no second one hides behind it."""
    try:
        while left is None or left > 0:
            data = data or await stream.receive()
            if not data:
                break
            await upstream.send(data[:left])
            left = None if left is None else left - len(data)
            data = b""
        if left is None:
            await upstream.send_eof()
    except _GONE:
        return  # the answer, if there is one, still goes through


async def _download(stream: Stream, upstream: ByteStream) -> bool:
    try:
        while True:
            await stream.send(await upstream.receive(_PIECE))
    except anyio.EndOfStream:
        await stream.end()
        return True
    except _GONE:
        return False
