"""A folder of the workspace that is opened name by name, so that no link is ever followed.

Where the system opens files relative to a folder's descriptor, a folder that is swapped for a link meanwhile changes
nothing. Elsewhere each path is resolved and compared.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ASIDE = ".alita-"
"""Beginning of the names under which files are written before they get their own."""
HAS_DESCRIPTORS = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
"""Whether the system opens files relative to a folder that is open."""
_NEVER = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_READ = os.O_RDONLY | _NEVER | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEVER | getattr(os, "O_BINARY", 0)
_READ_WRITE_BITS = 0o666
_NEW_FILE = 0o644
_REPARSE_POINT = 0x400


class OpenFolder:
    """An open folder of the workspace; a context manager that closes it."""

    def __init__(self, path: Path, fd: int | None) -> None:
        self._path = path
        self._fd = fd

    @classmethod
    def root(cls, path: Path, *, by_descriptor: bool = HAS_DESCRIPTORS) -> OpenFolder:
        """The folder that a person set, which may be a link.

        Raises:
            OSError: it is not there, or no folder.
        """
        resolved = path.resolve(strict=True)
        if not resolved.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "no folder", "")
        return cls(resolved, os.open(resolved, _READ | os.O_DIRECTORY) if by_descriptor else None)

    def __enter__(self) -> OpenFolder:
        return self

    def __exit__(self, *_how: object) -> None:
        if self._fd is not None:
            os.close(self._fd)

    def enter(self, name: str) -> OpenFolder:
        """A folder in this one.

        Raises:
            PermissionError: a link, or no folder.
            FileNotFoundError: it is not there.
        """
        if not stat.S_ISDIR(self.look(name).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "no folder", name)
        if self._fd is None:
            return OpenFolder(self._path / name, None)
        return OpenFolder(self._path / name, os.open(name, _READ | os.O_DIRECTORY, dir_fd=self._fd))

    def names(self) -> Iterator[tuple[str, os.stat_result]]:
        """What lies here, in order of names, but for what is still being written."""
        with os.scandir(self._path if self._fd is None else self._fd) as entries:
            found = sorted(
                (entry for entry in entries if not entry.name.startswith(ASIDE)), key=lambda entry: entry.name
            )
            for entry in found:
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def look(self, name: str) -> os.stat_result:
        """What lies under a name.

        Raises:
            PermissionError: a link.
            FileNotFoundError: nothing.
        """
        found = os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode) or getattr(found, "st_file_attributes", 0) & _REPARSE_POINT:
            raise PermissionError(errno.EPERM, "links are not followed", name)
        if self._fd is None and (self._path / name).resolve() != self._path / name:
            raise PermissionError(errno.EPERM, "links are not followed", name)
        return found

    @contextmanager
    def open_file(self, name: str) -> Iterator[tuple[int, os.stat_result]]:
        """A file's descriptor and what it is.

        Raises:
            PermissionError: a link, a device, a pipe: anything that is no file.
            FileNotFoundError: nothing is there.
        """
        looked = self.look(name)
        if stat.S_ISDIR(looked.st_mode):
            raise IsADirectoryError(errno.EISDIR, "a folder", name)
        if not stat.S_ISREG(looked.st_mode):
            raise PermissionError(errno.EPERM, "no regular file", name)
        fd = os.open(self._at(name), _READ, dir_fd=self._fd)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode) or not os.path.samestat(found, looked):
                raise PermissionError(errno.EPERM, "replaced while it was opened", name)
            yield fd, found
        finally:
            os.close(fd)

    def write(self, name: str, data: bytes) -> None:
        """Writes a file, complete or not at all; what was there keeps its mode, but for its right to be executed."""
        mode = _NEW_FILE
        with suppress(FileNotFoundError):
            mode = self.look(name).st_mode & _READ_WRITE_BITS
        aside = f"{ASIDE}{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(self._at(aside), _WRITE, 0o600, dir_fd=self._fd), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), mode)
            os.replace(self._at(aside), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(self._at(aside), dir_fd=self._fd)
            raise

    def make_folder(self, name: str) -> None:
        """Makes a folder, unless something has the name."""
        with suppress(FileExistsError):
            os.mkdir(self._at(name), dir_fd=self._fd)

    def _at(self, name: str) -> str:
        return name if self._fd is not None else str(self._path / name)
