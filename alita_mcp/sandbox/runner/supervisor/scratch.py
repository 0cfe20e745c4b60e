"""Scratch folders that a tool can write to, and their removal without following links, within a time limit."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from typing import Any, NamedTuple

FOLDERS = ("/tmp", "/dev/shm", "/dev/mqueue")
MAX_SECONDS = 5.0
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_DEEPEST = 100
"""Folders open at once; what lies deeper is moved up first."""


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
    mode: int
    attributes: frozenset[str]
    flags: bytes

    def restore(self) -> None:
        """Undoes what the folder's owner may have written on the folder itself."""
        for name in _attributes(self.opened) - self.attributes:
            os.removexattr(self.opened, name)
        if stat.S_IMODE(os.fstat(self.opened).st_mode) != self.mode:
            os.fchmod(self.opened, self.mode)
        if _flags(self.opened) != self.flags:
            fcntl.ioctl(self.opened, _SET_FLAGS, self.flags)

    def reset_times(self) -> None:
        """Sets the times of reading and of writing to 1970, or to now where the folder is another user's."""
        try:
            os.utime(self.opened, ns=(0, 0))
        except PermissionError:
            os.utime(self.opened)


def _attributes(folder: int) -> set[str]:
    """Extended attributes, access control lists among them."""
    try:
        return set(os.listxattr(folder))
    except OSError:
        return set()


def _flags(folder: int) -> bytes:
    """What `chattr` changes; empty where the file system has no such thing."""
    try:
        return fcntl.ioctl(folder, _GET_FLAGS, bytes(8))
    except OSError:
        return b""


class Scratch:
    """Writable folders of a sandbox, opened before any code ran."""

    def __init__(self) -> None:
        self._folders: list[_Folder] = []
        for path in FOLDERS:
            try:
                opened = os.open(path, _OPEN)
            except OSError:
                continue
            mode = stat.S_IMODE(os.fstat(opened).st_mode)
            folder = _Folder(opened, mode, frozenset(_attributes(opened)), _flags(opened))
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
            WipeFailed: something cannot be removed, or not in time.
        """
        until = time.monotonic() + MAX_SECONDS
        try:
            for folder in self._folders:
                folder.restore()
                _empty(folder.opened, until)
                folder.reset_times()
        except OSError as problem:
            raise WipeFailed(str(problem)) from problem


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
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.name, dir_fd=folder)
                    continue
                try:
                    os.rmdir(entry.name, dir_fd=folder)
                except OSError:
                    return entry.name
    return None


def _enter(opened: list[tuple[int, str]], top: int, folder: int, name: str) -> None:
    # a folder: symbolic links were unlinked, and no other process runs any more
    os.chmod(name, 0o700, dir_fd=folder)
    if len(opened) < _DEEPEST:
        opened.append((os.open(name, _OPEN, dir_fd=folder), name))
        return
    os.rename(name, f"{time.monotonic_ns()}", src_dir_fd=folder, dst_dir_fd=top)
    while opened:
        os.close(opened.pop()[0])
