"""Scratch folders that a tool can write to, and their removal without following links, within a time limit."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

FOLDERS = ("/tmp", "/dev/shm", "/dev/mqueue")
MAX_SECONDS = 5.0
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GET_FLAGS = 0x80086601
_DEEPEST = 100
_AT_ONCE = 512
"""Entries that are removed between two looks at the clock."""


class WipeFailed(Exception):
    """A scratch folder could not be emptied; this sandbox must not be used again."""


def too_many_files(limit: int) -> dict[str, Any]:
    """Result of a call that has too many files, where the kernel does not enforce the limit."""
    problem = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    message = (
        f"{problem}: hit the limit of {limit} files and folders in the scratch directory (scratch_files)"
    )
    return {"status": "error", "error_type": "OSError", "message": message, "trace": []}


class _Folder(NamedTuple):
    """A writable folder, and what it was like before anybody could change it."""

    opened: int
    look: tuple[int, frozenset[str], bytes]

    def reset_times(self) -> None:
        """Sets the times of reading and of writing to 1970, or to now where the folder is another user's."""
        try:
            os.utime(self.opened, ns=(0, 0))
        except PermissionError:
            os.utime(self.opened)


def _look_of(folder: int) -> tuple[int, frozenset[str], bytes]:
    """What a folder's owner may write on the folder itself: mode, extended attributes with access lists, flags."""
    attributes, flags = frozenset[str](), b""
    with suppress(OSError):
        attributes = frozenset(os.listxattr(folder))
    with suppress(OSError):  # not every file system has what `chattr` changes
        flags = fcntl.ioctl(folder, _GET_FLAGS, bytes(8))
    return stat.S_IMODE(os.fstat(folder).st_mode), attributes, flags


class Scratch:
    """Writable folders of a sandbox, opened before any code ran."""

    def __init__(self) -> None:
        self._folders: list[_Folder] = []
        for path in FOLDERS:
            try:
                opened = os.open(path, _OPEN)
            except OSError:
                continue
            folder = _Folder(opened, _look_of(opened))
            with suppress(OSError):  # what it may not change at all, it is refused for elsewhere
                folder.reset_times()
            self._folders.append(folder)

    def holds_more_than(self, files: int) -> bool:
        """Whether there are more files and folders in /tmp than that, where the kernel itself does not see to it."""
        found = os.fstatvfs(self._folders[0].opened)
        return found.f_files > files and found.f_files - found.f_ffree > files

    def wipe(self) -> None:
        """Empties them.

        Raises:
            WipeFailed: something cannot be removed, or not in time, or a folder itself was changed.
        """
        until = time.monotonic() + MAX_SECONDS
        try:
            for folder in self._folders:
                if _look_of(folder.opened) != folder.look:
                    raise WipeFailed("the folder itself was changed")
                _empty(folder.opened, until)
                folder.reset_times()
        except OSError as problem:
            raise WipeFailed(str(problem)) from problem


def _empty(folder: int, until: float, depth: int = 0) -> None:
    """Removes all entries."""
    # what is removed meanwhile may hide others from a listing, hence again until none is left
    while entries := _list_entries(folder, until):
        for name, is_folder in entries:
            if not is_folder:
                os.unlink(name, dir_fd=folder)
                continue
            if depth >= _DEEPEST:
                raise WipeFailed(f"it has more than {_DEEPEST} folders in one another")
            # symbolic links are no folders, and no other process runs that could put one in the place of this name
            os.chmod(name, 0o700, dir_fd=folder)
            inner = os.open(name, _OPEN, dir_fd=folder)
            try:
                _empty(inner, until, depth + 1)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)


def _list_entries(folder: int, until: float) -> list[tuple[str, bool]]:
    """Some entries, and whether each is a folder; none when all are gone."""
    if time.monotonic() > until:
        raise WipeFailed(f"takes longer than {MAX_SECONDS:g} s")
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _AT_ONCE)]
