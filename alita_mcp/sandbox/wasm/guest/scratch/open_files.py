"""Open files of the scratch folder, and the functions of `os` that take a descriptor."""
# ruff: noqa: D102 - named, and documented, as in `os`

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import Any

from alita_mcp.sandbox.wasm.guest.scratch.nodes import Node, Tree, failure, read

_FIRST = 3


class Opened:
    """An open file: descriptors made by `dup` share its position."""

    __slots__ = ("flags", "node", "position", "users")

    def __init__(self, node: Node, flags: int) -> None:
        self.node = node
        self.flags = flags
        self.position = 0
        self.users = 0

    def need(self, *modes: int) -> None:
        """Raises OSError where it was not opened for that."""
        if self.flags & os.O_ACCMODE not in modes:
            raise failure(errno.EBADF)


class OpenFiles:
    """Table of open descriptors of a tree's files."""

    def __init__(self) -> None:
        self._tree = Tree()
        self.top = self._tree.root
        self._open: dict[int, Opened] = {}
        self._most_open = 1 << 10

    def holds(self, fd: Any) -> bool:
        """Whether it is the descriptor of a file here."""
        return fd in self._open

    def close(self, fd: int) -> None:
        opened = self._open.pop(fd)
        opened.users -= 1
        if not opened.users:
            opened.node.opened -= 1
            self._tree.let_go(opened.node)

    def dup(self, fd: int, /) -> int:
        return self._hold(self._open[fd])

    def read(self, fd: int, length: int, /) -> bytes:
        opened = self._open[fd]
        data = self.pread(fd, length, opened.position)
        opened.position += len(data)
        return data

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        opened = self._open[fd]
        opened.need(os.O_RDONLY, os.O_RDWR)
        if opened.node.is_folder:
            raise failure(errno.EISDIR)
        if length < 0 or offset < 0:
            raise failure(errno.EINVAL)
        return read(opened.node, offset, length)

    def readinto(self, fd: int, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(fd, len(view))
        view[: len(data)] = data
        return len(data)

    def write(self, fd: int, data: Any, /) -> int:
        opened = self._open[fd]
        if opened.flags & os.O_APPEND:
            opened.position = opened.node.size
        written = self.pwrite(fd, data, opened.position)
        opened.position += written
        return written

    def pwrite(self, fd: int, data: Any, offset: int, /) -> int:
        opened = self._open[fd]
        opened.need(os.O_WRONLY, os.O_RDWR)
        if offset < 0:
            raise failure(errno.EINVAL)
        try:
            view = memoryview(data)
        except TypeError:
            message = f"a bytes-like object is required, not {type(data).__name__!r}"
            raise TypeError(message) from None
        with view, view.cast("B") as content:
            return self._tree.write(opened.node, offset, content)

    def lseek(self, fd: int, position: int, whence: int, /) -> int:
        opened = self._open[fd]
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: opened.position, os.SEEK_END: opened.node.size}
        if whence not in starts or starts[whence] + position < 0:
            raise failure(errno.EINVAL)
        opened.position = 0 if opened.node.is_device else starts[whence] + position
        return opened.position

    def ftruncate(self, fd: int, length: int, /) -> None:
        sys.audit("os.truncate", fd, length)
        opened = self._open[fd]
        if opened.flags & os.O_ACCMODE == os.O_RDONLY or not stat.S_ISREG(opened.node.mode):
            raise failure(errno.EINVAL)
        self._tree.truncate(opened.node, length)

    def fstat(self, fd: int) -> os.stat_result:
        return self._open[fd].node.status()

    def isatty(self, fd: int, /) -> bool:
        return self._open[fd] is None

    def fsync(self, fd: int) -> None:
        self._open[fd]

    fdatasync = fsync

    def get_inheritable(self, fd: int, /) -> bool:
        return self._open[fd] is None

    def set_inheritable(self, fd: int, inheritable: int, /) -> None:
        self._open[fd]

    def _hold(self, opened: Opened) -> int:
        number = next(
            number for number in range(_FIRST, len(self._open) + _FIRST + 1) if number not in self._open
        )
        if number >= self._most_open:
            raise failure(errno.EMFILE)
        if not opened.users:
            opened.node.opened += 1
        opened.users += 1
        self._open[number] = opened
        return number
