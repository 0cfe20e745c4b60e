"""Supervisor's handle of one process that runs tool code: its output, its messages and its end."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.runner.supervisor.facts import oom_kills
from alita_mcp.sandbox.runner.supervisor.loop import PIECE, READABLE, WRITABLE, Loop
from alita_mcp.sandbox.runner.supervisor.processes import Ends, Reaper, kill

HEADER = struct.Struct(">cI")
MAX_WAITING = 80 << 20
"""More than any arguments: a process that does not read what it is told is broken."""
_CREDENTIALS = struct.Struct("3i")
_CLOSING_SECONDS = 0.5


class ChildProcess:
    """Process of tool code; calls `on_output(stream, data)`, `on_message(kind, payload)` and `on_end()`.

    A message of kind `?` is garbage.
    """

    def __init__(self, loop: Loop, reaper: Reaper, *, largest_message: int) -> None:
        self.pid = 0
        """0 until it is known."""
        self.introduced = False
        self.started = time.monotonic()
        self.on_output: Callable[[int, bytes], None] = lambda _stream, _data: None
        self.on_message: Callable[[bytes, bytes], None] = lambda _kind, _payload: None
        self.on_end: Callable[[], None] = lambda: None
        self._loop = loop
        self._reaper = reaper
        self._largest_message = largest_message
        self._arrived = bytearray()
        self._waiting = bytearray()
        self._oom_before: int | None = None
        self._pipes: dict[int, int] = {}
        self._channel: socket.socket | None = None

    def open(self, kind: socket.SocketKind = socket.SOCK_STREAM, *, introduces_itself: bool = False) -> Ends:
        """Makes channel and pipes; the ends for the process, to be closed once it has them.

        A process that introduces itself is known by the kernel's word on who wrote the first message.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        if introduces_itself:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        out, err = os.pipe(), os.pipe()
        ours.setblocking(False)
        self._channel, self._pipes = ours, {1: out[0], 2: err[0]}
        self._loop.watch(ours.fileno(), self._on_channel)
        for stream, fd in self._pipes.items():
            os.set_blocking(fd, False)
            self._loop.watch(fd, lambda _events, stream=stream: self._read_pipe(stream))  # type: ignore[misc]
        return Ends(out[1], err[1], theirs.detach())

    def begin(self, oom_before: int | None) -> None:
        """The order's clock runs from now on; until it came the kernel had killed so often for want of memory."""
        self.started = time.monotonic()
        self._oom_before = oom_before

    def seconds(self) -> float:
        """How long it has worked."""
        return time.monotonic() - self.started

    def tell(self, kind: bytes, payload: bytes) -> None:
        """Sends a message to the process, as fast as it takes it."""
        if len(self._waiting) + len(payload) > MAX_WAITING:
            self.on_message(b"?", b"")
            return
        self._waiting += HEADER.pack(kind, len(payload)) + payload
        self._send()

    def hand_over(self, ends: Ends) -> None:
        """Gives the process file descriptors for another one."""
        if self._channel is None:
            return
        try:
            socket.send_fds(self._channel, [b"F"], list(ends))
        except OSError:
            pass  # it is dying: its end is heard of elsewhere

    def collect(self) -> None:
        """Takes what the process said before it died."""
        while self._channel is not None and self._read_channel():
            continue

    def close(self) -> None:
        """Kills the process if it still runs and lets go of everything."""
        if self.pid:
            if self._reaper.end_of(self.pid) is None:
                kill(self.pid)
            self._reaper.wait(self.pid)
        if self._channel is not None:
            self._loop.forget(self._channel.fileno())
            self._channel.close()
            self._channel = None
        self.drain()
        for stream in tuple(self._pipes):
            self._close_pipe(stream)

    def drain(self) -> None:
        """Takes what the process has printed so far; one that never stops printing is not waited for."""
        for stream in tuple(self._pipes):
            for _ in range(64):
                if not self._read_pipe(stream):
                    break

    def has_ended(self, *, wait_seconds: float = 0.0) -> bool:
        """Whether it is dead; one that closed its channel is perhaps just dying."""
        until = time.monotonic() + wait_seconds
        while True:
            self._reaper.collect()
            if self._reaper.end_of(self.pid) is not None:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.002)

    def describe_end(self, cpu_seconds: float) -> dict[str, Any]:
        """How it ended without a result; a short wait tells whether it is dying, or lives on without its channel."""
        if self.pid:
            self.has_ended(wait_seconds=_CLOSING_SECONDS)
        end = self._reaper.end_of(self.pid)
        if end is None:
            return {"status": "crashed", "message": "closed its channel"}
        if not os.WIFSIGNALED(end.status):
            code = os.WEXITSTATUS(end.status)
            return {"status": "crashed", "message": f"ended with exit code {code} and no result"}
        number = os.WTERMSIG(end.status)
        if number == signal.SIGXCPU or (number == signal.SIGKILL and end.cpu_seconds >= cpu_seconds):
            message = f"used more than {cpu_seconds:g} s of CPU time (cpu_seconds)"
            return {"status": "timeout", "message": message}
        if number == signal.SIGKILL and (oom_kills() or 0) > (self._oom_before or 0):
            return {"status": "memory"}
        name = next((it.name for it in signal.Signals if it == number), f"signal {number}")
        return {"status": "crashed", "signal": number, "message": f"killed by {name}"}

    def _on_channel(self, events: int) -> None:
        if events & WRITABLE:
            self._send()
        if events & READABLE:
            self._read_channel()

    def _read_pipe(self, stream: int) -> bool:
        """Reads once; False when nothing is there, or at the end of the pipe, which is closed then."""
        try:
            data = os.read(self._pipes[stream], PIECE)
        except BlockingIOError:
            return False
        if data:
            self.on_output(stream, data)
        else:
            self._close_pipe(stream)
        return bool(data)

    def _close_pipe(self, stream: int) -> None:
        fd = self._pipes.pop(stream)
        self._loop.forget(fd)
        os.close(fd)

    def _send(self) -> None:
        if self._channel is None:
            return
        try:
            while self._waiting:
                del self._waiting[: self._channel.send(self._waiting[: 1 << 18])]
        except BlockingIOError:
            pass
        except OSError:
            self._waiting.clear()  # it is dying: its end is heard of elsewhere
        self._loop.change(self._channel.fileno(), READABLE | (WRITABLE if self._waiting else 0))

    def _read_channel(self) -> bool:
        """Reads once; True while there may be more."""
        channel = self._channel
        if channel is None:
            return False
        try:
            data, ancillary = channel.recvmsg(PIECE, 0 if self.pid else socket.CMSG_SPACE(12))[:2]
        except BlockingIOError:
            return False
        except OSError:
            data, ancillary = b"", []
        if not self.pid:  # the kernel's word on who wrote the first message
            for level, kind, payload in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                    self.pid = _CREDENTIALS.unpack(payload[:12])[0]
                    self._reaper.watch(self.pid)
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        self._arrived += data
        while len(self._arrived) >= HEADER.size and self._channel is not None:
            code, length = HEADER.unpack_from(self._arrived)
            if length > self._largest_message:
                self.on_message(b"?", b"")
                break
            if len(self._arrived) < HEADER.size + length:
                break
            message = bytes(self._arrived[HEADER.size : HEADER.size + length])
            del self._arrived[: HEADER.size + length]
            self.on_message(code, message)
        if not data and self._channel is not None:
            self.on_end()
        return bool(data)
