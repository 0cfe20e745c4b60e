"""Whose the processes are that this one started, as seen from outside."""

from __future__ import annotations

from collections.abc import Collection

import psutil


def owners_below(before: Collection[psutil.Process]) -> set[int]:
    """Real and effective user ids of all processes that this one started, directly or not, but for `before`."""
    found: set[int] = set()
    for process in set(psutil.Process().children(recursive=True)).difference(before):
        try:
            uids = process.uids()
        except psutil.NoSuchProcess:
            continue
        found |= {uids.real, uids.effective}
    return found
