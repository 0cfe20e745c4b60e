"""HTTP proxy of a sandbox: serves one request or one TLS tunnel for each connection from inside.

What it refuses, it refuses in words: the status line's reason is what libraries show to a tool's author.
"""

from __future__ import annotations

import re
import ssl
from abc import abstractmethod
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import anyio
from anyio.abc import ByteStream

from alita_mcp.sandbox.interface import EgressPolicy, EgressRefused
from alita_mcp.sandbox.network.egress_policies import MeteredStream
from alita_mcp.sandbox.network.host_patterns import is_host_name

if TYPE_CHECKING:
    from alita_mcp.sandbox.network.proxy_request import ProxyRequest

PROXY = "http://127.0.0.1:3128"
PROXY_VARIABLES = dict.fromkeys(
    ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), PROXY
) | dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
"""The environment variables of a call that may use the network."""

MAX_HELLO = 16 << 10
IDLE_SECONDS = 60.0
"""For a request's head or a tunnel's first bytes, and without a byte later; the call's own limit holds besides."""
_PIECE = 64 << 10
_GONE = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


class FramedStream(ByteStream):
    """Client's connection whose every write wakes all who carry it."""

    @abstractmethod
    async def send_last(self, item: bytes) -> None:
        """Sends bytes together with the end."""


async def serve(client: ByteStream, policy: EgressPolicy, idle_seconds: float = IDLE_SECONDS) -> bool:
    """Serves one connection of a program inside: one request or one tunnel; False when it broke and must be reset."""
    from alita_mcp.sandbox.network.proxy_request import ProxyRequest  # with h11, which few calls need

    try:
        with anyio.fail_after(idle_seconds):
            request, data = ProxyRequest(), b""
            while not request.host:
                data += request.forward(await client.receive())
        copying = None
        # a kept connection that the server closed as it was used again says nothing about the request (RFC 9110 §9.2.2)
        while copying is None or (copying.is_stale and copying.refusal is None):
            async with await policy.open(request.host, request.port) as upstream:
                if request.is_tunnel:
                    return await _tunnel(client, upstream, request, data, idle_seconds)
                copying = _Copying(client, upstream, idle_seconds)
                await copying.run(request, data)
                if copying.is_sent and request.leaves_reusable and isinstance(upstream, MeteredStream):
                    await upstream.wait_for_reuse()
    except anyio.EndOfStream:
        return await _refuse(client, EgressRefused(400, "no HTTP request"), idle_seconds)
    except TimeoutError:
        late = EgressRefused(408, f"the request did not arrive within {idle_seconds:g} s")
        return await _refuse(client, late, idle_seconds)
    except EgressRefused as refusal:
        return await _refuse(client, refusal, idle_seconds)
    if copying.refusal is not None and not copying.response_started:
        return await _refuse(client, copying.refusal, idle_seconds)
    return copying.whole and await _discard_rest(client, idle_seconds)


async def _tunnel(
    client: ByteStream, upstream: ByteStream, request: ProxyRequest, data: bytes, idle_seconds: float
) -> bool:
    """Carries TLS for the host that was named, and nothing else."""
    await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
    try:
        with anyio.fail_after(idle_seconds):
            while (name := server_name(data)) is None:
                data += await client.receive()
    except (NotTls, TimeoutError, anyio.EndOfStream):
        return False
    # clients name no server when they connect to an address (RFC 6066 §3)
    if name != (request.host if is_host_name(request.host) else ""):
        return False
    copying = _Copying(client, upstream, idle_seconds)
    await copying.run(request, data)
    return copying.whole


class NotTls(ValueError):
    """Error: the bytes cannot be the beginning of a TLS connection."""


def server_name(data: bytes) -> str | None:
    """The server name that a TLS client sends, lower case; empty when it sends none; None when more bytes are needed.

    It is read as OpenSSL reads it (RFC 6066 §3).

    Raises:
        NotTls: this is no TLS of version 1.2 or later, or a hello that no client sends.
    """
    if data[:1] not in {b"", b"\x16"}:  # OpenSSL waits for more of what SSL 2 might have sent
        raise NotTls("no handshake")
    names: list[str | None] = []
    context = _server_context()
    context.sni_callback = lambda _connection, name, _context: names.append(name)
    incoming = ssl.MemoryBIO()
    incoming.write(data)
    try:
        # without a certificate the handshake ends as soon as the hello was read
        context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
    except ssl.SSLWantReadError as cut:
        if len(data) > MAX_HELLO:
            raise NotTls("a hello without an end") from cut
        return None
    except ssl.SSLError as broken:
        if not names:
            raise NotTls(broken.reason or "no hello") from broken
    return (names[0] or "").lower().removesuffix(".")


