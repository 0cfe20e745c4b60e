"""The workspace on the host: lists and reads files for one call, and carries out its writes at the end.

Nothing is written before the call has handed in all of its files, and all of them fit.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from alita_mcp.sandbox.broker.folder import ASIDE, HAS_DESCRIPTORS, OpenFolder
from alita_mcp.sandbox.broker.requests import Operation
from alita_mcp.sandbox.runner.tool.workspace import CHUNK, MAX_FILE

SETTING = "ALITA_WORKSPACE"
MAX_NAMES = 10_000
"""How many names one listing holds."""
MAX_LISTING_BYTES = 512 << 10
MAX_DEPTH = 32
MAX_CHANGED_BYTES = 32 << 20
"""How much one call may write in all."""
MAX_OPERATIONS = 4_000


class Workspace:
    """The workspace folder of one call: listings, pieces of files, and writes that are staged until the end."""

    def __init__(self, root: Path, *, by_descriptor: bool = HAS_DESCRIPTORS) -> None:
        self._root = root
        self._by_descriptor = by_descriptor
        self._staged: dict[str, bytearray] = {}
        self._operations: list[Operation] = []
        self._bytes = 0

    def names(self, path: str) -> list[str]:
        """Paths of all files in and below a folder; none where there is no such folder.

        Raises:
            OSError: they are too many for one listing.
        """
        found: list[str] = []
        size = 0
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            try:
                with self._folder(parts_of(folder) if folder else []) as opened, _path_in_errors(folder):
                    entries = [entry for entry in opened.names() if _is_text(entry[0])]
            except (FileNotFoundError, NotADirectoryError):
                continue
            for name, entry in entries:
                inner = f"{folder}/{name}" if folder else name
                (waiting if stat.S_ISDIR(entry.st_mode) else found).append(inner)
                size += len(os.fsencode(inner)) + 8
            if len(found) + len(waiting) > MAX_NAMES or size > MAX_LISTING_BYTES:
                raise OSError(errno.EFBIG, f"more than {MAX_NAMES} names: list a folder below", path)
        return found

    def read(self, path: str, offset: int, length: int) -> dict[str, Any]:
        """A piece of a file.

        Raises:
            OSError: nothing that may be read, or too large.
        """
        with self._open_parent(path) as (folder, name), folder.open_file(name) as (fd, found):
            if found.st_size > MAX_FILE:
                raise OSError(
                    errno.EFBIG,
                    f"{found.st_size} bytes are more than the {MAX_FILE} that a tool can read",
                    path,
                )
            os.lseek(fd, offset, os.SEEK_SET)
            left, data = min(length, CHUNK), b""
            while len(data) < left and (piece := os.read(fd, left - len(data))):
                data += piece
        return {"data": base64.b64encode(data).decode(), "size": found.st_size, "stamp": stamp_of(found)}

    def stage(self, operations: tuple[Operation, ...]) -> None:
        """Takes pieces of files to be written by `commit`.

        Raises:
            OSError, ValueError: they are too many or too large, or a path is none.
        """
        for operation in operations:
            parts_of(operation.path)
            try:
                data = base64.b64decode(operation.data, validate=True)
            except binascii.Error as broken:
                raise ValueError("data is not base64") from broken
            started = operation.path in self._staged
            if started and not self._operations[-1].more:
                raise ValueError("a file was written twice")
            if started:
                self._operations.pop()
            self._operations.append(operation)
            content = self._staged.setdefault(operation.path, bytearray())
            content += data
            self._bytes += len(data)
            if len(content) > MAX_FILE:
                raise OSError(errno.EFBIG, f"more than {MAX_FILE} bytes in one file", operation.path)
            if self._bytes > MAX_CHANGED_BYTES:
                raise OSError(errno.EFBIG, f"more than {MAX_CHANGED_BYTES} bytes in all", operation.path)
            if len(self._operations) > MAX_OPERATIONS:
                raise OSError(errno.EFBIG, f"more than {MAX_OPERATIONS} files written in one call")

    def commit(self) -> int:
        """Writes what was staged, with the folders above it; how many bytes were written.

        Raises:
            OSError: something changed on the host since the tool looked at it; then nothing is done.
        """
        if any(operation.more for operation in self._operations):
            raise ValueError("a file is incomplete")
        for operation in self._operations:
            # the host must still have the file that the tool read; folders that are to be made are not there yet
            try:
                with self._open_parent(operation.path) as (folder, name):
                    found = folder.look(name)
            except FileNotFoundError:
                if operation.stamp:
                    raise
                continue
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, "a folder", operation.path)
            if operation.stamp not in {"", stamp_of(found)}:
                raise OSError(errno.ESTALE, "changed by someone else in the meantime", operation.path)
        for operation in self._operations:
            with self._open_parent(operation.path, make=True) as (folder, name):
                folder.write(name, bytes(self._staged[operation.path]))
        self._operations.clear()
        return self._bytes

    @contextmanager
    def _open_parent(self, path: str, *, make: bool = False) -> Iterator[tuple[OpenFolder, str]]:
        """The folder that holds what a path names, and its name there."""
        *way, name = parts_of(path)
        with self._folder(way, make=make) as folder, _path_in_errors(path):
            yield folder, name

    @contextmanager
    def _folder(self, way: list[str], *, make: bool = False) -> Iterator[OpenFolder]:
        with ExitStack() as opened:
            try:
                root = OpenFolder.root(self._root, by_descriptor=self._by_descriptor)
            except OSError as problem:
                why = f"the folder that {SETTING} names cannot be used: {problem.strerror}"
                raise RuntimeError(why) from None
            folder = opened.enter_context(root)
            with _path_in_errors("/".join(way)):
                for name in way:
                    if make:
                        folder.make_folder(name)
                    folder = opened.enter_context(folder.enter(name))
            yield folder


def parts_of(path: str) -> list[str]:
    """Splits a path below the workspace into its names.

    Raises:
        PermissionError: an absolute path, or one with `..`.
        ValueError: a path that names nothing.
    """
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        raise PermissionError(errno.EPERM, "outside the workspace", path[:200])
    if len(parts) > MAX_DEPTH or not all(map(_is_name, parts)):
        raise ValueError(f"{path[:200]!r} is not a path in the workspace")
    return parts


def _is_name(name: str) -> bool:
    strange = set(name) & set("\0\\" if os.name != "nt" else '\0\\:*?"<>|')
    return (
        name not in {"", "."} and not strange and len(os.fsencode(name)) <= 255 and not name.startswith(ASIDE)
    )


def _is_text(name: str) -> bool:
    """Whether a name is Unicode text that can travel, and could be asked for."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return _is_name(name)


def stamp_of(found: os.stat_result) -> str:
    """A text that changes whenever the file does."""
    return f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}"


@contextmanager
def _path_in_errors(path: str) -> Iterator[None]:
    """Errors of the system name the path below the workspace, never where that lies on the host."""
    try:
        yield
    except OSError as problem:
        if problem.errno in {errno.ELOOP, errno.EMLINK}:
            raise PermissionError(errno.EPERM, "links are not followed", path) from problem
        raise type(problem)(problem.errno, problem.strerror, path) from problem
