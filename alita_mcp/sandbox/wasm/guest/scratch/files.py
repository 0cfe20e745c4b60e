"""The functions of `os` on the scratch folder in memory, with the arguments and errors of CPython."""
# ruff: noqa: D102 - named, and documented, as in `os`

from __future__ import annotations

import errno
import functools
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from alita_mcp.sandbox.wasm.guest.scratch.tree import Node, Place, Tree, error, now

_FIRST_DESCRIPTOR = 3
_MASK = 0o022
_WITHOUT_EFFECT = {"dir_fd", "follow_symlinks", "effective_ids"}
"""Arguments of functions of `os` that change nothing where there are no links and one user."""


def _at_path(method: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a method that takes a place one that takes a path; its errors name the path."""

    @functools.wraps(method)
    def call(self: Files, path: Any = ".", *arguments: Any, **options: Any) -> Any:
        for name in _WITHOUT_EFFECT & options.keys():
            if options.pop(name) is not None and name == "dir_fd":
                raise error(errno.ENOTSUP)
        path = os.fspath("." if path is None else path)
        with _name_paths(path):
            return method(self, self.find_place(path), *arguments, **options)

    return call


class _Opened:
    """An open file."""

    def __init__(self, node: Node, flags: int) -> None:
        self.node = node
        self.flags = flags
        self.position = 0

    def need(self, unwanted: int) -> None:
        """Raises OSError where it was opened for the opposite alone."""
        if self.flags & os.O_ACCMODE == unwanted:
            raise error(errno.EBADF)


class DirEntry:
    """Entry of a folder, as `os.DirEntry`."""

    def __init__(self, top: Any, name: str, node: Node) -> None:
        self.name: Any = os.fsencode(name) if isinstance(top, bytes) else name
        self.path: Any = os.path.join(top, self.name)
        self._node = node

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._node.status()

    def inode(self) -> int:
        return self._node.number

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._node.is_folder

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISREG(self._node.mode)

    def is_symlink(self) -> bool:
        return False

    is_junction = is_symlink


class Scan(Iterator[DirEntry], AbstractContextManager["Scan"]):
    """Iterator of entries, as that of `os.scandir`."""

    def __init__(self, entries: list[DirEntry]) -> None:
        self._entries = iter(entries)

    def __next__(self) -> DirEntry:
        return next(self._entries)

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


class Files:
    """The files of one instance; its public methods stand for the functions of `os`."""

    def __init__(self) -> None:
        self.tree = Tree()
        self._folder = self.tree.scratch
        self._open: dict[int, _Opened] = {}
        self._most_open = 1 << 10

    def set_limits(self, limits: dict[str, int]) -> None:
        """Takes the limits of a call."""
        self.tree.most_bytes, self.tree.most_files = limits["scratch_bytes"], limits["scratch_files"]
        self._most_open = limits["open_files"]

    def has_open(self, fd: Any) -> bool:
        """Whether it is the descriptor of a file here."""
        return fd in self._open

    def find_place(self, path: str | bytes) -> Place:
        """Where a path leads from the working folder."""
        return self.tree.find_path(os.fsdecode(path), self._folder)

    # with a path

    @_at_path
    def _open_place(self, place: Place, flags: int, mode: int) -> int:
        node = place.node
        if node is None and flags & os.O_CREAT:
            node = self.tree.make_node(place, stat.S_IFREG | (mode & 0o7777 & ~_MASK))
        else:
            node = place.need_node()
            # in the order in which Linux checks it
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise error(errno.EEXIST)
            if flags & os.O_DIRECTORY and not node.is_folder:
                raise error(errno.ENOTDIR)
            if node.is_folder and flags & (os.O_CREAT | os.O_WRONLY):
                raise error(errno.EISDIR)
            if flags & os.O_WRONLY:  # a bit of its own here, and part of O_RDWR
                node.need_writable()
        if flags & os.O_TRUNC and stat.S_ISREG(node.mode):
            self.tree.set_size(node, 0)
        return self._give_number(_Opened(node, flags))

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT and os.fsdecode(path).endswith("/"):
            raise error(errno.EISDIR, path)
        number: int = self._open_place(path, flags, mode, dir_fd=dir_fd)
        return number

    @_at_path
    def stat(self, place: Place) -> os.stat_result:
        return place.need_node().status()

    lstat = stat

    def access(self, path: Any, mode: int, **options: Any) -> bool:
        try:
            self.stat(path, **options)
            return not mode & os.W_OK or self.find_place(path).need_node().is_writable
        except OSError:
            return False

    @_at_path
    def read_code(self, place: Place) -> io.BytesIO:
        """The whole of a file for the importer, which reads nothing else of it."""
        node = place.need_node()
        if node.is_folder:
            raise error(errno.EISDIR)
        return io.BytesIO(node.content)

    @_at_path
    def statvfs(self, _place: Place) -> os.statvfs_result:
        tree = self.tree
        blocks, free = tree.most_bytes // 4096, max(0, tree.most_bytes - tree.used) // 4096
        files = max(0, tree.most_files - tree.count)
        return os.statvfs_result((4096, 4096, blocks, free, free, tree.most_files, files, files, 0, 255))

    @_at_path
    def _entries(self, place: Place) -> dict[str, Node]:
        return place.need_folder().entries

    def listdir(self, path: Any = ".") -> list[Any]:
        names = list(self._entries(path))
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: Any = ".") -> Scan:
        top = os.fspath("." if path is None else path)
        return Scan([DirEntry(top, name, node) for name, node in self._entries(top).items()])

    @_at_path
    def mkdir(self, place: Place, mode: int = 0o777) -> None:
        if place.node is not None:
            raise error(errno.EEXIST)
        self.tree.make_node(place, stat.S_IFDIR | (mode & 0o1777 & ~_MASK))

    @_at_path
    def rmdir(self, place: Place) -> None:
        node = place.need_folder()
        if place.name == ".":
            raise error(errno.EINVAL)
        if node.entries:
            raise error(errno.ENOTEMPTY)
        self.tree.remove_name(place)

    @_at_path
    def remove(self, place: Place) -> None:
        if place.need_node().is_folder:
            raise error(errno.EISDIR)
        self.tree.remove_name(place)

    unlink = remove

    @_at_path
    def readlink(self, place: Place) -> None:
        place.need_node()
        raise error(errno.EINVAL)

    @_at_path
    def chmod(self, place: Place, mode: int) -> None:
        node = place.need_own()
        node.mode = stat.S_IFMT(node.mode) | (mode & 0o7777)

    @_at_path
    def utime(self, place: Place, times: Any = None, *, ns: Any = None) -> None:
        if times is not None and ns is not None:
            raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
        if times is not None:
            ns = [round(moment * 1_000_000_000) for moment in times]
        place.need_own().modified = ns[1] if ns else now()

    @_at_path
    def chdir(self, place: Place) -> None:
        self._folder = place.need_folder()

    def rename(self, src: Any, dst: Any) -> None:
        old, new = os.fspath(src), os.fspath(dst)
        with _name_paths(old, None, new):
            source = self.find_place(old)
            source.need_node()
            target = self.find_place(new)
            if source.node is not target.node:
                self.tree.move_node(source, target)

    replace = rename

    # with a descriptor that `has_open`

    def close(self, fd: int) -> None:
        node = self._open.pop(fd).node
        node.opened -= 1
        self.tree.free_unused(node)

    def read(self, fd: int, length: int, /) -> bytes:
        opened = self._open[fd]
        opened.need(os.O_WRONLY)
        if opened.node.is_folder:
            raise error(errno.EISDIR)
        if length < 0:
            raise error(errno.EINVAL)
        data = bytes(opened.node.content[opened.position : opened.position + length])
        opened.position += len(data)
        return data

    def readinto(self, fd: int, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(fd, len(view))
        view[: len(data)] = data
        return len(data)

    def write(self, fd: int, data: Any, /) -> int:
        opened = self._open[fd]
        opened.need(os.O_RDONLY)
        if opened.flags & os.O_APPEND:
            opened.position = opened.node.size
        try:
            view = memoryview(data)
        except TypeError:
            message = f"a bytes-like object is required, not {type(data).__name__!r}"
            raise TypeError(message) from None
        with view, view.cast("B") as content:
            written = self.tree.write_content(opened.node, opened.position, content)
        opened.position += written
        return written

    def lseek(self, fd: int, position: int, whence: int, /) -> int:
        opened = self._open[fd]
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: opened.position, os.SEEK_END: opened.node.size}
        if whence not in starts or starts[whence] + position < 0:
            raise error(errno.EINVAL)
        opened.position = 0 if opened.node.is_device else starts[whence] + position
        return opened.position

    def ftruncate(self, fd: int, length: int, /) -> None:
        opened = self._open[fd]
        if opened.flags & os.O_ACCMODE == os.O_RDONLY or not stat.S_ISREG(opened.node.mode):
            raise error(errno.EINVAL)
        self.tree.set_size(opened.node, length)

    def fstat(self, fd: int) -> os.stat_result:
        return self._open[fd].node.status()

    def isatty(self, _fd: int, /) -> bool:
        return False

    def fsync(self, fd: int) -> None:
        """Does nothing."""

    # with neither

    def getcwd(self) -> str:
        return self.tree.path_of(self._folder)

    def getcwdb(self) -> bytes:
        return os.fsencode(self.getcwd())

    def _give_number(self, opened: _Opened) -> int:
        candidates = range(_FIRST_DESCRIPTOR, len(self._open) + _FIRST_DESCRIPTOR + 1)
        number = next(number for number in candidates if number not in self._open)
        if number >= self._most_open:
            raise error(errno.EMFILE)
        opened.node.opened += 1
        self._open[number] = opened
        return number


@contextmanager
def _name_paths(*names: Any) -> Iterator[None]:
    """Errors in the block name these paths."""
    try:
        yield
    except OSError as problem:
        if problem.filename is not None:
            raise
        raise error(problem.errno or 0, *names) from None
