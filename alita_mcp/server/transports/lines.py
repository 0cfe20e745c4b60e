"""MCP messages as lines of JSON, whatever carries them: one connection from its first line to its end."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from alita_mcp.server.transports.malformed import MalformedMessage, read_message


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


async def serve_lines(
    server: Server[Any], lines: AsyncIterable[str], write: Callable[[str], Awaitable[None]]
) -> None:
    """Serves the client that sends these lines until there are no more; `write` takes a line with its end.

    A line that is no message gets an error.
    """
    to_server, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
    from_server, answers = anyio.create_memory_object_stream[SessionMessage]()
    refusals = from_server.clone()

    async def read_lines() -> None:
        with suppress(anyio.BrokenResourceError):  # the server has ended
            async with to_server, refusals:
                async for line in lines:
                    if not line.strip():
                        continue
                    try:
                        message = read_message(line)
                    except MalformedMessage as malformed:
                        await refusals.send(SessionMessage(malformed.error))
                    else:
                        await to_server.send(SessionMessage(message))

    async def write_lines() -> None:
        async with answers:
            async for answer in answers:
                text = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
                await write(text + "\n")

    async with anyio.create_task_group() as streams:
        streams.start_soon(read_lines)
        streams.start_soon(write_lines)
        await server.run(requests, from_server, server.create_initialization_options())