@cache
def _server_context() -> ssl.SSLContext:
    """One for all: a client that sends its hello byte by byte has it read as often."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


class _Copying:
    """Copies bytes both ways between client and server, until one is done, the policy refuses or nothing moves."""

    def __init__(self, client: ByteStream, upstream: ByteStream, idle_seconds: float) -> None:
        self.whole = False
        """The server ended its response."""
        self.is_sent = False
        """All of the request went to the server."""
        self.is_stale = False
        """The connection was used before, no byte of a response came, and the request may be sent again."""
        self.response_started = False
        """Part of the response went to the client."""
        self.refusal: EgressRefused | None = None
        """Why it was ended before."""
        self._client = client
        self._upstream = upstream
        self._scope = anyio.CancelScope()
        self._idle_seconds = idle_seconds

    async def run(self, request: ProxyRequest, data: bytes) -> None:
        """Copies; `data` is the part of the request that goes to the server first."""
        with self._scope:
            self._note_progress()
            reused = isinstance(self._upstream, MeteredStream) and self._upstream.is_reused
            self.is_stale = reused and request.is_repeatable
            if request.is_complete:
                await self._upload(request, data)
                await self._download(request)
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._upload, request, data)
                await self._download(request)
                tasks.cancel_scope.cancel()
        if self._scope.cancelled_caught and self.refusal is None:
            self.refusal = EgressRefused(504, f"nothing moved for {self._idle_seconds:g} s")

    def _note_progress(self) -> None:
        deadline = anyio.current_time() + self._idle_seconds
        if abs(deadline - self._scope.deadline) > self._idle_seconds / 100:  # each change takes another timer
            self._scope.deadline = deadline

    async def _upload(self, request: ProxyRequest, data: bytes) -> None:
        """All of a tunnel, or one request, so that no second one hides behind it."""
        try:
            await self._upstream.send(data)
            self._note_progress()
            with suppress(anyio.EndOfStream):
                while not request.is_complete:
                    await self._upstream.send(request.forward(await self._client.receive()))
                    self._note_progress()
                self.is_sent = True
            if request.is_tunnel:
                await self._upstream.send_eof()
        except EgressRefused as refusal:
            self.refusal = refusal
            self._scope.cancel()
        except _GONE:
            return  # the response, if there is one, still goes through

    async def _download(self, request: ProxyRequest) -> None:
        try:
            while not self.whole:
                data = b""
                with suppress(anyio.EndOfStream):
                    data = await self._upstream.receive(_PIECE)
                self._note_progress()
                self.is_stale &= not data
                if self.is_stale:
                    return
                response = request.forward_response(data)
                self.whole = request.is_answered or not data
                self.response_started |= bool(response)
                await (_send_last(self._client, response) if self.whole else self._client.send(response))
                self._note_progress()
        except EgressRefused as refusal:
            self.refusal = refusal
        except _GONE:
            return


def refusal_response(refusal: EgressRefused) -> bytes:
    """The HTTP response that tells a program of a refusal."""
    reason = re.sub(r"[^\x20-\x7e]", "?", refusal.reason)[:300]
    body = f"{reason}\n".encode()
    head = f"HTTP/1.1 {refusal.status} {reason}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _refuse(client: ByteStream, refusal: EgressRefused, idle_seconds: float) -> bool:
    await _send_last(client, refusal_response(refusal))
    return await _discard_rest(client, idle_seconds)


async def _send_last(client: ByteStream, data: bytes) -> None:
    if isinstance(client, FramedStream):
        await client.send_last(data)
    else:
        await client.send(data)
        await client.send_eof()


async def _discard_rest(client: ByteStream, idle_seconds: float) -> bool:
    """Discards what a client still sends: many read no response before they have sent all. False when it never ends."""
    with anyio.move_on_after(idle_seconds):
        async for _ in client:
            continue
        return True
    return False
