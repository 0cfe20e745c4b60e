"""A bubblewrap process with its pipes: started without root, put under its limits, killed at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import IO, Any

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.bubblewrap_command import USER
from alita_mcp.sandbox.cgroup import Cgroup
from alita_mcp.sandbox.wire import WorkerLost

MAX_COMPLAINTS = 4_000
_DRAIN_SECONDS = 5.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


class BubblewrapTransport:
    """The pipes of a bubblewrap process."""

    def __init__(
        self, stdin: ByteSendStream, stdout: ByteReceiveStream, complaints: IO[bytes], cgroup: Cgroup | None
    ) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._complaints = complaints
        self._cgroup = cgroup

    @property
    def complaints(self) -> str:
        """What was written to stderr, cut."""
        # pread: the process writes at the same offset that a seek here would move
        return os.pread(self._complaints.fileno(), MAX_COMPLAINTS, 0).decode("utf-8", "replace").strip()

    async def send(self, data: bytes) -> None:
        """Writes all of it."""
        try:
            await self._stdin.send(data)
        except _GONE as broken:
            raise WorkerLost(f"The sandbox takes no input. {self.complaints}".strip()) from broken

    async def receive(self) -> bytes:
        """The next bytes of stdout; empty when the supervisor is gone."""
        try:
            return await self._stdout.receive(1 << 18)
        except _GONE:
            return b""

    async def ran_out_of_memory(self, *, ended: bool) -> bool:  # noqa: ARG002 - a group outlives its processes
        """Whether the control group counts an OOM kill."""
        return self._cgroup is not None and self._cgroup.oom_kills() > 0


@asynccontextmanager
async def confined_process(
    argv: list[str], *, drops_by_itself: bool, confine: Callable[[int], Awaitable[Cgroup | None]]
) -> AsyncIterator[BubblewrapTransport]:
    """Starts a command that waits for a line on stdin; `confine(pid)` comes before that line and gives its group.

    Raises:
        SandboxUnavailable: a program that it takes is not there.
        SandboxError: it cannot be put under its limits.
    """
    with tempfile.TemporaryFile() as complaints:
        process = await _start(argv, complaints, drops_by_itself=drops_by_itself)
        try:
            assert process.stdin is not None  # noqa: S101 - opened as pipes
            assert process.stdout is not None  # noqa: S101
            cgroup = await confine(process.pid)
            transport = BubblewrapTransport(process.stdin, process.stdout, complaints, cgroup)
            await transport.send(b"go\n")
            yield transport
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _start(argv: list[str], complaints: IO[bytes], *, drops_by_itself: bool) -> Process:
    # bubblewrap as root maps the sandbox user to root outside, who may write /proc/sys without any capability
    drops = {} if drops_by_itself else identity()
    environment = {"PATH": _PATH}
    if os.geteuid() != 0:
        environment["XDG_RUNTIME_DIR"] = f"/run/user/{os.geteuid()}"  # where systemd-run finds its manager
    try:
        with anyio.CancelScope(
            shield=True
        ):  # milliseconds; cut in half it would leave a process that nobody knows
            process = await anyio.open_process(
                argv, stderr=complaints, env=environment, cwd="/", start_new_session=True, **drops
            )
    except OSError as missing:
        raise SandboxUnavailable(f"{argv[0]} cannot be started: {missing}.") from missing
    return process


def identity() -> dict[str, Any]:
    """As whom to start programs: root becomes nobody in particular, everybody else stays who they are."""
    return {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    # the supervisor dies with bubblewrap, and the kernel kills the rest with it; the pipe's end shows that it did
    with anyio.move_on_after(_DRAIN_SECONDS), suppress(*_GONE):
        while process.stdout is not None:
            await process.stdout.receive()
    await process.aclose()
