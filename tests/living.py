"""Whether a process that a test started, or that came of one, still lives."""

from __future__ import annotations

import psutil


def alive(process: psutil.Process) -> bool:
    """False as soon as it ended, whether or not its parent has asked for its status yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
