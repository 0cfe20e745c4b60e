"""Connections of one call in the embedded sandbox, which has neither sockets nor TLS: TLS begins and ends here.

The proxy of the other sandboxes serves each connection, so that the same rules hold: one request for the host
that it names, or a tunnel whose TLS names the granted host.
"""

from __future__ import annotations

import base64
import ssl
from collections import deque
from typing import Annotated, Any, Literal

import anyio
from anyio import to_thread
from anyio.abc import AnyByteStream, TaskGroup
from anyio.streams.stapled import StapledObjectStream
from anyio.streams.tls import TLSAttribute, TLSStream
from pydantic import Field

from alita_mcp.sandbox.interface import EgressPolicy
from alita_mcp.sandbox.network.proxy import USUAL_CLOCKS, Clocks, serve
from alita_mcp.values import Value

MAX_STREAMS = 64
"""So many connections of one call are open at once."""
MAX_PIECE = 256 << 10
"""So many bytes are sent or received by one request."""
_QUEUED = 4
"""Pieces of the proxy (64 KB) under way in one direction."""
_LEAST_SECONDS = 0.005
"""What has arrived already is found within this time."""
_RESET = ("ConnectionResetError", "the connection broke")
_VERIFIED_HERE = (
    "this machine verifies certificates, and a tool can neither switch that off nor add an authority"
)
_Seconds = Annotated[float, Field(ge=0)] | None


