"""Helper processes beside the server, started without its variables and files, and killed at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Any

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from alita_mcp.sandbox.wire.link import WorkerLost

MAX_COMPLAINTS = 4_000
_ROOT = Path(__file__).parents[3]
_ENTER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; main()"
NOWHERE = Path(os.sep).resolve()
NO_WINDOW = 0x0800_0000 if os.name == "nt" else 0
"""On Windows such a process gets no console: no window opens, and no Ctrl-C reaches it that is meant for the server."""
_KEPT_VARIABLES = ("SYSTEMROOT",)
"""Without it no program starts on Windows."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Command that starts the `main` of our module in an interpreter without user packages and Python variables."""
    return [sys.executable, "-I", "-X", "utf8", "-c", _ENTER.format(module=module), str(_ROOT), *arguments]


def minimal_environment() -> dict[str, str]:
    """Environment variables of such a process."""
    inherited = os.environ  # noqa: TID251 - what a process inherits is no setting
    return {name: inherited[name] for name in _KEPT_VARIABLES if name in inherited}


@asynccontextmanager
async def helper_process(argv: list[str], **options: Any) -> AsyncIterator[Process]:
    """Starts a process; a context manager that kills it at the end, with options as for `anyio.open_process`.

    Raises:
        OSError: it cannot be started.
    """
    with anyio.CancelScope(shield=True):  # cut in half it would leave a process without an owner
        process = await anyio.open_process(
            argv, env=minimal_environment(), start_new_session=os.name == "posix", **options
        )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                process.kill()
            await process.aclose()


class ProcessTransport:
    """Transport over the pipes of a worker process."""

    is_whole = True
    """False while bytes are sent, and for good once a sender was cancelled."""

    def __init__(self, process: Process, complaints: IO[bytes]) -> None:
        assert process.stdin is not None  # noqa: S101 - opened with pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._stdin: ByteSendStream = process.stdin
        self._stdout: ByteReceiveStream = process.stdout
        self._complaints = complaints

    @property
    def complaints(self) -> str:
        """What was written to stderr, cut."""
        self._complaints.seek(0)
        return self._complaints.read(MAX_COMPLAINTS).decode("utf-8", "replace").strip()

    async def send(self, data: bytes) -> None:
        """Writes all of it."""
        self.is_whole = False
        try:
            await self._stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as broken:
            raise WorkerLost(f"The worker takes no input. {self.complaints}".strip()) from broken
        self.is_whole = True

    async def receive(self) -> bytes:
        """The next bytes; empty when the process is gone."""
        try:
            return await self._stdout.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""

    def is_silent(self) -> bool:
        """Whether the process still runs; what it says unasked is found when it is asked."""
        return self._process.returncode is None

    async def ran_out_of_memory(self, *, ended: bool) -> bool:  # noqa: ARG002 - the engine bounds memory
        """False: the engine tells it as the result of a call."""
        return False
