"""Bounded files in a folder, the user's alone to read."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from alita_mcp.errors import LibraryError
from alita_mcp.file_locks import hold_lock
from alita_mcp.library.disk import read_plain_file
from alita_mcp.machine import unusable
from alita_mcp.owners import USER, choose_surplus

LOCK_TIMEOUT_S = 30.0
_OWNED = "~"
"""Ends the mark of the owner in the names of files that are not the user's."""


class StoredFile(NamedTuple):
    """A file as it was read."""

    name: str
    owner: str
    """As the store knows it; the owner that a file was written for may be spelled otherwise."""
    content: bytes


class BoundedFolder:
    """Files by owner and name, written whole, of which the newest are kept; several processes may share them.

    All of it blocks. What writes raises LibraryError where the disk, or the database of `BoundedRows`, refuses.
    """

    def __init__(self, folder: Path, max_files: int, max_bytes: int) -> None:
        self._folder = folder
        self._max_files = max_files
        self._max_bytes = max_bytes

    def write_file(self, name: str, content: bytes, owner: str) -> bool:
        """Writes a file and removes the oldest ones that are too many; False where it has no room itself."""
        name = _mark(owner) + name
        unfinished = self._folder / f"{secrets.token_hex(8)}.part"
        with self._translate_errors():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                unfinished.replace(self._folder / name)
            finally:
                unfinished.unlink(missing_ok=True)
            return name not in self._make_room(owner)

    def read_file(self, name: str, owner: str) -> bytes | None:
        """An owner's file; None where there is none that can be read."""
        with suppress(LibraryError, OSError):
            return read_plain_file(self._folder / (_mark(owner) + name), self._max_bytes)
        return None

    def newest(self, pattern: str, owner: str | None, limit: int) -> list[StoredFile]:
        """The newest files whose names match, of an owner or of all (None), the newest last; `*` is any text."""
        mark = None if owner is None else _mark(owner)
        found = (
            StoredFile(name.removeprefix(whose), unquote(whose.removesuffix(_OWNED)) or USER, content)
            for name, whose, _ in self._newest_first()
            if mark in (None, whose)
            and fnmatchcase(name.removeprefix(whose), pattern)
            and (content := self.read_file(name, USER)) is not None
        )
        return [*islice(found, limit)][::-1]

    def replace_file(self, file: StoredFile, content: bytes | None) -> bool:
        """Writes (None: removes) a file that still is as it was read, and makes it the newest; False where it is not.

        Of several that replace one, one wins.
        """
        with hold_lock(self._folder.with_suffix(".lock"), LOCK_TIMEOUT_S), self._translate_errors():
            if self.read_file(file.name, file.owner) != file.content:
                return False
            if content is not None:
                return self.write_file(file.name, content, file.owner)
            (self._folder / (_mark(file.owner) + file.name)).unlink(missing_ok=True)
            return True

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unusable(self._folder, error) from error

    def _newest_first(self) -> list[tuple[str, str, int]]:
        """Names on the disk, marks of the owners, and sizes of all files."""
        found = []
        try:
            for entry in os.scandir(self._folder):
                with suppress(FileNotFoundError):  # another process made room
                    facts = entry.stat(follow_symlinks=False)
                    found.append((facts.st_mtime_ns, entry.name, facts.st_size))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [
            (name, "".join(name.rpartition(_OWNED)[:2]), size)
            for _, name, size in sorted(found, reverse=True)
        ]

    def _make_room(self, owner: str) -> list[str]:
        """Removes the files that are too many, or too large together; returns their names on the disk."""
        oldest_first = self._newest_first()[::-1]
        gone = choose_surplus(oldest_first, _mark(owner), self._max_files, self._max_bytes)
        for name in gone:
            (self._folder / name).unlink(missing_ok=True)
        return gone


def _mark(owner: str) -> str:
    return "" if owner == USER else f"{quote(owner.replace(':', '-'), safe='')}{_OWNED}"
