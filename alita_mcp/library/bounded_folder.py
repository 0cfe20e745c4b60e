"""Bounded files in a folder, the user's alone to read."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from alita_mcp.errors import LibraryError
from alita_mcp.file_locks import hold_lock
from alita_mcp.library.disk import read_plain_file
from alita_mcp.machine import unusable
from alita_mcp.owners import USER, choose_surplus
from alita_mcp.private_files import write_whole

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

    Those of an owner whose names are the same up to the first dot count as one: they go together.

    All of it blocks. What writes raises LibraryError where the disk, or the database of `BoundedRows`, refuses.
    """

    def __init__(self, folder: Path, max_files: int, max_bytes: int) -> None:
        self._folder = folder
        self._max_files = max_files
        self._max_bytes = max_bytes

    def write_file(self, name: str, content: bytes, owner: str, *, append: bool = False) -> bool:
        """Writes a file, or adds to its end, and removes the oldest that are too many; False where it has no room.

        A file that was added to is not written whole again.
        """
        path = self._folder / (_mark(owner) + name)
        with self._translate_errors():
            if append:
                with open(path, "ab", opener=partial(os.open, mode=0o600)) as file:
                    file.write(content)
            else:
                write_whole(path, content, is_private=True)
            return (_mark(owner), _stem(name)) not in self._make_room(owner)

    def read_file(self, name: str, owner: str) -> bytes | None:
        """An owner's file; None where there is none that can be read."""
        with suppress(LibraryError, OSError):
            return read_plain_file(self._folder / (_mark(owner) + name), self._max_bytes)
        return None

    def newest(self, pattern: str, owner: str | None, limit: int) -> list[StoredFile]:
        """The newest files whose names match, of an owner or of all (None), the newest last; `*` is any text."""
        found = (
            StoredFile(name, unquote(mark.removesuffix(_OWNED)) or USER, content)
            for mark, name, _ in self._newest_first()
            if (owner is None or mark == _mark(owner))
            and fnmatchcase(name, pattern)
            and (content := self.read_file(mark + name, USER)) is not None
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
        """Mark of the owner, name and size of each file."""
        found = []
        with self._translate_errors(), suppress(FileNotFoundError, NotADirectoryError):
            for entry in os.scandir(self._folder):
                with suppress(FileNotFoundError):  # another process made room
                    facts = entry.stat(follow_symlinks=False)
                    found.append((facts.st_mtime_ns, entry.name, facts.st_size))
        parts = ((name.rpartition(_OWNED), size) for _, name, size in sorted(found, reverse=True))
        return [(mark + sign, name, size) for (mark, sign, name), size in parts]

    def _make_room(self, owner: str) -> list[tuple[str, str]]:
        """Removes what is too much, or too large together: marks of the owners, and what the names begin with."""
        groups = defaultdict[tuple[str, str], dict[Path, int]](dict)
        for mark, name, size in self._newest_first():
            groups[mark, _stem(name)][self._folder / (mark + name)] = size
        oldest_first = [(each, each[0], sum(files.values())) for each, files in reversed(groups.items())]
        gone = choose_surplus(oldest_first, _mark(owner), self._max_files, self._max_bytes)
        for path in (path for each in gone for path in groups[each]):
            path.unlink(missing_ok=True)
        return gone


def _mark(owner: str) -> str:
    return "" if owner == USER else f"{quote(owner.replace(':', '-'), safe='')}{_OWNED}"


def _stem(name: str) -> str:
    return name.lstrip(".").partition(".")[0]  # with what a killed process left of it half written
