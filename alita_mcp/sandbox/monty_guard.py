"""Ends busy workers of the embedded interpreter when this process dies without a word, as by kill -9.

An idle worker ends by itself when its pipe closes; one that computes would go on to its time limit. The guard is a
process of a few lines that is told which workers are busy and kills them when its own pipe closes.
"""

from __future__ import annotations

import subprocess
import sys

import anyio
from anyio.abc import Process

from alita_mcp.errors import SandboxError

_PROGRAM = """
import os, signal, sys
busy = set()
for line in sys.stdin.buffer:
    number = int(line)
    (busy.add if number > 0 else busy.discard)(abs(number))
for pid in busy:
    try:
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    except OSError:
        pass
"""
_PATIENCE = 5.0


class Guard:
    """The guard process: started with the first worker, told of each, ended by `aclose`."""

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._process: Process | None = None
        self._lock = anyio.Lock()

    async def watch(self, pid: int) -> None:
        """This worker is busy from now on.

        Raises:
            SandboxError: no guard can be started; without one no worker may become busy.
        """
        async with self._lock:
            try:
                await self._tell(pid)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):  # somebody killed the guard
                await self._end()
                await self._tell(pid)

    async def forget(self, pid: int) -> None:
        """This worker is idle or gone."""
        with anyio.move_on_after(_PATIENCE, shield=True):
            async with self._lock:
                try:
                    await self._tell(-pid)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._end()

    async def aclose(self) -> None:
        """Ends the guard; workers are to be ended before."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                await self._end()

    async def _tell(self, number: int) -> None:
        if self._process is None:
            self._process = await _start(self._python)
        assert self._process.stdin is not None  # noqa: S101 - it was opened with a pipe
        await self._process.stdin.send(b"%d\n" % number)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None  # noqa: S101 - it was opened with a pipe
        await process.stdin.aclose()
        with anyio.move_on_after(_PATIENCE):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _start(python: str) -> Process:
    apart = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
    try:
        # cut in half, a start would leave a process that nobody knows
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [python, "-I", "-S", "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **apart,  # Ctrl-C in a terminal must not reach the guard before us
            )
    except (OSError, ValueError) as problem:
        raise SandboxError(
            f"The embedded sandbox could not start its guard with {python!r}: {problem}."
        ) from problem
    return process
