"""Pool of reading processes, which are killed when they take too long, and the reader of a task's files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path, PurePath
from subprocess import DEVNULL
from typing import NamedTuple

import anyio
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic import Field

from alita_mcp.errors import UsageError
from alita_mcp.event_loop import LARGE_BYTES, off_loop
from alita_mcp.research.values import Document
from alita_mcp.sandbox.wasm import process
from alita_mcp.values import Value

MAX_ANSWER = 64 << 20
MAX_FILE_BYTES = 64_000_000
_MODULE = "alita_mcp.research.reading.worker"
_OFFICE = frozenset({".xlsx", ".xls", ".ods", ".docx", ".doc", ".odt", ".pptx", ".ppt", ".odp"})
_LOST = (
    anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)  # fmt: skip
"""What a pipe raises when the process at its other end died, or answers without end."""


class ReadingLimits(Value):
    """Caps of reading processes."""

    seconds: float = Field(default=20.0, gt=0)
    """For one body, the start of a process included."""
    processes: int = Field(default=2, ge=1)


class _Worker(NamedTuple):
    """One reading process: its pipes, and what kills it."""

    requests: ByteSendStream
    answers: BufferedByteReceiveStream
    stack: AsyncExitStack


class Readers:
    """Reading processes, started on demand and kept while they are used."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._slots = anyio.CapacityLimiter(limits.processes)
        self._idle: list[_Worker] = []

    async def read_document(self, body: bytes, content_type: str, url: str) -> Document:
        """The document in a body; without a content type the suffix in `url` says what it is.

        Raises:
            UsageError: it is of a kind that is not read, damaged, encrypted, without text, or takes too long to read.
        """
        request = json.dumps({"content_type": content_type[:500], "url": url, "length": len(body)})
        async with self._slots:
            try:
                with anyio.fail_after(self._limits.seconds):
                    answer = await self._ask(request.encode() + b"\n" + body)
            except TimeoutError as slow:
                raise UsageError(f"Reading it takes longer than {self._limits.seconds:g} s.") from slow
        return await off_loop(partial(_parse_answer, answer), large=len(answer) > LARGE_BYTES)

    async def _ask(self, request: bytes) -> bytes:
        """The answer of an idle process or, where those have ended for want of work, of a new one."""
        while True:
            is_new = not self._idle
            worker = await self._start_worker() if is_new else self._idle.pop()
            try:
                await worker.requests.send(request)
                answer = await worker.answers.receive_until(b"\n", MAX_ANSWER)
            except _LOST as lost:
                if is_new:
                    raise UsageError("It cannot be read: the reading process died of it.") from lost
            else:
                self._idle.append(worker)
                return answer
            finally:
                if worker not in self._idle:  # it died, or is in the middle of a body
                    await worker.stack.aclose()

    async def _start_worker(self) -> _Worker:
        stack = AsyncExitStack()
        argv, quiet = process.module_command(_MODULE), {"stderr": DEVNULL, "creationflags": process.NO_WINDOW}
        try:
            started = await stack.enter_async_context(
                process.helper_process(argv, cwd=process.NOWHERE, **quiet)
            )
        except OSError as failed:
            raise UsageError("It cannot be read: no reading process can be started.") from failed
        assert started.stdin is not None  # noqa: S101 - opened with pipes
        assert started.stdout is not None  # noqa: S101
        return _Worker(started.stdin, BufferedByteReceiveStream(started.stdout), stack)

    async def aclose(self) -> None:
        """Ends the processes."""
        while self._idle:
            await self._idle.pop().stack.aclose()


def _parse_answer(answer: bytes) -> Document:
    try:
        parsed = json.loads(answer)
        if "refused" not in parsed:
            return Document.model_validate(parsed["document"])
        refused = UsageError(str(parsed["refused"]), hint=str(parsed["hint"]))
    except (ValueError, TypeError, LookupError) as strange:
        raise UsageError("It cannot be read: the reading process sent something else.") from strange
    raise refused


@asynccontextmanager
async def open_readers(limits: ReadingLimits | None = None) -> AsyncIterator[Readers]:
    """Opens a pool of reading processes, and ends them on exit."""
    readers = Readers(limits or ReadingLimits())
    try:
        yield readers
    finally:
        with anyio.CancelScope(shield=True):
            await readers.aclose()


async def read_file(path: Path, name: str, readers: Readers | None = None) -> Document:
    """The document in a file, with the URL `file:NAME`; `readers` are processes to use, else one is started.

    Raises:
        UsageError: it cannot be opened, is too large, or is of a kind that is not read.
    """
    if PurePath(name.lower()).suffix in _OFFICE:
        raise UsageError(f"{name!r} is an office file, which is not read.", hint="Export it as CSV or PDF.")
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
            return await readers.read_document(body, "", f"file:{name}")
    except UsageError as refused:
        raise UsageError(f"{name!r}: {refused.message}", hint=refused.hint) from refused
