"""Which workers of the embedded sandbox run, as seen from outside."""

from __future__ import annotations

import psutil


def interpreters(pid: int | None = None) -> list[psutil.Process]:
    """Live workers that belong to a process (this one by default), by the name of their program."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            if "monty" in process.name() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found
