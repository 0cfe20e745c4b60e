"""Everything that a tool can write to, and how it is emptied: without following links, however deep, within a time."""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import Any

FOLDERS = ("/tmp", "/dev/shm", "/dev/mqueue")
MAX_SECONDS = 5.0
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 100
"""Folders open at once; what lies deeper is moved up first."""


class WipeFailed(Exception):
    """Something is left; this sandbox must not be used again."""


def too_many_files(limit: int) -> dict[str, Any]:
    """The outcome of a call with more files than it may have, where the kernel itself would have let it."""
    problem = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    message = (
        f"{problem}: hit the limit of {limit} files and folders in the scratch directory (scratch_files)"
    )
    return {"status": "error", "error_type": "OSError", "message": message, "trace": []}


class Scratch:
    """The writable folders, opened before anybody could change them."""

    def __init__(self) -> None:
        self._folders: list[tuple[int, int]] = []
        for path in FOLDERS:
            try:
                folder = os.open(path, _OPEN)
            except OSError:
                continue
            self._folders.append((folder, stat.S_IMODE(os.fstat(folder).st_mode)))

    def holds_more_than(self, files: int) -> bool:
        """Whether there are more files and folders in /tmp than that, where the kernel itself does not see to it."""
        found = os.fstatvfs(self._folders[0][0])
        return found.f_files > files and found.f_files - found.f_ffree > files

    def wipe(self) -> None:
        """Empties them.

        Raises:
            WipeFailed: something cannot be removed, or not in time.
        """
        until = time.monotonic() + MAX_SECONDS
        try:
            for folder, mode in self._folders:
                _restore(folder, mode)
                _empty(folder, until)
        except OSError as problem:
            raise WipeFailed(str(problem)) from problem


def _restore(folder: int, mode: int) -> None:
    """Undoes what the folder's owner may have changed about the folder itself."""
    if stat.S_IMODE(os.fstat(folder).st_mode) != mode:
        os.fchmod(folder, mode)
    try:
        names = os.listxattr(folder)
    except OSError:
        return
    for name in names:
        if name.startswith("user."):
            os.removexattr(folder, name)


def _empty(top: int, until: float) -> None:
    """Removes all entries; of the open folders each is inside the one before it."""
    opened: list[tuple[int, str]] = []
    try:
        while True:
            if time.monotonic() > until:
                raise WipeFailed(f"takes longer than {MAX_SECONDS:g} s")
            folder = opened[-1][0] if opened else top
            inner = _remove_files(folder, until)
            if inner is not None:
                _enter(opened, top, folder, inner)
            elif opened:
                closed, name = opened.pop()
                os.close(closed)
                os.rmdir(name, dir_fd=opened[-1][0] if opened else top)
            else:
                return
    finally:
        for folder, _ in opened:
            os.close(folder)


def _remove_files(folder: int, until: float) -> str | None:
    """Removes what is no folder, and empty folders; the name of one that is not empty, or None."""
    count = -1
    while count:
        count = 0
        # what is removed meanwhile may hide others, hence again until none is left
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries, 1):
                if count % 512 == 0 and time.monotonic() > until:
                    raise WipeFailed(f"takes longer than {MAX_SECONDS:g} s")
                if not _removed(folder, entry):
                    return entry.name
    return None


def _removed(folder: int, entry: os.DirEntry[str]) -> bool:
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.name, dir_fd=folder)
        return True
    try:
        os.rmdir(entry.name, dir_fd=folder)
    except OSError:
        return False
    return True


def _enter(opened: list[tuple[int, str]], top: int, folder: int, name: str) -> None:
    # a folder: symbolic links were unlinked, and nobody else runs any more
    os.chmod(name, 0o700, dir_fd=folder)
    if len(opened) < _DEEPEST:
        opened.append((os.open(name, _OPEN, dir_fd=folder), name))
        return
    os.rename(name, f"{time.monotonic_ns()}", src_dir_fd=folder, dst_dir_fd=top)
    while opened:
        os.close(opened.pop()[0])
