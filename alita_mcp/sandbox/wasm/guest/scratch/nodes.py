"""Tree of the scratch folder in memory: files, folders and links, their modes, times and limits.

What lies outside of it is `/`, `/dev` and `/dev/null`, which cannot be changed. Errors are those of Linux.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import Any

SCRATCH = "/tmp"
OWNER = 65532
_READ, _WRITE, _ENTER = 4, 2, 1
_MOST_LINKS, _LONGEST_NAME, _LONGEST_PATH = 40, 255, 4095
_now = time.time_ns


def failure(number: int, *names: Any) -> OSError:
    """Makes the OSError of a number, with the paths that it is about."""
    return OSError(number, os.strerror(number), *names)


class Node:
    """A file, a folder, a link or a device."""

    __slots__ = (
        "accessed", "changed", "content", "entries", "links", "mode", "modified", "number", "opened", "owned", "parent",
        "size", "target",
    )  # fmt: skip

    def __init__(self, mode: int, number: int, parent: Node | None, *, owned: bool) -> None:
        self.mode = mode
        self.number = number
        self.parent = parent or self
        self.owned = owned
        self.entries: dict[str, Node] = {}
        self.content = bytearray()
        self.size = 0
        """Bytes; what `content` lacks of them are zeros that cost nothing."""
        self.target = ""
        self.links = 1
        self.opened = 0
        self.accessed = self.modified = self.changed = 0

    @property
    def is_folder(self) -> bool:
        """Whether it holds others."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def is_device(self) -> bool:
        """Whether it takes everything and holds nothing."""
        return stat.S_ISCHR(self.mode)

    def may(self, bits: int) -> bool:
        """Whether its mode lets its owner read (4), write (2), enter or run (1); what is not ours, anybody."""
        return (self.mode >> (6 if self.owned else 0)) & bits == bits

    def need(self, bits: int) -> None:
        """Raises PermissionError where its mode does not allow that."""
        if not self.may(bits):
            raise failure(errno.EACCES)

    def stamp(self, *, content: bool) -> None:
        """Sets its times; that of a change always grows, however coarse the clock of a rehearsal is."""
        now = _now()
        self.changed = max(now, self.changed + 1)
        if content:
            self.modified = now

    def status(self) -> os.stat_result:
        """As `os.stat` tells it."""
        times = (self.accessed, self.modified, self.changed)
        links = 2 + sum(each.is_folder for each in self.entries.values()) if self.is_folder else self.links
        owner = OWNER if self.owned else 0
        named: dict[str, Any] = {"st_blksize": 4096, "st_blocks": -(-len(self.content) // 512), "st_rdev": 0}
        for name, moment in zip(("atime", "mtime", "ctime"), times, strict=True):
            named |= {f"st_{name}": moment / 1e9, f"st_{name}_ns": moment}
        whole = (moment // 1_000_000_000 for moment in times)
        return os.stat_result((self.mode, self.number, 1, links, owner, owner, self.size, *whole), named)


class Place:
    """Place of a path: the folder that holds it, its name there, and its node if there is one."""

    __slots__ = ("folder", "name", "node")

    def __init__(self, folder: Node, name: str, node: Node | None) -> None:
        self.folder = folder
        self.name = name
        self.node = node

    def there(self) -> Node:
        """The node; FileNotFoundError where there is none."""
        if self.node is None:
            raise failure(errno.ENOENT)
        return self.node


class Tree:
    """Tree of all nodes of an instance."""

    def __init__(self) -> None:
        self.most_bytes = self.most_files = 1 << 30
        self.used = self.count = 0
        self._last_number = 0
        self.root = self._new(stat.S_IFDIR | 0o555, None, owned=False)
        devices = self.root.entries["dev"] = self._new(stat.S_IFDIR | 0o555, self.root, owned=False)
        devices.entries["null"] = self._new(stat.S_IFCHR | 0o666, devices, owned=False)
        self.scratch = self.root.entries[SCRATCH[1:]] = self._new(stat.S_IFDIR | 0o700, self.root, owned=True)

    def find(self, path: str, start: Node, *, follow: bool = True) -> Place:
        """Where a path leads from a folder; `follow`: a link at its end is followed as the others are."""
        if not path:
            raise failure(errno.ENOENT)
        if len(os.fsencode(path)) > _LONGEST_PATH:
            raise failure(errno.ENAMETOOLONG)
        here = self.root if path.startswith("/") else start
        place = Place(here, ".", here)
        steps, closed, links = _steps(path), path.endswith("/"), 0
        while steps:
            node = place.there()
            if not node.is_folder:
                raise failure(errno.ENOTDIR)
            place = _enter(node, steps.pop())
            found = place.node
            if found is not None and found.is_link and (follow or steps or closed):
                links += 1
                if links > _MOST_LINKS:
                    raise failure(errno.ELOOP)
                steps += _steps(found.target)
                here = self.root if found.target.startswith("/") else place.folder
                place = Place(here, ".", here)
        if closed and place.node is not None and not place.node.is_folder:
            raise failure(errno.ENOTDIR)
        return place

    def make(self, place: Place, mode: int) -> Node:
        """A new node at a place where there is none."""
        self.attach(place, None)
        if self.count >= self.most_files:
            raise failure(errno.ENOSPC)
        self.count += 1
        node = place.folder.entries[place.name] = self._new(mode, place.folder, owned=True)
        node.stamp(content=True)
        node.accessed = node.modified
        return node

    def attach(self, place: Place, node: Node | None) -> None:
        """Puts a node where there is none, once more if it has a name already."""
        folder = place.folder
        folder.need(_WRITE | _ENTER)
        if not folder.links:
            raise failure(errno.ENOENT)
        folder.stamp(content=True)
        if node is not None:
            folder.entries[place.name] = node

    def detach(self, place: Place) -> Node:
        """Takes a name away, and with the last one what it named, once it is open no more."""
        node = place.there()
        place.folder.need(_WRITE | _ENTER)
        del place.folder.entries[place.name]
        place.folder.stamp(content=True)
        node.links -= 1
        node.stamp(content=False)
        self.let_go(node)
        return node

    def let_go(self, node: Node) -> None:
        """Frees a file that has no name and is not open."""
        if not node.links and not node.opened:
            self.used -= len(node.content)
            self.count -= 1
            node.content = bytearray()

    def write(self, node: Node, at: int, data: memoryview) -> int:
        """Writes as much as there is space for; how many bytes."""
        if not data or node.is_device:
            return len(data)
        end = min(at + len(data), len(node.content) + self.most_bytes - self.used)
        if end <= at:
            raise failure(errno.ENOSPC)
        before = len(node.content)
        if at > before:
            node.content.extend(bytes(at - before))
        node.content[at:end] = data[: end - at]
        self.used += len(node.content) - before
        node.size = max(node.size, end)
        node.stamp(content=True)
        return end - at

    def truncate(self, node: Node, length: int) -> None:
        """Cuts a file, or lets it end in zeros that take no space."""
        if length < 0:
            raise failure(errno.EINVAL)
        if length > self.most_bytes:
            raise failure(errno.EFBIG)
        self.used -= max(0, len(node.content) - length)
        del node.content[length:]
        node.size = length
        node.stamp(content=True)

    def path_of(self, folder: Node) -> str:
        """The path of a folder; FileNotFoundError where it was removed."""
        names: list[str] = []
        while folder is not self.root:
            above = folder.parent.entries.items()
            name = next((name for name, node in above if node is folder), None)
            if name is None:
                raise failure(errno.ENOENT)
            names.append(name)
            folder = folder.parent
        return "/" + "/".join(reversed(names))

    def _new(self, mode: int, parent: Node | None, *, owned: bool) -> Node:
        self._last_number += 1
        return Node(mode, self._last_number, parent, owned=owned)


def read(node: Node, at: int, length: int) -> bytes:
    """Reads a piece of a file."""
    end = min(node.size, at + length)
    data = bytes(node.content[at:end])
    return data + bytes(max(0, end - at - len(data)))


def _steps(path: str) -> list[str]:
    """The names in a path, the last one first."""
    return [step for step in reversed(path.split("/")) if step]


def _enter(folder: Node, step: str) -> Place:
    folder.need(_ENTER)
    if step == ".":
        return Place(folder, ".", folder)
    if step == "..":
        return Place(folder.parent, ".", folder.parent)
    if len(os.fsencode(step)) > _LONGEST_NAME:
        raise failure(errno.ENAMETOOLONG)
    return Place(folder, step, folder.entries.get(step))
