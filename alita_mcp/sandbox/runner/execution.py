"""One child from start to end: its limits, its output, what it said on its channel and how it died."""

from __future__ import annotations

import fcntl
import math
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.runner.facts import oom_kills
from alita_mcp.sandbox.runner.hardening import lower_limit, prefer_for_oom
from alita_mcp.sandbox.runner.loop import READABLE, Loop

CHANNEL, BUNDLE = 3, 4
"""File descriptors that the child starts with, beside 0, 1 and 2."""
HEADER = struct.Struct(">cI")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Execution:
    """A running child; `on_output(stream, data)` and `on_message(kind, payload)` are told what it says."""

    def __init__(self, loop: Loop, order: dict[str, Any]) -> None:
        self.pid = 0
        self.status: int | None = None
        self.cpu_seconds = 0.0
        self.started = time.monotonic()
        self.on_output: Callable[[int, bytes], None] = lambda _stream, _data: None
        self.on_message: Callable[[bytes, bytes], None] = lambda _kind, _payload: None
        self.on_end: Callable[[], None] = lambda: None
        self._loop = loop
        self._order = order
        self._message = bytearray()
        self._largest_message = order["result_bytes"] + (1 << 16)
        self._oom_before = oom_kills()
        self._pipes: dict[int, int] = {}
        self._channel: socket.socket | None = None

    def start(self, boot: str, bundle: bytes) -> None:
        """Starts a fresh interpreter: nothing of this process's memory, the token included, is in it."""
        ours, theirs = socket.socketpair()
        out, err = os.pipe(), os.pipe()
        memory = os.memfd_create("bundle")
        with open(memory, "wb", closefd=False) as file:
            file.write(bundle)
        os.lseek(memory, 0, os.SEEK_SET)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._become_child(boot, (out[1], err[1], theirs.fileno(), memory))
            finally:
                os._exit(97)
        theirs.close()
        for fd in (out[1], err[1], memory):
            os.close(fd)
        self._listen(ours, {1: out[0], 2: err[0]})

    def pause_output(self, paused: bool) -> None:
        """Stops or goes on reading what the child writes, so that it waits when the host is slow."""
        for fd in self._pipes.values():
            self._loop.change(fd, 0 if paused else READABLE)

    def collect(self) -> None:
        """Takes what the child said before it died."""
        while self._channel is not None and self._read_channel():
            continue

    def stop(self) -> None:
        """Kills everything but this process, takes what is left in the pipes and reaps."""
        try:
            os.kill(-1, signal.SIGKILL)  # PID 1's -1 is this PID namespace, at once: no fork outruns it
        except ProcessLookupError:
            pass
        self._close_channel()
        for stream in tuple(self._pipes):
            for _ in range(64):
                if not self._read_pipe(stream):
                    break
            self._close_pipe(stream)
        while self.reap(block=True):
            continue

    def reap(self, *, block: bool = False) -> bool:
        """Takes note of dead children; True while there may be more."""
        try:
            pid, status, usage = os.wait4(-1, 0 if block else os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == self.pid:
            self.status = status
            self.cpu_seconds = usage.ru_utime + usage.ru_stime
        return pid != 0

    def death(self) -> dict[str, Any]:
        """How the child ended, when it ended without a result; call after `stop`."""
        status = self.status if self.status is not None else 0
        if not os.WIFSIGNALED(status):
            return {
                "status": "crashed",
                "message": f"ended with exit code {os.WEXITSTATUS(status)} and no result",
            }
        number = os.WTERMSIG(status)
        cpu = self._order["cpu_seconds"]
        if number == signal.SIGXCPU or (number == signal.SIGKILL and self.cpu_seconds >= cpu):
            return {"status": "timeout", "message": f"used more than {cpu:g} s of CPU time (cpu_seconds)"}
        if number == signal.SIGKILL and (oom_kills() or 0) > (self._oom_before or 0):
            return {"status": "memory"}
        return {"status": "crashed", "signal": number, "message": f"killed by {_signal_name(number)}"}

    def _listen(self, channel: socket.socket, pipes: dict[int, int]) -> None:
        channel.setblocking(False)
        self._channel, self._pipes = channel, pipes
        self._loop.watch(channel.fileno(), self._on_channel)
        for stream, fd in pipes.items():
            os.set_blocking(fd, False)
            self._loop.watch(fd, lambda _events, stream=stream: self._on_pipe(stream))  # type: ignore[misc]

    def _become_child(self, boot: str, fds: tuple[int, int, int, int]) -> None:
        os.setsid()
        # moved up first, so that none of them is overwritten before it is copied down
        out, err, channel, bundle = (fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds)
        null = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2), (channel, CHANNEL), (bundle, BUNDLE)):
            os.dup2(source, target)
        os.closerange(BUNDLE + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        for number in range(1, signal.NSIG):
            if number not in {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
                signal.signal(number, signal.SIG_DFL)
        self._lower_limits()
        os.chdir("/tmp")
        environment = {"PATH": _PATH, "LANG": "C.UTF-8", "HOME": "/tmp", "TMPDIR": "/tmp"}
        environment |= self._order["variables"]
        command = [sys.executable, "-s", "-S", "-P", "-B", "-c", boot, str(BUNDLE)]
        os.execve(sys.executable, command, environment)  # noqa: S606 - the point is a fresh interpreter

    def _lower_limits(self) -> None:
        limits = self._order["rlimits"]
        lower_limit(resource.RLIMIT_CORE, 0)
        lower_limit(resource.RLIMIT_CPU, math.ceil(self._order["cpu_seconds"]), grace=1)
        lower_limit(resource.RLIMIT_NOFILE, limits["files"])
        lower_limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
        if limits.get("data_bytes"):
            lower_limit(resource.RLIMIT_DATA, limits["data_bytes"])
        if limits.get("processes"):
            lower_limit(resource.RLIMIT_NPROC, limits["processes"])
        prefer_for_oom(1000)

    def _on_channel(self, _events: int) -> None:
        self._read_channel()

    def _on_pipe(self, stream: int) -> None:
        if not self._read_pipe(stream):
            self._close_pipe(stream)

    def _read_pipe(self, stream: int) -> bool:
        try:
            data = os.read(self._pipes[stream], 1 << 16)
        except BlockingIOError:
            return True
        if data:
            self.on_output(stream, data)
        return bool(data)

    def _close_pipe(self, stream: int) -> None:
        fd = self._pipes.pop(stream, None)
        if fd is not None:
            self._loop.forget(fd)
            os.close(fd)

    def _read_channel(self) -> bool:
        """Reads once; True while there may be more."""
        if self._channel is None:
            return False
        try:
            data = self._channel.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._message += data
        while len(self._message) >= HEADER.size and self._channel is not None:
            kind, length = HEADER.unpack_from(self._message)
            if length > self._largest_message:
                self.on_message(b"?", b"")
                return False
            if len(self._message) < HEADER.size + length:
                break
            payload = bytes(self._message[HEADER.size : HEADER.size + length])
            del self._message[: HEADER.size + length]
            self.on_message(kind, payload)
        if not data and self._channel is not None:
            self.on_end()
        return bool(data)

    def _close_channel(self) -> None:
        if self._channel is not None:
            self._loop.forget(self._channel.fileno())
            self._channel.close()
            self._channel = None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
