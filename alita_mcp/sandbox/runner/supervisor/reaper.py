"""Reaping of ended processes: as PID 1 the supervisor is the parent of every orphan of the sandbox."""

from __future__ import annotations

import os
import signal
from typing import NamedTuple

_KEPT = 256
"""So many ends are kept of processes that were not asked about yet."""


class End(NamedTuple):
    """How a process ended."""

    status: int
    cpu_seconds: float


class Reaper:
    """Collects the exit status of every child that ends or is stopped."""

    def __init__(self) -> None:
        self.watched: set[int] = set()
        """Whose end is kept, however many others end; all of it is forgotten with `forget`."""
        self._ends: dict[int, End] = {}
        self._stopped: set[int] = set()

    def collect(self) -> None:
        """Takes note of what happened so far."""
        while self._take(os.WNOHANG | os.WUNTRACED):
            continue

    def wait(self, pid: int) -> None:
        """Waits for the end of one process that was killed."""
        while pid not in self._ends and self._take(0, pid):
            continue

    def wait_for_all(self) -> None:
        """Waits until no process is left but this one; they were killed."""
        while self._take(0):
            continue

    def end_of(self, pid: int) -> End | None:
        """How it ended, if it did."""
        return self._ends.get(pid)

    def is_stopped(self, pid: int) -> bool:
        """Whether it was stopped."""
        return pid in self._stopped

    def watch(self, pid: int) -> None:
        """Keeps the end of this process whenever it comes."""
        self.watched.add(pid)

    def forget(self) -> None:
        """Forgets all that ended."""
        self._ends.clear()
        self._stopped.clear()
        self.watched.clear()

    def _take(self, options: int, which: int = -1) -> bool:
        try:
            pid, status, usage = os.wait4(which, options)
        except ChildProcessError:
            return False
        if pid == 0:
            return False
        if os.WIFSTOPPED(status):
            self._stopped.add(pid)
            return True
        if len(self._ends) > _KEPT:
            self._ends = {number: end for number, end in self._ends.items() if number in self.watched}
        self._ends[pid] = End(status, usage.ru_utime + usage.ru_stime)
        return True


def kill(pid: int) -> None:
    """Kills a process, or with -1 all processes but this one at once, which no fork outruns."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def others(*known: int) -> list[int]:
    """Processes of this sandbox that are not among the known ones."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in known]
