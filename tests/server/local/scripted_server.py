"""A server at an endpoint that says what a test wants: the relay cannot tell it from the real one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.server.transports.local.endpoint import Endpoint, proof
from tests.server.processes import PATIENCE_S

MAX_LINE = 64_000_000


@dataclass
class Link:
    """The server's end of one relay's connection."""

    stream: anyio.abc.SocketStream
    _lines: BufferedByteReceiveStream

    async def line(self) -> bytes:
        """The next line."""
        with anyio.fail_after(PATIENCE_S):
            return await self._lines.receive_until(b"\n", MAX_LINE)

    async def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self.line())
        return message

    async def send(self, message: dict[str, Any]) -> None:
        await self.stream.send(
            json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        )

    async def answer(self, number: int | str, **result: Any) -> None:
        await self.send({"id": number, "result": result})

    async def die(self) -> None:
        """Ends the connection as `kill -9` does."""
        await self.stream.aclose()

    async def at_end(self) -> bool:
        """Waits for what the relay does next; whether it sends nothing more."""
        try:
            with anyio.fail_after(PATIENCE_S):
                await self._lines.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return True
        return False


class ScriptedServer:
    """What listens at the endpoint."""

    def __init__(self, listener: anyio.abc.SocketListener, key: bytes) -> None:
        self._listener = listener
        self._key = key
        self.streams: list[anyio.abc.SocketStream] = []

    async def accept(self) -> anyio.abc.SocketStream:
        """The next connection, whatever it is."""
        with anyio.fail_after(PATIENCE_S):
            self.streams.append(await self._listener.accept())
        return self.streams[-1]

    async def link(self) -> Link:
        """The next relay, greeted."""
        stream = await self.accept()
        link = Link(stream, BufferedByteReceiveStream(stream))
        hello = await link.message()
        assert hello["alita"] == "mcp"
        mine = {"alita": "server", "proof": proof(self._key, "server", hello["nonce"]), "nonce": "once"}
        await stream.send(json.dumps(mine).encode() + b"\n")
        assert (await link.message())["proof"] == proof(self._key, "client", "once")
        return link


@asynccontextmanager
async def listening(endpoint: Endpoint) -> AsyncIterator[ScriptedServer]:
    """Listens where the relay looks for a server."""
    async with await anyio.create_unix_listener(endpoint.address, mode=0o600) as listener:
        server = ScriptedServer(listener, endpoint.key)  # type: ignore[arg-type]
        try:
            yield server
        finally:
            for stream in server.streams:
                await stream.aclose()
