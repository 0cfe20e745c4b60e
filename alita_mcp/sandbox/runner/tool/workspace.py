"""Files of the workspace inside a sandbox: read through the broker, written to the host when the call succeeds."""

from __future__ import annotations

import binascii
import errno
import os
from _thread import RLock
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

CHUNK = 480 << 10
"""Bytes of a file in one request or reply; base64 makes a third more of them."""
MAX_FILE = 16 << 20
READ_ONLY = "writing needs the grant 'workspace': 'write'; this tool may only read its workspace"
Ask = Callable[[str, dict[str, Any]], Any]
Operation = dict[str, Any]


class Entry(NamedTuple):
    """A name as the host listed it."""

    kind: str
    """`file`, `folder`, or `unlisted`: a folder whose names are not here yet."""
    stamp: str
    """Changes whenever the file on the host does; empty for what the call made."""


class WorkspaceFiles:
    """The files of one call; what it wrote is kept in memory until `finish` sends it."""

    def __init__(self, ask: Ask, *, writable: bool) -> None:
        self._ask = ask
        self._writable = writable
        self._known = {"": Entry("unlisted", "")}
        self._written: dict[str, bytes] = {}
        self._lock = RLock()

    def read(self, path: str) -> bytes:
        """The content of a file, with what the call itself wrote."""
        name = relative(path)
        with self._lock:
            if self._is_folder(name):
                raise IsADirectoryError(errno.EISDIR, "a folder", path)
            return self._written[name] if name in self._written else self._fetch(name)

    def write(self, path: str, data: bytes) -> None:
        """Makes or replaces a file, with the folders above it.

        Raises:
            PermissionError: the grant is to read only.
            OSError: the path names a folder, leads through a file, or the file is too large.
        """
        name = relative(path)
        if not self._writable:
            raise PermissionError(READ_ONLY)
        if len(data) > MAX_FILE:
            what = f"{len(data)} bytes are more than the {MAX_FILE} that a file may have"
            raise OSError(errno.EFBIG, what, path)
        with self._lock:
            folders = list(_folders_above(name))
            for folder in folders:
                self._list(folder)
                if self._known.get(folder, _NOTHING).kind == "file":
                    raise NotADirectoryError(errno.ENOTDIR, "no folder", folder)
            if self._is_folder(name):
                raise IsADirectoryError(errno.EISDIR, "a folder", path)
            for folder in folders:
                self._known.setdefault(folder, Entry("folder", ""))
            self._known.setdefault(name, Entry("file", ""))
            self._written[name] = data

    def names(self, folder: str) -> list[str]:
        """Paths of all files in and below a folder, sorted; none where there is no such folder."""
        top = relative(folder)
        start = f"{top}/" if top else ""
        with self._lock:
            for above in _folders_above(f"{start}name"):
                self._list(above)
            while waiting := self._below(start, "unlisted"):
                for name in waiting:
                    self._list(name)
            return self._below(start, "file")

    def finish(self) -> None:
        """Sends what was written; the host takes all of it or nothing."""
        with self._lock:
            batch: list[Operation] = []
            size = 0
            for operation in self._operations():
                cost = len(operation["data"]) + 6 * len(operation["path"]) + 200
                if size + cost > 2 * CHUNK:
                    self._ask("workspace.change", {"operations": batch, "last": False})
                    batch, size = [], 0
                batch.append(operation)
                size += cost
            if batch:
                self._ask("workspace.change", {"operations": batch, "last": True})

    def _is_folder(self, name: str) -> bool:
        return self._known.get(name, _NOTHING).kind in {"folder", "unlisted"}

    def _below(self, start: str, kind: str) -> list[str]:
        return sorted(
            name for name, entry in self._known.items() if entry.kind == kind and name.startswith(start)
        )

    def _fetch(self, name: str) -> bytes:
        stamp, data = "", bytearray()
        while True:
            piece = self._ask("workspace.read", {"path": name, "offset": len(data), "length": CHUNK})
            if stamp not in {"", piece["stamp"]}:
                raise OSError(errno.ESTALE, "the file changed while it was read", name)
            stamp = piece["stamp"]
            new = binascii.a2b_base64(piece["data"])
            data += new
            if not new or len(data) >= piece["size"]:
                self._known[name] = Entry("file", stamp)
                return bytes(data)

    def _list(self, folder: str) -> None:
        """Asks for the names in a folder, unless they are here or there is no such folder."""
        if self._known.get(folder, _NOTHING).kind != "unlisted":
            return
        listing = self._ask("workspace.list", {"path": folder})
        self._known[folder] = Entry("folder", "")
        for name, kind, stamp in listing:
            self._known.setdefault(name, Entry(kind, stamp))

    def _operations(self) -> Iterator[Operation]:
        for name, data in self._written.items():
            for start in range(0, len(data) or 1, CHUNK):
                text = binascii.b2a_base64(data[start : start + CHUNK], newline=False).decode()
                more = start + CHUNK < len(data)
                yield {"path": name, "stamp": self._known[name].stamp, "data": text, "more": more}


_NOTHING = Entry("", "")


def relative(path: str) -> str:
    """A path below the workspace without empty parts; empty for the workspace itself.

    Raises:
        PermissionError: it is absolute or has `..`.
    """
    text = os.fspath(path)
    parts = text.split("/")
    if text.startswith("/") or ".." in parts:
        raise PermissionError(f"{text[:100]!r} lies outside of the workspace")
    return "/".join(part for part in parts if part not in {"", "."})


def _folders_above(name: str) -> Iterator[str]:
    """The folders on the way to a name, the workspace first."""
    parts = name.split("/")
    return ("/".join(parts[:depth]) for depth in range(len(parts)))
