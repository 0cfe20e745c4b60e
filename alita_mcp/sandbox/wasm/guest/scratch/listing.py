"""Directory listings of the scratch folder, as `os.scandir` gives them."""
# ruff: noqa: D102 - named, and documented, as in `os`

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from alita_mcp.sandbox.wasm.guest.scratch.nodes import Node

Status = Callable[..., os.stat_result]


class DirEntry:
    """Directory entry, as `os.DirEntry`."""

    __slots__ = ("_node", "_status", "_top", "name", "path")

    def __init__(self, status: Status, top: Any, name: str, node: Node) -> None:
        self._status = status
        self._top = top
        self._node = node
        self.name: Any = os.fsencode(name) if isinstance(top, bytes) else name
        self.path: Any = self.name if isinstance(top, int) else os.path.join(top, self.name)

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if self._node.is_link and follow_symlinks:
            folder = self._top if isinstance(self._top, int) else None
            return self._status(self.path, dir_fd=folder)
        return self._node.status()

    def inode(self) -> int:
        return self._node.number

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._is(stat.S_ISDIR, follow_symlinks=follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._is(stat.S_ISREG, follow_symlinks=follow_symlinks)

    def is_symlink(self) -> bool:
        return self._node.is_link

    def is_junction(self) -> bool:
        return False

    def _is(self, kind: Callable[[int], bool], *, follow_symlinks: bool) -> bool:
        try:
            return kind(self.stat(follow_symlinks=follow_symlinks).st_mode)
        except FileNotFoundError:
            return False


class Scan:
    """Iterator of entries, as that of `os.scandir`."""

    def __init__(self, entries: Iterator[DirEntry]) -> None:
        self._entries = entries

    def __iter__(self) -> Scan:
        return self

    def __next__(self) -> DirEntry:
        return next(self._entries)

    def __enter__(self) -> Scan:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())
