"""Tree of the scratch folder in memory: files and folders, their modes, times and limits; there are no links.

What lies outside of it is `/`, `/dev` and `/dev/null`, which cannot be changed. Errors are those of Linux, with the
numbers and texts of WASI.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import Any, NamedTuple

SCRATCH = "/tmp"
OWNER = 65532
now = time.time_ns


def error(number: int, *names: Any) -> OSError:
    """Makes the OSError of a number, with the paths that it is about."""
    return OSError(number, os.strerror(number), *names)


class Node:
    """A file, a folder or a device."""

    __slots__ = (
        "content", "entries", "mode", "modified", "named", "number", "opened", "owned", "parent"
    )  # fmt: skip

    def __init__(self, mode: int, parent: Node | None = None, *, owned: bool, number: int = 0) -> None:
        self.mode = mode
        self.number = number
        self.parent = parent or self
        self.owned = owned
        self.entries: dict[str, Node] = {}
        self.content = bytearray()
        self.named = True
        """False once it was removed; an open file lives on."""
        self.opened = 0
        self.modified = 0
        """Nanoseconds; the one time that is kept."""

    @property
    def is_folder(self) -> bool:
        """Whether it holds others."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_device(self) -> bool:
        """Whether it takes everything and holds nothing."""
        return stat.S_ISCHR(self.mode)

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content)

    @property
    def is_writable(self) -> bool:
        """Whether it is the tool's own, whatever its mode says, or takes everything."""
        return self.owned or self.is_device

    def need_writable(self) -> None:
        """Raises PermissionError where it is not."""
        if not self.is_writable:
            raise error(errno.EACCES)

    def status(self) -> os.stat_result:
        """As `os.stat` tells it."""
        links = (
            2 + sum(each.is_folder for each in self.entries.values()) if self.is_folder else int(self.named)
        )
        owner, seconds = OWNER if self.owned else 0, self.modified // 1_000_000_000
        named: dict[str, Any] = {"st_blksize": 4096, "st_blocks": -(-self.size // 512), "st_rdev": 0}
        for name in ("st_atime", "st_mtime", "st_ctime"):
            named |= {name: self.modified / 1e9, f"{name}_ns": self.modified}
        return os.stat_result(
            (self.mode, self.number, 1, links, owner, owner, self.size, seconds, seconds, seconds), named
        )


class Place(NamedTuple):
    """Where a path leads: the folder that holds it, its name there, and its node if there is one."""

    folder: Node
    name: str
    node: Node | None

    def need_node(self) -> Node:
        """The node; FileNotFoundError where there is none."""
        if self.node is None:
            raise error(errno.ENOENT)
        return self.node

    def need_folder(self) -> Node:
        """The node of a folder; NotADirectoryError where it is something else."""
        node = self.need_node()
        if not node.is_folder:
            raise error(errno.ENOTDIR)
        return node

    def need_own(self) -> Node:
        """The node of what the tool may change; PermissionError for what is not its own."""
        node = self.need_node()
        if not node.owned:
            raise error(errno.EPERM)
        return node


class Tree:
    """All nodes of an instance."""

    def __init__(self) -> None:
        self.most_bytes = self.most_files = 1 << 30
        self.used = self.count = 0
        self._last_number = 0
        self.root = Node(stat.S_IFDIR | 0o555, owned=False)
        devices = self.root.entries["dev"] = Node(stat.S_IFDIR | 0o555, self.root, owned=False)
        devices.entries["null"] = Node(stat.S_IFCHR | 0o666, devices, owned=False)
        self.scratch = self.root.entries[SCRATCH[1:]] = Node(stat.S_IFDIR | 0o700, self.root, owned=True)

    def find_path(self, path: str, start: Node) -> Place:
        """Where a path leads from a folder."""
        if not path:
            raise error(errno.ENOENT)
        here = self.root if path.startswith("/") else start
        place = Place(here, ".", here)
        for step in filter(None, path.split("/")):
            folder = place.need_folder()
            node = {".": folder, "..": folder.parent}.get(step) or folder.entries.get(step)
            place = Place(folder, step, node)
        if path.endswith("/") and place.node is not None:
            place.need_folder()
        return place

    def make_node(self, place: Place, mode: int) -> Node:
        """A new node at a place where there is none."""
        _need_changeable(place.folder)
        if self.count >= self.most_files:
            raise error(errno.ENOSPC)
        self.count += 1
        self._last_number += 1
        node = Node(mode, place.folder, owned=True, number=self._last_number)
        place.folder.entries[place.name] = node
        place.folder.modified = node.modified = now()
        return node

    def move_node(self, source: Place, target: Place) -> None:
        """Gives a node another name; what had it is gone."""
        node = source.need_node()
        for place in (source, target):
            _need_changeable(place.folder)
        above = target.folder
        while above is not above.parent:
            if above is node:
                raise error(errno.EINVAL)
            above = above.parent
        if {".", ".."} & {source.name, target.name}:
            raise error(errno.EBUSY)
        if target.node is not None:
            if target.node.is_folder != node.is_folder:
                raise error(errno.EISDIR if target.node.is_folder else errno.ENOTDIR)
            if target.node.entries:
                raise error(errno.ENOTEMPTY)
            self.remove_name(target)
        del source.folder.entries[source.name]
        target.folder.entries[target.name] = node
        node.parent = target.folder
        source.folder.modified = target.folder.modified = now()

    def remove_name(self, place: Place) -> None:
        """Takes a name away, and what it named once that is open no more."""
        node = place.need_node()
        _need_changeable(place.folder)
        del place.folder.entries[place.name]
        place.folder.modified = now()
        node.named = False
        self.free_unused(node)

    def free_unused(self, node: Node) -> None:
        """Frees a file that has no name and is not open."""
        if not node.named and not node.opened:
            self.used -= len(node.content)
            self.count -= 1
            node.content = bytearray()

    def write_content(self, node: Node, at: int, data: memoryview) -> int:
        """Writes as much as there is space for; how many bytes."""
        if not data or node.is_device:
            return len(data)
        end = min(at + len(data), len(node.content) + self.most_bytes - self.used)
        if end <= at:
            raise error(errno.ENOSPC)
        self._resize(node, max(at, len(node.content)))
        before = len(node.content)
        node.content[at:end] = data[: end - at]
        self.used += len(node.content) - before
        node.modified = now()
        return end - at

    def set_size(self, node: Node, length: int) -> None:
        """Cuts a file, or fills it with zeros."""
        if length < 0:
            raise error(errno.EINVAL)
        if length > self.most_bytes:
            raise error(errno.EFBIG)
        if length - len(node.content) > self.most_bytes - self.used:
            raise error(errno.ENOSPC)
        self._resize(node, length)
        node.modified = now()

    def path_of(self, folder: Node) -> str:
        """The path of a folder; FileNotFoundError where it was removed."""
        names: list[str] = []
        while folder is not self.root:
            if not folder.named:
                raise error(errno.ENOENT)
            names += [name for name, node in folder.parent.entries.items() if node is folder]
            folder = folder.parent
        return "/" + "/".join(reversed(names))

    def _resize(self, node: Node, length: int) -> None:
        before = len(node.content)
        self.used += length - before
        del node.content[length:]
        node.content.extend(bytes(max(0, length - before)))


def _need_changeable(folder: Node) -> None:
    """Checks that names in a folder may change."""
    folder.need_writable()
    if not folder.named:
        raise error(errno.ENOENT)