class StreamFailed(Exception):
    """Error that a tool gets for a failed connection; `name` is the class of the error inside."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class StreamRequest(Value):
    """Request from inside about its connections."""

    do: Literal["open", "send", "receive", "ready", "end", "close"]
    streams: tuple[int, ...] = Field((), max_length=MAX_STREAMS)
    """Which ones; all but `open` and `ready` are about one."""
    host: str = Field("", max_length=1_000)
    port: int = Field(0, ge=0, le=65535)
    tls: str | None = Field(None, max_length=1_000)
    """The server name to begin TLS with; None: no TLS."""
    data: str = ""
    """Base64."""
    count: int = Field(MAX_PIECE, ge=1, le=MAX_PIECE)
    seconds: _Seconds = None
    """How long the response may take; None: as long as the call."""


class Streams:
    """All connections of one call, by number."""

    def __init__(self, policy: EgressPolicy, tasks: TaskGroup, *, clocks: Clocks = USUAL_CLOCKS) -> None:
        self._policy = policy
        self._tasks = tasks
        self._clocks = clocks
        self._streams: dict[int, _Stream] = {}
        self._opened = 0
        self._context: ssl.SSLContext | None = None

    async def handle(self, request: StreamRequest) -> Any:
        """Handles a request about connections; gives a JSON value.

        Raises:
            StreamFailed: there is none; the error that the tool gets.
        """
        seconds = None if request.seconds is None else max(request.seconds, _LEAST_SECONDS)
        if request.do == "ready":
            return await self._ready(request.streams, seconds)
        try:
            with anyio.fail_after(seconds):
                return await self._done(request)
        except TimeoutError as late:
            raise StreamFailed("TimeoutError", "timed out") from late
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as broken:
            raise StreamFailed(*_RESET) from broken
        except ssl.SSLCertVerificationError as unverified:
            message = f"certificate verify failed: {unverified.verify_message} ({_VERIFIED_HERE})"
            raise StreamFailed("SSLCertVerificationError", message) from unverified
        except ssl.SSLError as broken:
            raise StreamFailed("SSLError", broken.reason or "TLS failed") from broken

    def close(self) -> None:
        """Ends all connections."""
        for stream in self._streams.values():
            stream.close()

    async def _done(self, request: StreamRequest) -> Any:
        if request.do == "open":
            return await self._open(request)
        stream = self._streams.get(request.streams[0]) if request.streams else None
        if stream is None:
            raise StreamFailed("OSError", "the connection is closed")
        if request.do == "send":
            await stream.inside.send(base64.b64decode(request.data))
        elif request.do == "receive":
            return base64.b64encode(await stream.take(request.count)).decode()
        elif request.do == "end":
            await stream.finish()
        else:
            self._drop(request.streams[0])
        return None

    async def _open(self, request: StreamRequest) -> dict[str, Any]:
        if len(self._streams) >= MAX_STREAMS:
            raise StreamFailed("OSError", f"more than {MAX_STREAMS} connections at once")
        self._opened += 1
        number, stream = self._opened, _Stream()
        self._streams[number] = stream
        self._tasks.start_soon(stream.serve, self._policy, self._clocks)
        if request.tls is None:
            return {"stream": number}
        try:
            return {"stream": number, **await self._secured(stream, request)}
        except BaseException:
            self._drop(number)
            raise

    async def _secured(self, stream: _Stream, request: StreamRequest) -> dict[str, Any]:
        host = request.host.lower().removesuffix(".")
        if (request.tls or "").lower().removesuffix(".") != host:
            raise StreamFailed("SSLError", f"the server name must be the granted host, {host!r}")
        authority = f"[{host}]" if ":" in host else host
        there = f"{authority}:{request.port}"
        await stream.inside.send(f"CONNECT {there} HTTP/1.1\r\nHost: {there}\r\n\r\n".encode())
        _version, status, reason = (await stream.inside.receive()).split(b"\r\n")[0].decode().split(" ", 2)
        if status != "200":  # why there is no tunnel, as a program without a proxy hears it
            names = {403: "PermissionError", 408: "TimeoutError", 504: "TimeoutError"}
            raise StreamFailed(names.get(int(status), "ConnectionError"), reason)
        if self._context is None:
            self._context = await to_thread.run_sync(_new_context)
        secured = await TLSStream.wrap(
            stream.inside, hostname=host, ssl_context=self._context, standard_compatible=False
        )
        stream.inside = secured
        found = secured.extra(TLSAttribute.ssl_object)  # noqa: S610 - of anyio, not of Django
        return {
            "version": found.version(), "cipher": found.cipher(), "alpn": found.selected_alpn_protocol(),
            "certificate": found.getpeercert(), "der": base64.b64encode(found.getpeercert(True) or b"").decode(),
        }  # fmt: skip

    async def _ready(self, numbers: tuple[int, ...], seconds: float | None) -> list[int]:
        """Which of them have something to be received, an end included; waits until one has."""
        known = {number: self._streams[number] for number in numbers if number in self._streams}
        if len(known) < len(numbers):
            return [number for number in numbers if number not in known or known[number].is_ready]

        async def look(stream: _Stream) -> None:
            await stream.fill()
            tasks.cancel_scope.cancel()

        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                for stream in known.values():
                    tasks.start_soon(look, stream)
        return [number for number, stream in known.items() if stream.is_ready]

    def _drop(self, number: int) -> None:
        self._streams.pop(number).close()


class _Stream:
    """One connection: the end for the program inside, and the proxy that serves the other end."""

    def __init__(self) -> None:
        self._upload, self._requests = anyio.create_memory_object_stream[bytes](_QUEUED)
        self._responses, self._download = anyio.create_memory_object_stream[bytes](_QUEUED)
        self.inside: AnyByteStream = StapledObjectStream(self._upload, self._download)
        self._scope = anyio.CancelScope()
        self._arrived: deque[bytes] = deque()
        self._ended = False
        self._whole = False
        """The proxy said that nothing more follows."""

    @property
    def is_ready(self) -> bool:
        """Whether the next `take` returns at once."""
        return bool(self._arrived) or self._ended

    async def serve(self, policy: EgressPolicy, clocks: Clocks) -> None:
        """Serves the connection by the proxy."""
        with self._scope, self._requests, self._responses:
            await serve(self, policy, clocks)

    async def receive(self) -> bytes:
        """The next bytes from inside, for the proxy; empty at the end."""
        try:
            return await self._requests.receive()
        except anyio.EndOfStream:
            return b""

    async def send(self, data: bytes) -> None:
        """Sends bytes of the proxy inside, as fast as they are taken."""
        await self._responses.send(data)

    async def end(self) -> None:
        """Ends the proxy's direction: nothing more follows."""
        self._whole = True
        await self._responses.aclose()

    async def fill(self) -> None:
        """Waits until it is ready."""
        if self.is_ready:
            return
        try:
            self._arrived.append(await self.inside.receive())
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            self._ended = True

    async def take(self, count: int) -> bytes:
        """At most so many bytes for the inside; empty at the end."""
        await self.fill()
        if not self._arrived:
            if not self._whole:
                raise StreamFailed(*_RESET)
            return b""
        data = self._arrived.popleft()
        if data[count:]:
            self._arrived.appendleft(data[count:])
        return data[:count]

    async def finish(self) -> None:
        """Ends the direction from inside: nothing more comes."""
        await self._upload.aclose()

    def close(self) -> None:
        """Closes both ends."""
        self._scope.cancel()
        for end in (self._upload, self._requests, self._responses, self._download):
            end.close()


def _new_context() -> ssl.SSLContext:
    """Verifies as this machine's own requests do; SSL_CERT_FILE and SSL_CERT_DIR count."""
    import httpx

    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
