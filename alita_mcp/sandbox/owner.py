"""Owner of a container or control group: a process by machine, number and start time, to recognise leftovers."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path
from typing import NamedTuple


class ProcessOwner(NamedTuple):
    """Identity of one process, comparable across restarts of the machine because the start time counts too."""

    machine: str
    """Hash of the host name and the PID namespace: process numbers mean nothing outside both."""
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> ProcessOwner:
        """Identity of the calling process."""
        return cls(_machine(), os.getpid(), _start_time(os.getpid()))

    @classmethod
    def parse(cls, text: str) -> ProcessOwner | None:
        """Parses what `str()` wrote; None for anything else."""
        machine, _, rest = text.partition("-")
        pid, _, started = rest.partition("-")
        return cls(machine, int(pid), started) if pid.isdigit() else None

    def __str__(self) -> str:
        return f"{self.machine}-{self.pid}-{self.started}"

    def is_gone(self) -> bool:
        """Whether the process surely ended: it was one of this machine, and its number is free or reused.

        On Windows False: nothing in the standard library tells it there.
        """
        if self.machine != _machine() or os.name == "nt":  # where signal 0 is Ctrl-C
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return _start_time(self.pid) != self.started


def _machine() -> str:
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:12]


def _start_time(pid: int) -> str:
    """Start time in clock ticks since boot, where the kernel tells."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"
