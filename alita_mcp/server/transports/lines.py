"""MCP messages as lines of JSON over a socket: one connection from its first line to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from alita_mcp.sandbox.wire.duplex import Polled
from alita_mcp.server.transports.malformed import MalformedMessage, read_message


async def serve_lines(server: Server[Any], link: Polled, already_read: bytes = b"") -> None:
    """Serves the client at the other end until it sends no more; what is no message gets an error.

    `already_read` came over the link before.
    """
    answers = _Answers(link)
    lines = split_lines(link, already_read)
    await server.run(_Requests(lines, answers), answers, server.create_initialization_options())


async def split_lines(link: Polled, already_read: bytes = b"") -> AsyncIterator[str]:
    """Each line without its end, and what is left where the last one has none."""
    line, chunk = bytearray(), already_read
    while chunk or (chunk := await link.receive()):
        head, *following = chunk.split(b"\n")
        line += head
        for part in following:
            yield line.decode("utf-8", "replace")
            line = bytearray(part)
        chunk = b""
    if line:
        yield line.decode("utf-8", "replace")


class _Answers(ObjectSendStream[SessionMessage]):
    """Messages to the client, each written by the task that has it: handing it to another would cost a turn."""

    def __init__(self, link: Polled) -> None:
        self._link = link
        self._writing = anyio.Lock(fast_acquire=True)

    async def send(self, item: SessionMessage) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        async with self._writing:
            with suppress(OSError):  # the end of what it sends is read, too
                await self._link.send(text.encode() + b"\n")

    async def aclose(self) -> None:
        """Closes nothing: who gave the link does that."""


class _Requests(ObjectReceiveStream["SessionMessage | Exception"]):
    """Messages from the client, read by the task that wants them."""

    def __init__(self, lines: AsyncIterator[str], answers: _Answers) -> None:
        self._lines = lines
        self._answers = answers

    async def receive(self) -> SessionMessage | Exception:
        async for line in self._lines:
            if not line.strip():
                continue
            try:
                return SessionMessage(read_message(line))
            except MalformedMessage as malformed:
                await self._answers.send(SessionMessage(malformed.error))
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Closes nothing: who gave the lines does that."""
