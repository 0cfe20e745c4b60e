"""Transport over a container's attached stdin and stdout, and the container's lifetime."""

from __future__ import annotations

import struct
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import anyio

from alita_mcp.sandbox.docker.engine import Engine, remove_container
from alita_mcp.sandbox.wire.duplex import duplex_of
from alita_mcp.sandbox.wire.link import WorkerLost

MAX_COMPLAINTS = 4_000
_HEADER = struct.Struct(">BxxxI")
_STDOUT = 1
_LATE_SECONDS = 2


class DockerTransport:
    """Transport over an attach stream, which is multiplexed: eight bytes of stream and length before each piece."""

    def __init__(self, engine: Engine, name: str, attached: Any, created: str) -> None:
        self._engine = engine
        self._name = name
        self._attached = attached
        self._duplex = duplex_of(attached, engine.run_blocking)
        self._created = created
        self._buffer = bytearray()
        self._complaints = bytearray()

    @property
    def complaints(self) -> str:
        """What the container wrote to stderr, shortened."""
        return self._complaints.decode("utf-8", "replace")

    @property
    def is_whole(self) -> bool:
        """False once bytes that were to be sent are lost."""
        return self._duplex.is_whole

    async def send(self, data: bytes) -> None:
        """Writes all of it."""
        try:
            await self._duplex.send(data)
        except OSError as broken:
            raise WorkerLost(f"The container takes no input: {broken}. {self.complaints}".strip()) from broken

    async def receive(self) -> bytes:
        """The next bytes of stdout; empty when the container has ended."""
        while True:
            if out := self._demultiplex():
                return out
            data = await self._duplex.receive()
            if not data:
                return b""
            self._buffer += data

    def is_silent(self) -> bool:
        """Whether nothing waits to be received."""
        return not self._buffer and self._duplex.is_silent()

    async def ran_out_of_memory(self, *, ended: bool) -> bool:
        """Whether the engine reported an OOM kill; an exit code would not tell it from any other kill.

        It is asked about a container that ended: in one that lives the supervisor sees the kills of each call, while
        the engine's reports may be of an earlier one. They follow the end by some milliseconds, hence the look ahead.
        """

        def ask(client: Any) -> bool:
            until = datetime.fromisoformat(client.info()["SystemTime"]) + timedelta(seconds=_LATE_SECONDS)
            since = datetime.fromisoformat(self._created)
            filters = {"container": self._name, "event": "oom"}
            with closing(
                client.events(since=_time(since), until=_time(until), filters=filters, decode=True)
            ) as events:
                return next(events, None) is not None

        return ended and await self._engine.call(ask)

    def close(self) -> None:
        """Closes the stream and wakes a waiting reader."""
        self._duplex.close()
        close_attached(self._attached)

    def _demultiplex(self) -> bytes:
        out = bytearray()
        while len(self._buffer) >= _HEADER.size:
            stream, length = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + length
            if len(self._buffer) < end:
                break
            piece = self._buffer[_HEADER.size : end]
            del self._buffer[:end]
            if stream == _STDOUT:
                out += piece
            elif len(self._complaints) < MAX_COMPLAINTS:
                self._complaints += piece[:MAX_COMPLAINTS]
        return bytes(out)


def _time(moment: datetime) -> str:
    """As the engine wants it; a date is refused, which the client shows as a stream that ends at once."""
    return f"{moment.timestamp():.6f}"


@asynccontextmanager
async def open_container(engine: Engine, parameters: dict[str, Any]) -> AsyncIterator[DockerTransport]:
    """A started container and its stream; killed and removed at the end, also when the task is cancelled.

    Raises:
        SandboxError: the engine refused.
    """
    name = f"alita-{uuid.uuid4().hex}"

    def start(client: Any) -> tuple[Any, str]:
        # never detach=True: that clears StdinOnce, and the container would outlive this process
        container = client.containers.create(name=name, **parameters)
        attached = client.api.attach_socket(
            container.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        try:
            container.start()
        except BaseException:
            close_attached(attached)
            raise
        return attached, container.attrs["Created"]

    transport: DockerTransport | None = None
    try:
        transport = DockerTransport(engine, name, *await engine.call(start))
        yield transport
    finally:
        # by name: a cancelled start may have created it without telling us
        with anyio.CancelScope(shield=True):
            if transport is not None:
                transport.close()
            await engine.call(partial(remove_container, name=name))


def close_attached(attached: Any) -> None:
    """Closes an attach stream for good: the object that the client gives keeps its socket open."""
    below = getattr(attached, "_sock", attached)
    response = getattr(attached, "_response", None)
    if response is not None:
        response.raw.close()  # before its socket: Python 3.13 complains where it is collected after that
    attached.close()
    below.close()
