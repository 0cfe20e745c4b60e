"""The functions of `os` on the scratch folder in memory, with the arguments, audit events and errors of CPython."""
# ruff: noqa: D102 - named, and documented, as in `os`

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alita_mcp.sandbox.wasm.guest.scratch.listing import DirEntry, Scan
from alita_mcp.sandbox.wasm.guest.scratch.nodes import Node, Place, failure
from alita_mcp.sandbox.wasm.guest.scratch.open_files import Opened, OpenFiles


class Files(OpenFiles):
    """The files of one instance; its public methods stand for the functions of `os`."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = self._tree.scratch
        self._mask = 0o022

    def bound(self, limits: dict[str, int]) -> None:
        """Takes the limits of a call."""
        self._tree.most_bytes, self._tree.most_files = limits["scratch_bytes"], limits["scratch_files"]
        self._most_open = limits["open_files"]

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        text = _text(path, "open")
        sys.audit("open", text, None, flags)
        with _about(text):
            node = self._to_open(os.fsdecode(text), flags, mode, dir_fd)
            if flags & os.O_TRUNC and stat.S_ISREG(node.mode):
                self._tree.truncate(node, 0)
            return self._hold(Opened(node, flags))

    def fstatvfs(self, fd: int, /) -> os.statvfs_result:
        return self.statvfs(fd)

    def fchmod(self, fd: int, mode: int) -> None:
        self.chmod(fd, mode)

    def fchdir(self, fd: int) -> None:
        self.chdir(fd)

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        with self._found(path, "stat", dir_fd, follow=follow_symlinks, number=True) as place:
            return place.there().status()

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        with self._found(path, "lstat", dir_fd, follow=False) as place:
            return place.there().status()

    def access(
        self, path: Any, mode: int, *, dir_fd: int | None = None, effective_ids: bool = False,
        follow_symlinks: bool = True,
    ) -> bool:  # fmt: skip
        try:
            with self._found(path, "access", dir_fd, follow=follow_symlinks) as place:
                return place.there().may(mode & 7)
        except OSError:
            return False

    def statvfs(self, path: Any) -> os.statvfs_result:
        with self._found(path, "statvfs", number=True) as place:
            place.there()
        tree = self._tree
        blocks, free = tree.most_bytes // 4096, max(0, tree.most_bytes - tree.used) // 4096
        files = max(0, tree.most_files - tree.count)
        return os.statvfs_result((4096, 4096, blocks, free, free, tree.most_files, files, files, 0, 255))

    def listdir(self, path: Any = None) -> list[Any]:
        path = "." if path is None else path
        with self._found(path, "listdir", number=True, event=("os.listdir",)) as place:
            names = list(_readable(place.there()).entries)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: Any = None) -> Scan:
        path = "." if path is None else path
        with self._found(path, "scandir", number=True, event=("os.scandir",)) as place:
            entries = list(_readable(place.there()).entries.items())
        top = path if isinstance(path, int) else os.fspath(path)
        return Scan(DirEntry(self.stat, top, name, node) for name, node in entries)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        event = ("os.mkdir", mode, _number(dir_fd))
        with self._found(path, "mkdir", dir_fd, follow=False, event=event) as place:
            if place.node is not None:
                raise failure(errno.EEXIST)
            self._tree.make(place, stat.S_IFDIR | (mode & 0o1777 & ~self._mask))

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        with self._found(path, "rmdir", dir_fd, follow=False, event=("os.rmdir", _number(dir_fd))) as place:
            node = place.there()
            if not node.is_folder:
                raise failure(errno.ENOTDIR)
            if place.name == ".":
                raise failure(errno.EINVAL)
            if node.entries:
                raise failure(errno.ENOTEMPTY)
            self._tree.detach(place)

    def remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        with self._found(path, "remove", dir_fd, follow=False, event=("os.remove", _number(dir_fd))) as place:
            if place.there().is_folder:
                raise failure(errno.EISDIR)
            self._tree.detach(place)

    unlink = remove

    def rename(
        self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        old, new = _text(src, "rename", "src"), _text(dst, "rename", "dst")
        sys.audit("os.rename", old, new, _number(src_dir_fd), _number(dst_dir_fd))
        with _about(old, None, new):
            source = self._find(old, src_dir_fd, follow=False)
            source.there()
            target = self._find(new, dst_dir_fd, follow=False)
            if source.node is not target.node:
                self._move(source, target)

    replace = rename

    def link(
        self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:  # fmt: skip
        old, new = _text(src, "link", "src"), _text(dst, "link", "dst")
        sys.audit("os.link", old, new, _number(src_dir_fd), _number(dst_dir_fd))
        with _about(old, None, new):
            node = self._find(old, src_dir_fd, follow=False).there()
            target = self._find(new, dst_dir_fd, follow=False)
            if node.is_folder or not node.owned:
                raise failure(errno.EPERM)
            self._tree.attach(_free(target), node)
            node.links += 1
            node.stamp(content=False)

    def symlink(
        self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None
    ) -> None:
        target, new = _text(src, "symlink", "src"), _text(dst, "symlink", "dst")
        sys.audit("os.symlink", target, new, _number(dir_fd))
        with _about(target, None, new):
            node = self._tree.make(_free(self._find(new, dir_fd, follow=False)), stat.S_IFLNK | 0o777)
            node.target = os.fsdecode(target)
            node.size = len(os.fsencode(target))

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> Any:
        with self._found(path, "readlink", dir_fd, follow=False) as place:
            if not place.there().is_link:
                raise failure(errno.EINVAL)
            target = place.there().target
        return os.fsencode(target) if isinstance(os.fspath(path), bytes) else target

    def chmod(self, path: Any, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> None:
        event = ("os.chmod", mode, _number(dir_fd))
        with self._found(path, "chmod", dir_fd, follow=follow_symlinks, number=True, event=event) as place:
            node = _own(place.there())
            node.mode = stat.S_IFMT(node.mode) | (mode & 0o7777)
            node.stamp(content=False)

    def utime(
        self, path: Any, times: Any = None, *, ns: Any = None, dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:  # fmt: skip
        if times is not None and ns is not None:
            raise ValueError("utime: you may specify either 'times' or 'ns' but not both")
        if times is not None:
            ns = [round(moment * 1_000_000_000) for moment in times]
        event = ("os.utime", times, ns, _number(dir_fd))
        with self._found(path, "utime", dir_fd, follow=follow_symlinks, number=True, event=event) as place:
            node = _own(place.there())
            node.stamp(content=ns is None)
            node.accessed, node.modified = ns or (node.modified, node.modified)

    def truncate(self, path: Any, length: int) -> None:
        with self._found(path, "truncate", number=True, event=("os.truncate", length)) as place:
            node = place.there()
            if node.is_folder:
                raise failure(errno.EISDIR)
            node.need(os.W_OK)
            self._tree.truncate(node, length)

    def chdir(self, path: Any) -> None:
        with self._found(path, "chdir", number=True, event=("os.chdir",)) as place:
            node = place.there()
            if not node.is_folder:
                raise failure(errno.ENOTDIR)
            node.need(os.X_OK)
            self._folder = node

    def getcwd(self) -> str:
        return self._tree.path_of(self._folder)

    def getcwdb(self) -> bytes:
        return os.fsencode(self.getcwd())

    def umask(self, mask: int, /) -> int:
        before, self._mask = self._mask, mask & 0o777
        return before

    def _to_open(self, path: str, flags: int, mode: int, dir_fd: int | None) -> Node:
        """The node that is opened, made where that is asked for."""
        new = bool(flags & os.O_CREAT)
        follow = not flags & os.O_NOFOLLOW and not (new and flags & os.O_EXCL)
        place = self._find(path, dir_fd, follow=follow)
        if place.node is None and new:
            if path.endswith("/"):
                raise failure(errno.EISDIR)
            return self._tree.make(place, stat.S_IFREG | (mode & 0o7777 & ~self._mask))
        node = place.there()
        if new and flags & os.O_EXCL:
            raise failure(errno.EEXIST)
        if node.is_link:
            raise failure(errno.ELOOP)
        if flags & os.O_DIRECTORY and not node.is_folder:
            raise failure(errno.ENOTDIR)
        if node.is_folder and (new or flags & os.O_ACCMODE):
            raise failure(errno.EISDIR)
        node.need({os.O_RDONLY: os.R_OK, os.O_WRONLY: os.W_OK}.get(flags & os.O_ACCMODE, os.R_OK | os.W_OK))
        return node

    def _move(self, source: Place, target: Place) -> None:
        """Gives a node another name; what had it is gone."""
        node = source.there()
        for place in (source, target):
            place.folder.need(os.W_OK | os.X_OK)
        above = target.folder
        while above is not above.parent:
            if above is node:
                raise failure(errno.EINVAL)
            above = above.parent
        if "." in (source.name, target.name):
            raise failure(errno.EBUSY)
        if target.node is not None:
            if target.node.is_folder != node.is_folder:
                raise failure(errno.EISDIR if target.node.is_folder else errno.ENOTDIR)
            if target.node.entries:
                raise failure(errno.ENOTEMPTY)
            self._tree.detach(target)
        self._tree.attach(target, node)
        del source.folder.entries[source.name]
        node.parent = target.folder if node.is_folder else node.parent
        source.folder.stamp(content=True)
        node.stamp(content=False)

    def _find(self, path: str | bytes, dir_fd: int | None, *, follow: bool) -> Place:
        text, start = os.fsdecode(path), self._folder
        if dir_fd is not None and not text.startswith("/"):
            if dir_fd not in self._open:
                raise failure(errno.EBADF)
            start = self._open[dir_fd].node
            if not start.is_folder:
                raise failure(errno.ENOTDIR)
        return self._tree.find(text, start, follow=follow)

    @contextmanager
    def _found(
        self, path: Any, function: str, dir_fd: int | None = None, *, follow: bool = True, number: bool = False,
        event: tuple[Any, ...] = (),
    ) -> Iterator[Place]:  # fmt: skip
        """Where a path leads, or `number`, an open descriptor, once the event is told; errors in the block name it."""
        if not (number and isinstance(path, int)):
            path = _text(path, function, number=number)
        if event:
            sys.audit(event[0], path, *event[1:])
        with _about(path):
            if isinstance(path, int):
                if path not in self._open:
                    raise failure(errno.EBADF)
                node = self._open[path].node
                yield Place(node.parent, "", node)
            else:
                yield self._find(path, dir_fd, follow=follow)


def _number(dir_fd: int | None) -> int:
    """What an audit event says of the descriptor of a folder."""
    return -1 if dir_fd is None else dir_fd


def _text(path: Any, function: str, argument: str = "path", *, number: bool = False) -> str | bytes:
    """A path as text or bytes."""
    try:
        text: str | bytes = os.fspath(path)
    except TypeError:
        kinds = "string, bytes, os.PathLike or integer" if number else "string, bytes or os.PathLike"
        message = f"{function}: {argument} should be {kinds}, not {type(path).__name__}"
        raise TypeError(message) from None
    if ("\0" if isinstance(text, str) else b"\0") in text:  # type: ignore[operator]
        raise ValueError(f"{function}: embedded null character in {argument}")
    return text


@contextmanager
def _about(*names: Any) -> Iterator[None]:
    """Errors in the block name these paths."""
    try:
        yield
    except OSError as problem:
        if problem.filename is not None:
            raise
        raise failure(problem.errno or 0, *names) from None


def _readable(node: Node) -> Node:
    if not node.is_folder:
        raise failure(errno.ENOTDIR)
    node.need(os.R_OK)
    return node


def _free(place: Place) -> Place:
    if place.node is not None:
        raise failure(errno.EEXIST)
    return place


def _own(node: Node) -> Node:
    if not node.owned:
        raise failure(errno.EPERM)
    return node
