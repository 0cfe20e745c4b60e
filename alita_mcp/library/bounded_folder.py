"""Folder of files of which the newest are kept, bounded in number and bytes; only its owner may read it."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path


class BoundedFolder:
    """Files by name, written whole; several processes may share them."""

    def __init__(self, folder: Path, max_files: int, max_bytes: int) -> None:
        self.folder = folder
        self._max_files = max_files
        self._max_bytes = max_bytes

    def write_file(self, name: str, content: bytes) -> None:
        """Writes a file and removes the oldest ones that are too many.

        Raises:
            OSError: the disk refuses.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self.folder / f"{secrets.token_hex(8)}.part"
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            unfinished.replace(self.folder / name)
        finally:
            unfinished.unlink(missing_ok=True)
        self._make_room()

    def find(self, name: str) -> Path | None:
        """The place of a file; None where there is none, or a link in its place."""
        place = self.folder / name
        return place if not place.is_symlink() and place.is_file() else None

    def newest(self, pattern: str, limit: int) -> list[Path]:
        """The newest files whose names match, the newest last."""
        matching = (name for name, _ in self._newest_first() if fnmatchcase(name, pattern))
        found = [place for name in islice(matching, limit) if (place := self.find(name))]
        return found[::-1]

    def _newest_first(self) -> list[tuple[str, int]]:
        """Names and sizes of all files."""
        found = []
        try:
            for entry in os.scandir(self.folder):
                with suppress(FileNotFoundError):  # another process made room
                    facts = entry.stat(follow_symlinks=False)
                    found.append((facts.st_mtime_ns, entry.name, facts.st_size))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [(name, size) for _, name, size in sorted(found, reverse=True)]

    def _make_room(self) -> None:
        room = self._max_bytes
        for number, (name, size) in enumerate(self._newest_first()):
            room -= size
            if number >= self._max_files or room < 0:
                (self.folder / name).unlink(missing_ok=True)
