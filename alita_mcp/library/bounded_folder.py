"""Folder of files with owners, of which the newest are kept, bounded in number and bytes; the user's alone to read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from alita_mcp.owners import USER, choose_surplus

_OWNED = "~"
"""Ends the mark of the owner in the names of files that are not the user's."""


class BoundedFolder:
    """Files by owner and name, written whole; several processes may share them."""

    def __init__(self, folder: Path, max_files: int, max_bytes: int) -> None:
        self.folder = folder
        self._max_files = max_files
        self._max_bytes = max_bytes

    def write_file(self, name: str, content: bytes, owner: str) -> bool:
        """Writes a file and removes the oldest ones that are too many; False where it has no room itself.

        Raises:
            OSError: the disk refuses.
        """
        name = _mark(owner) + name
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self.folder / f"{secrets.token_hex(8)}.part"
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            unfinished.replace(self.folder / name)
        finally:
            unfinished.unlink(missing_ok=True)
        return name not in self._make_room(owner)

    def find(self, name: str, owner: str) -> Path | None:
        """The place of an owner's file; None where there is none, or a link in its place."""
        place = self.folder / (_mark(owner) + name)
        return place if not place.is_symlink() and place.is_file() else None

    def newest(self, pattern: str, limit: int, owner: str) -> list[Path]:
        """The newest files of an owner whose names match, the newest last."""
        mark = _mark(owner)
        own = (name.removeprefix(mark) for name, whose, _ in self._newest_first() if whose == mark)
        matching = (name for name in own if fnmatchcase(name, pattern))
        found = [place for name in islice(matching, limit) if (place := self.find(name, owner))]
        return found[::-1]

    def _newest_first(self) -> list[tuple[str, str, int]]:
        """Names on the disk, marks of the owners, and sizes of all files."""
        found = []
        try:
            for entry in os.scandir(self.folder):
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
            (self.folder / name).unlink(missing_ok=True)
        return gone


def _mark(owner: str) -> str:
    return "" if owner == USER else f"{owner.replace(':', '-')}{_OWNED}"
