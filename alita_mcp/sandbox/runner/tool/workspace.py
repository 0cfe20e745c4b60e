"""Files of the workspace inside a sandbox: read through the broker, written to the host when the call succeeds."""

from __future__ import annotations

import binascii
import errno
import os
from _thread import RLock
from collections.abc import Callable, Iterator
from typing import Any

CHUNK = 480 << 10
"""Bytes of a file in one request or reply; base64 makes a third more of them."""
MAX_FILE = 16 << 20
READ_ONLY = "writing needs the grant 'workspace': 'write'; this tool may only read its workspace"
Ask = Callable[[str, dict[str, Any]], Any]
Operation = dict[str, Any]


class WorkspaceFiles:
    """The files of one call; what it wrote is kept in memory until `finish` sends it."""

    def __init__(self, ask: Ask, *, writable: bool) -> None:
        self._ask = ask
        self._writable = writable
        self._stamps: dict[str, str] = {}
        """Of the files that the call read: each changes whenever the file on the host does."""
        self._written: dict[str, bytes] = {}
        self._lock = RLock()

    def read(self, path: str) -> bytes:
        """The content of a file, with what the call itself wrote."""
        name = relative(path)
        with self._lock:
            self._refuse_folder(name, path)
            if name in self._written:
                return self._written[name]
            stamp, data = "", bytearray()
            while True:
                words = {"path": name, "offset": len(data), "length": CHUNK}
                piece = self._ask("workspace.read", words)
                if stamp not in {"", piece["stamp"]}:
                    raise OSError(errno.ESTALE, "the file changed while it was read", name)
                stamp = piece["stamp"]
                new = binascii.a2b_base64(piece["data"])
                data += new
                if not new or len(data) >= piece["size"]:
                    self._stamps[name] = stamp
                    return bytes(data)

    def write(self, path: str, data: bytes) -> None:
        """Makes or replaces a file, with the folders above it.

        Raises:
            PermissionError: the grant is to read only.
            OSError: the path names a folder, leads through a file of this call, or the file is too large.
        """
        name = relative(path)
        if not self._writable:
            raise PermissionError(READ_ONLY)
        if len(data) > MAX_FILE:
            what = f"{len(data)} bytes are more than the {MAX_FILE} that a file can have"
            raise OSError(errno.EFBIG, what, path)
        with self._lock:
            self._refuse_folder(name, path)
            for above in self._written:
                if name.startswith(f"{above}/"):
                    raise NotADirectoryError(errno.ENOTDIR, "no folder", above)
            self._written[name] = data

    def names(self, folder: str) -> list[str]:
        """Paths of all files in and below a folder, sorted; none where there is no such folder."""
        top = relative(folder)
        start = f"{top}/" if top else ""
        with self._lock:
            written = {name for name in self._written if name.startswith(start)}
            return sorted(written.union(self._ask("workspace.list", {"path": top})))

    def _refuse_folder(self, name: str, path: str) -> None:
        if not name or any(written.startswith(f"{name}/") for written in self._written):
            raise IsADirectoryError(errno.EISDIR, "a folder", path)

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

    def _operations(self) -> Iterator[Operation]:
        for name, data in self._written.items():
            for start in range(0, len(data) or 1, CHUNK):
                text = binascii.b2a_base64(data[start : start + CHUNK], newline=False).decode()
                more = start + CHUNK < len(data)
                yield {"path": name, "stamp": self._stamps.get(name, ""), "data": text, "more": more}


def relative(path: str) -> str:
    """A path below the workspace without empty parts; empty for the workspace itself.

    Raises:
        PermissionError: it is absolute or has `..`.
    """
    text = os.fspath(path)
    parts = text.split("/")
    if text.startswith("/") or ".." in parts:
        raise PermissionError(f"{text[:100]!r} is outside the workspace")
    return "/".join(part for part in parts if part not in {"", "."})
