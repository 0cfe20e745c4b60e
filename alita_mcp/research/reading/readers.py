"""Pool of reading processes, which are killed when they take too long, and the reader of a task's files."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

import anyio
from pydantic import Field, ValidationError

from alita_mcp.errors import SandboxError, UsageError
from alita_mcp.event_loop import LARGE_BYTES, off_loop
from alita_mcp.research.reading.worker import LENGTH
from alita_mcp.research.values import Document
from alita_mcp.sandbox.wasm.process import ProcessTransport, worker_process
from alita_mcp.sandbox.wire.link import WorkerLost
from alita_mcp.values import Value

MAX_ANSWER = 64 << 20
MAX_FILE_BYTES = 64_000_000
_MODULE = "alita_mcp.research.reading.worker"
_TYPES = {
    ".pdf": "application/pdf", ".html": "text/html", ".htm": "text/html", ".xhtml": "text/html",
    ".json": "application/json", ".geojson": "application/json", ".csv": "text/csv",
    ".tsv": "text/tab-separated-values", ".xml": "application/xml", ".rss": "application/xml",
}  # fmt: skip
_OFFICE = frozenset({".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".pptx", ".ppt", ".odp"})
_log = logging.getLogger(__name__)


class ReadingLimits(Value):
    """Caps of reading processes."""

    seconds: float = Field(default=20.0, gt=0)
    """For one body, the start of a process included."""
    processes: int = Field(default=2, ge=1)


class _Process(NamedTuple):
    """One reading process, and what ends it."""

    transport: ProcessTransport
    stack: AsyncExitStack


class Readers:
    """Reading processes, started on demand and kept while they are used."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._turns = anyio.CapacityLimiter(limits.processes)
        self._idle: list[_Process] = []

    async def read(self, body: bytes, content_type: str, url: str) -> Document:
        """The document in a body.

        Raises:
            UsageError: it is of a kind that is not read, damaged, encrypted, without text, or takes too much to read.
        """
        request = json.dumps({"content_type": content_type[:500], "url": url}).encode()
        message = LENGTH.pack(len(request)) + request + LENGTH.pack(len(body)) + body
        async with self._turns:
            try:
                with anyio.fail_after(self._limits.seconds):
                    answer = await self._send_to_any(message)
            except TimeoutError as slow:
                raise UsageError(f"Reading it takes longer than {self._limits.seconds:g} s.") from slow
        return await off_loop(partial(_parse_answer, answer), large=len(answer) > LARGE_BYTES)

    async def _send_to_any(self, message: bytes) -> bytes:
        """The answer of an idle process or, where those have ended meanwhile, of a new one."""
        while self._idle:
            if answer := await self._send(self._idle.pop(), message):
                return answer
        stack = AsyncExitStack()
        try:
            transport = await stack.enter_async_context(worker_process(_MODULE))
        except SandboxError as failed:
            raise UsageError("No process can be started to read it.") from failed
        if answer := await self._send(_Process(transport, stack), message):
            return answer
        raise UsageError("It cannot be read: reading it ends the process that reads.")

    async def _send(self, process: _Process, message: bytes) -> bytes:
        """The answer; empty when the process ended. A process that is left in the middle is killed."""
        answer = b""
        try:
            with suppress(WorkerLost):
                await process.transport.send(message)
                answer = await _receive(process.transport)
        finally:
            if answer:
                self._idle.append(process)
            else:
                if complaints := process.transport.complaints:
                    _log.debug("A reading process ended: %s", complaints)
                await process.stack.aclose()
        return answer

    async def aclose(self) -> None:
        """Ends the processes."""
        while self._idle:
            await self._idle.pop().stack.aclose()


async def _receive(transport: ProcessTransport) -> bytes:
    """One whole message; empty when the process ended before it was whole, or claims too much."""
    buffer = bytearray()
    length = LENGTH.size
    while len(buffer) < length:
        if not (chunk := await transport.receive()):
            return b""
        buffer += chunk
        if len(buffer) >= LENGTH.size and length == LENGTH.size:
            length += LENGTH.unpack(buffer[: LENGTH.size])[0]
            if length > MAX_ANSWER:
                return b""
    return bytes(buffer[LENGTH.size :])


def _parse_answer(answer: bytes) -> Document:
    try:
        parsed = json.loads(answer)
        if "document" in parsed:
            return Document.model_validate(parsed["document"])
        refused, hint = str(parsed["refused"]), str(parsed["hint"])
    except (ValueError, TypeError, LookupError, ValidationError) as strange:
        raise UsageError("It cannot be read: what reads it answered something else.") from strange
    raise UsageError(refused, hint=hint)


@asynccontextmanager
async def open_readers(limits: ReadingLimits | None = None) -> AsyncIterator[Readers]:
    """Opens reading processes, and ends them on exit."""
    readers = Readers(limits or ReadingLimits())
    try:
        yield readers
    finally:
        with anyio.CancelScope(shield=True):
            await readers.aclose()


async def read_file(path: Path, name: str, readers: Readers | None = None) -> Document:
    """The document in a file, under `file:NAME`; `readers` are processes to use, else one is started.

    Raises:
        UsageError: it cannot be opened, is too large, or is of a kind that is not read.
    """
    suffix = PurePath(name.lower()).suffix
    if suffix in _OFFICE:
        why = f"{name!r} is an office file, which is not read."
        raise UsageError(why, hint="Export it as CSV, text or PDF.")
    file = anyio.Path(path)
    try:
        if not await file.is_file():
            raise UsageError(f"{name!r} is not a file.")
        if (await file.stat()).st_size > MAX_FILE_BYTES:
            why = f"{name!r} is larger than {MAX_FILE_BYTES:,} bytes."
            raise UsageError(why, hint="Read it in code instead.")
        body = await file.read_bytes()
    except OSError as closed:
        raise UsageError(f"{name!r} cannot be read: {closed.strerror}.") from closed
    if not body.strip():
        return Document(url=f"file:{name}", content_type="text/plain")
    try:
        async with AsyncExitStack() as stack:
            if readers is None:
                readers = await stack.enter_async_context(open_readers())
            return await readers.read(body, _TYPES.get(suffix, "text/plain"), f"file:{name}")
    except UsageError as refused:
        raise UsageError(f"{name!r}: {refused.message}", hint=refused.hint) from refused
