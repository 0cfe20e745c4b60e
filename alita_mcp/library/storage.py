"""Storage of all that is not the catalogue: below the home, or in the database of a library that servers share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from alita_mcp.library.bounded_files import BoundedFiles
from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

LOCK = "library.lock"


@dataclass(frozen=True)
class Storage:
    """Where a process stores what outlives it."""

    home: Path
    database: Database | None = None
    """The database of a shared library; None where everything is in the home."""

    def files(self, kind: str, max_files: int, max_bytes: int) -> BoundedFiles:
        """The files of one kind, which is the name of their folder in the home; nothing is read or made."""
        return BoundedFolder(self.home / kind, max_files, max_bytes, self.home / LOCK)


@contextmanager
def open_storage(settings: Settings) -> Iterator[Storage]:
    """The storage that the settings name; connections are closed with it."""
    yield Storage(settings.home)
