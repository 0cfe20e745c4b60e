"""Folder of files of which the newest are kept, bounded in number and bytes; only its owner may read it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


class BoundedFolder:
    """Files by name, written whole; several processes may share them."""

    def __init__(self, folder: Path, max_files: int, max_bytes: int) -> None:
        self.folder = folder
        self._max_files = max_files
        self._max_bytes = max_bytes

    def write(self, name: str, content: bytes) -> None:
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

    def _make_room(self) -> None:
        found = []
        for entry in os.scandir(self.folder):
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process made room
                continue
            found.append((facts.st_mtime_ns, entry.name, facts.st_size))
        room = self._max_bytes
        for number, (_, name, size) in enumerate(sorted(found, reverse=True)):
            room -= size
            if number >= self._max_files or room < 0:
                (self.folder / name).unlink(missing_ok=True)
