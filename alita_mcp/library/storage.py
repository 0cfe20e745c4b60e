"""Storage of all that is not the catalogue: below the home, or in the database of a library that servers share."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from alita_mcp.errors import LibraryError
from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.library.bounded_rows import BoundedRows
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

BoundedFiles = BoundedFolder | BoundedRows


@dataclass(frozen=True)
class Storage:
    """Where a process stores what outlives it."""

    home: Path
    database: Database | None = None
    """The database of a shared library; None where everything is in the home."""

    def files(self, kind: str, max_files: int, max_bytes: int) -> BoundedFiles:
        """The files of one kind, which is the name of their folder in the home; nothing is read or made."""
        if self.database is not None:
            return BoundedRows(self.database, kind, max_files, max_bytes)
        return BoundedFolder(self.home / kind, max_files, max_bytes)

    def ensure_secret(self, name: str) -> str:
        """The secret of a name that all servers of a shared library agree on; made where there is none.

        Raises:
            LibraryError: the database cannot be reached, or there is none.
        """
        if self.database is None:
            raise LibraryError(f"{self.home} shares no secrets.", hint="Set ALITA_LIBRARY.")
        insert = "INSERT INTO secret (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET name = secret.name"
        with self.database.transaction() as connection:
            row = connection.execute(
                f"{insert} RETURNING value", (name, secrets.token_urlsafe(32))
            ).fetchone()
        return str(row and row["value"])


@contextmanager
def open_storage(settings: Settings) -> Iterator[Storage]:
    """The storage that the settings name; raises LibraryError or ExtraMissing where its database cannot be used."""
    if not settings.library_url:
        yield Storage(settings.home)
        return
    from alita_mcp.postgres.database import Database
    from alita_mcp.postgres.migrations import migrate

    with closing(Database(settings.library_url)) as database:
        migrate(database)
        yield Storage(settings.home, database)
