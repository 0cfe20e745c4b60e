"""A light client of the 2026-07-28 protocol over one HTTP/1.1 connection; the SDK's costs more than the servers."""

from __future__ import annotations

import json
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

VERSION = "2026-07-28"
ANSWER_WITHIN_S = 120.0
_MAX_HEAD = 64 << 10
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark load", "version": "1"},
}


class Lost(Exception):
    """A call without an answer; the message says what came instead."""


class Address(NamedTuple):
    """Where a server listens, and the token that it asks for."""

    port: int
    token: str = ""


class Client:
    """One connection that carries one request after the other."""

    def __init__(self, stream: ByteStream, address: Address) -> None:
        self._stream = stream
        self._reader = BufferedByteReceiveStream(stream)
        self._address = address
        self._is_kept = True

    @property
    def is_open(self) -> bool:
        """False once the server has said that it closes the connection, or has done so while it was idle."""
        idle = self._stream.extra(SocketAttribute.raw_socket)
        return self._is_kept and not select.select([idle], [], [], 0)[0]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of one `tools/call`.

        Raises:
            Lost: the connection ended, or the answer is no result.
        """
        params = {"name": name, "arguments": arguments, "_meta": _META}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._address.port}\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            f"MCP-Protocol-Version: {VERSION}\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
            f"Authorization: Bearer {self._address.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            with anyio.fail_after(ANSWER_WITHIN_S):
                await self._stream.send(head.encode() + body)
                status, answer = await self._read_response()
        except (TimeoutError, anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError) as failed:
            raise Lost(f"the connection broke: {type(failed).__name__}") from failed
        message = json.loads(answer) if status == 200 else {}
        if "result" not in message:
            raise Lost(f"status {status}: {answer[:300]!r}")
        result: dict[str, Any] = message["result"]
        return result

    async def _read_response(self) -> tuple[int, bytes]:
        head = (await self._reader.receive_until(b"\r\n\r\n", _MAX_HEAD)).decode("latin-1")
        status, *lines = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        self._is_kept = headers.get("connection") != "close"
        if "content-length" in headers:
            return int(status.split()[1]), await self._reader.receive_exactly(int(headers["content-length"]))
        # An event stream: its last event is the response.
        data = b""
        while size := int(await self._reader.receive_until(b"\r\n", _MAX_HEAD), 16):
            data += await self._reader.receive_exactly(size)
            await self._reader.receive_exactly(2)
        await self._reader.receive_exactly(2)
        return int(status.split()[1]), data.rstrip().rpartition(b"data: ")[2]


@asynccontextmanager
async def connect(address: Address) -> AsyncIterator[Client]:
    """Opens a connection.

    Raises:
        Lost: it is refused.
    """
    try:
        stream = await anyio.connect_tcp("127.0.0.1", address.port)
    except OSError as refused:
        raise Lost(f"no connection: {refused}") from refused
    async with stream:
        yield Client(stream, address)
