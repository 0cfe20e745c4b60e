"""Bubblewrap process with its pipes: started without root, put under its limits, killed at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import IO

import anyio

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.bubblewrap.cgroup import Cgroup
from alita_mcp.sandbox.wire.duplex import Polled
from alita_mcp.sandbox.wire.link import WorkerLost

MAX_COMPLAINTS = 4_000
_DRAIN_SECONDS = 5.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class BubblewrapTransport(Polled):
    """Transport over the pipes of a bubblewrap process."""

    def __init__(self, source: int, sink: int, complaints: IO[bytes]) -> None:
        super().__init__(source, sink)
        self.cgroup: Cgroup | None = None
        self._complaints = complaints
        self._oom_kills = 0

    @property
    def complaints(self) -> str:
        """What was written to stderr, shortened."""
        # pread: the process writes at the same offset that a seek here would move
        return os.pread(self._complaints.fileno(), MAX_COMPLAINTS, 0).decode("utf-8", "replace").strip()

    async def send(self, data: bytes) -> None:
        """Writes all of it."""
        try:
            await super().send(data)
        except OSError as broken:
            raise WorkerLost(f"The sandbox takes no input. {self.complaints}".strip()) from broken

    async def ran_out_of_memory(self, *, ended: bool) -> bool:  # noqa: ARG002 - a group outlives its processes
        """Whether the control group counts an OOM kill that was not reported before."""
        before = self._oom_kills
        self._oom_kills = self.cgroup.oom_kills() if self.cgroup is not None else 0
        return self._oom_kills > before


@asynccontextmanager
async def start_confined_process(
    argv: list[str], confine: Callable[[int], Awaitable[Cgroup | None]]
) -> AsyncIterator[BubblewrapTransport]:
    """Starts a command that waits for a line on stdin; `confine(pid)` runs before it and gives the control group.

    Raises:
        SandboxUnavailable: a program that it takes is not there.
        SandboxError: it cannot be put under its limits.
    """
    environment = {"PATH": _PATH}
    if os.geteuid() != 0:
        environment["XDG_RUNTIME_DIR"] = f"/run/user/{os.geteuid()}"  # where systemd-run finds its manager
    with tempfile.TemporaryFile() as complaints:
        # pipes of our own, not streams of the event loop: they are read and written without a task switch
        (stdin, to_it), (from_it, stdout) = os.pipe(), os.pipe()
        transport = BubblewrapTransport(from_it, to_it, complaints)
        try:
            # milliseconds; cut in half it would leave a process without an owner
            with anyio.CancelScope(shield=True):
                process = await anyio.open_process(
                    argv, stdin=stdin, stdout=stdout, stderr=complaints, env=environment, cwd="/",
                    start_new_session=True,
                )  # fmt: skip
        except OSError as missing:
            transport.close()
            raise SandboxUnavailable(f"{argv[0]} cannot be started: {missing}.") from missing
        finally:
            os.close(stdin)
            os.close(stdout)
        try:
            transport.cgroup = await confine(process.pid)
            await transport.send(b"go\n")
            yield transport
        finally:
            with anyio.CancelScope(shield=True):
                with suppress(ProcessLookupError):
                    process.kill()
                # the supervisor dies with bubblewrap, and the kernel kills the rest with it; the pipe's end shows it
                with anyio.move_on_after(_DRAIN_SECONDS):
                    while await transport.receive():
                        continue
                transport.close()
                await process.aclose()
