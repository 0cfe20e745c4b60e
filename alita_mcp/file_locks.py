"""Lock files between processes, held for a moment or for as long as a process lives.

The operating system frees them when a process dies, however it dies.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from alita_mcp.errors import LibraryError
from alita_mcp.machine import unusable

if TYPE_CHECKING:
    from filelock import FileLock

POLL_S = 0.01


def file_lock(path: Path) -> FileLock:
    """A lock file of this user, not held yet; any thread of this process may release it."""
    from filelock import FileLock

    return FileLock(path, thread_local=False, mode=0o600)


def is_lock_held(path: Path) -> bool:
    """Whether a running process holds a lock file, this one included."""
    from filelock import Timeout

    if not path.is_file():
        return False
    try:
        with file_lock(path).acquire(timeout=0):
            return False
    except Timeout:
        return True


@contextmanager
def hold_lock(path: Path, timeout_s: float) -> Iterator[None]:
    """Holds a lock file while the block runs.

    Raises:
        LibraryError: another process did not release it in time, or it is no file that can be locked.
    """
    with _translate_errors(path, timeout_s):
        lock = file_lock(path).acquire(timeout=timeout_s, poll_interval=POLL_S)
    with lock:
        yield


@asynccontextmanager
async def wait_for_lock(path: Path, timeout_s: float, poll_s: float = POLL_S) -> AsyncIterator[None]:
    """Holds a lock file as `hold_lock` does, without a thread that waits for it; tries it every `poll_s`."""
    from filelock import Timeout

    lock, until = file_lock(path), anyio.current_time() + timeout_s
    with _translate_errors(path, timeout_s):
        while True:
            try:
                held_lock = lock.acquire(timeout=0)
                break
            except Timeout:
                if anyio.current_time() >= until:
                    raise
                await anyio.sleep(poll_s)
    with held_lock:
        yield


@contextmanager
def _translate_errors(path: Path, timeout_s: float) -> Iterator[None]:
    from filelock import Timeout

    try:
        yield
    except Timeout as busy:
        raise LibraryError(
            f"{path} has been locked by another process for {timeout_s:g} s.", hint="Try again in a moment."
        ) from busy
    except OSError as error:
        raise unusable(path, error) from error


class Owner:
    """This process among the processes of one library; everything unfinished that it makes carries its name."""

    def __init__(self, folder: Path) -> None:
        """Announces this process; call it under the library's own lock, so that none cleans up meanwhile."""
        self.name = secrets.token_hex(8)
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = file_lock(self._file(self.name))
        self._lock.acquire(timeout=0)

    def close(self) -> None:
        """Ends the announcement of this process."""
        self._lock.release()
        self._file(self.name).unlink(missing_ok=True)

    def is_alive(self, owner: str) -> bool:
        """Whether the process of that name still runs; False for words that are no process's name."""
        return owner == self.name or (owner.isalnum() and is_lock_held(self._file(owner)))

    def dead_owners(self) -> list[str]:
        """The names of processes that ended without `close`."""
        return [file.stem for file in self._folder.glob("*.lock") if not self.is_alive(file.stem)]

    def remove_owner(self, owner: str) -> None:
        """Removes the file of a process that is gone."""
        with suppress(OSError):
            self._file(owner).unlink()

    def _file(self, owner: str) -> Path:
        return self._folder / f"{owner}.lock"
