"""Processes of a sandbox: the start of a fresh interpreter under its limits, and what ended.

As PID 1 the supervisor is the parent of every orphan. A new interpreter holds nothing of its memory, such as the token.
"""

from __future__ import annotations

import fcntl
import math
import os
import resource
import signal
import sys
from typing import Any, NamedTuple

from alita_mcp.sandbox.runner.supervisor.hardening import lower_limit

CHANNEL, BUNDLE = 3, 4
"""File descriptors that the interpreter starts with, beside 0, 1 and 2."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Ends(NamedTuple):
    """File descriptors that a new process gets as its stdout, stderr and channel."""

    out: int
    err: int
    channel: int


def spawn(boot: str, source: bytes, order: dict[str, Any], ends: Ends) -> int:
    """Starts `python -c boot`, which reads `source`, under the order's limits; its process number."""
    memory = os.memfd_create("bundle")
    with open(memory, "wb", closefd=False) as file:
        file.write(source)
    os.lseek(memory, 0, os.SEEK_SET)
    pid = os.fork()
    if pid == 0:
        try:
            _become(boot, order, (*ends, memory))
        finally:
            os._exit(97)
    os.close(memory)
    return pid


def _become(boot: str, order: dict[str, Any], fds: tuple[int, ...]) -> None:
    os.setsid()
    # moved up first, so that none of them is overwritten before it is copied down
    out, err, channel, memory = (fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in fds)
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2), (channel, CHANNEL), (memory, BUNDLE)):
        os.dup2(source, target)
    os.closerange(BUNDLE + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
            signal.signal(number, signal.SIG_DFL)
    # before any code of the tool runs, so that none can go around them; what it forks starts to count anew
    limits = order["rlimits"]
    lower_limit(resource.RLIMIT_CORE, 1)  # 0 stops files only; 1 also stops a handler that dumps are piped to
    lower_limit(resource.RLIMIT_CPU, math.ceil(limits["cpu_seconds"]), grace=1)
    lower_limit(resource.RLIMIT_NOFILE, limits["files"])
    lower_limit(resource.RLIMIT_FSIZE, limits["file_bytes"])
    if limits.get("processes"):
        lower_limit(resource.RLIMIT_NPROC, limits["processes"])
    os.chdir("/tmp")
    environment = {"PATH": _PATH, "LANG": "C.UTF-8", "HOME": "/tmp", "TMPDIR": "/tmp"}
    environment |= order["variables"]
    command = [sys.executable, "-s", "-S", "-P", "-B", "-c", boot, str(BUNDLE)]
    os.execve(sys.executable, command, environment)  # noqa: S606 - the point is a fresh interpreter


class End(NamedTuple):
    """How a process ended."""

    status: int
    cpu_seconds: float


class Reaper:
    """Collects the exit status of every child that ends or is stopped; keeps what happened to the watched ones."""

    def __init__(self) -> None:
        self._watched: set[int] = set()
        self._ends: dict[int, End] = {}
        self._stopped: set[int] = set()

    def collect(self) -> None:
        """Takes note of what happened so far."""
        while self._take(os.WNOHANG | os.WUNTRACED):
            continue

    def wait(self, pid: int) -> None:
        """Waits for the end of one watched process that was killed."""
        while pid not in self._ends and self._take(0, pid):
            continue

    def end_of(self, pid: int) -> End | None:
        """How it ended, if it did."""
        return self._ends.get(pid)

    def is_stopped(self, pid: int) -> bool:
        """Whether it was stopped."""
        return pid in self._stopped

    def watch(self, pid: int) -> None:
        """Keeps what happens to this process from now on."""
        self._watched.add(pid)

    def forget_all_but(self, pid: int) -> None:
        """Forgets all that ended; from now on watches this process alone."""
        self._ends.clear()
        self._stopped.clear()
        self._watched = {pid}

    def _take(self, options: int, which: int = -1) -> bool:
        try:
            pid, status, usage = os.wait4(which, options)
        except ChildProcessError:
            return False
        if pid in self._watched and os.WIFSTOPPED(status):
            self._stopped.add(pid)
        elif pid in self._watched:
            self._ends[pid] = End(status, usage.ru_utime + usage.ru_stime)
        return pid != 0


def kill(pid: int) -> None:
    """Kills a process, or with -1 all processes but this one at once, which no fork outruns."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def others(*known: int) -> list[int]:
    """Processes of this sandbox that are not among the known ones."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in known]
