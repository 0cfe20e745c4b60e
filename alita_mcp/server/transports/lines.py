"""MCP messages as lines of JSON, whatever carries them: one connection from its first line to its end."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from alita_mcp.server.transports.malformed import MalformedMessage, read_message

Write = Callable[[str], Awaitable[None]]
"""Writes a line with its end; called for one line at a time. Of a cancelled line either nothing goes out or, in the
end, all of it."""


async def split_lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[str]:
    """Each line without its end, and what is left where the last one has none."""
    line = bytearray()
    async for chunk in chunks:
        head, *following = chunk.split(b"\n")
        line += head
        for part in following:
            yield line.decode("utf-8", "replace")
            line = bytearray(part)
    if line:
        yield line.decode("utf-8", "replace")


async def serve_lines(server: Server[Any], lines: AsyncIterable[str], write: Write) -> None:
    """Serves the client that sends these lines until there are no more. A line that is no message gets an error."""
    answers = _Answers(write)
    await server.run(_Requests(lines, answers), answers, server.create_initialization_options())


class _Answers(ObjectSendStream[SessionMessage]):
    """Messages to the client, each written by the task that has it: handing it to another would cost a turn."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._writing = anyio.Lock(fast_acquire=True)

    async def send(self, item: SessionMessage) -> None:
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        async with self._writing:
            await self._write(text + "\n")

    async def aclose(self) -> None:
        """Closes nothing: who gave `write` does that."""


class _Requests(ObjectReceiveStream["SessionMessage | Exception"]):
    """Messages from the client, read by the task that wants them."""

    def __init__(self, lines: AsyncIterable[str], answers: _Answers) -> None:
        self._lines = aiter(lines)
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
