"""Locks between processes: one file held for a moment, and one per live process that says who is still there.

The operating system frees both when a process dies, however it dies.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from alita_mcp.errors import LibraryError

if TYPE_CHECKING:
    from filelock import FileLock

POLL_S = 0.01


@contextmanager
def held(path: Path, timeout_s: float) -> Iterator[None]:
    """Holds a lock file while the block runs.

    Raises:
        LibraryError: another process did not let go of it in time.
    """
    from filelock import Timeout

    try:
        lock = _lock(path).acquire(timeout=timeout_s, poll_interval=POLL_S)
    except Timeout as busy:
        raise LibraryError(
            f"{path} has been held by another process for {timeout_s:g} s.", hint="Try again in a moment."
        ) from busy
    with lock:
        yield


@asynccontextmanager
async def awaited(path: Path, timeout_s: float, poll_s: float = POLL_S) -> AsyncIterator[None]:
    """Holds a lock file while the block runs, without a thread that waits for it; tries it every `poll_s`.

    Raises:
        TimeoutError: another process did not let go of it in time.
    """
    from filelock import Timeout

    lock = _lock(path)
    with anyio.fail_after(timeout_s):
        while True:
            try:
                held_lock = lock.acquire(timeout=0)
                break
            except Timeout:
                await anyio.sleep(poll_s)
    with held_lock:
        yield


class Owner:
    """This process among the processes of one library; its name stands on everything unfinished that it makes."""

    def __init__(self, folder: Path) -> None:
        """Announces this process; call it under the library's own lock, so that no other one sweeps meanwhile."""
        self.name = secrets.token_hex(8)
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(self._file(self.name))
        self._lock.acquire(timeout=0)

    def close(self) -> None:
        """Says that this process is gone."""
        self._lock.release()
        self._file(self.name).unlink(missing_ok=True)

    def is_alive(self, owner: str) -> bool:
        """Whether the process of that name still runs; words that no process ever had as a name are dead."""
        from filelock import Timeout

        if owner == self.name:
            return True
        file = self._file(owner)
        if not owner.isalnum() or not file.exists():
            return False
        try:
            with _lock(file).acquire(timeout=0):
                return False
        except Timeout:
            return True

    def dead(self) -> list[str]:
        """The names of processes that are gone without having said so."""
        return [file.stem for file in self._folder.glob("*.lock") if not self.is_alive(file.stem)]

    def forget(self, owner: str) -> None:
        """Removes the file of a process that is gone."""
        with suppress(OSError):
            self._file(owner).unlink()

    def _file(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"


def _lock(path: Path) -> FileLock:
    from filelock import FileLock

    return FileLock(path, thread_local=False)
