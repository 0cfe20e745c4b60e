"""Storage of all that is not the catalogue: below the home, or in the database of a library that servers share."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from alita_mcp.file_locks import Owner, hold_lock, is_lock_held
from alita_mcp.library.bounded_folder import LOCK_TIMEOUT_S, BoundedFolder
from alita_mcp.library.bounded_rows import BoundedRows
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

BoundedFiles = BoundedFolder | BoundedRows
OWNERS = "owners"


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

    @cached_property
    def _owner(self) -> Owner:
        with hold_lock(self.home / "library.lock", LOCK_TIMEOUT_S):  # so that none removes it meanwhile
            return Owner(self.home / OWNERS)

    @property
    def server(self) -> str:
        """The name of this process, by which others see that it lives."""
        return self._owner.name if self.database is None else self.database.server

    def is_alive(self, server: str) -> bool:
        """Whether a process of that name lives; one whose connections broke with the database is given ten seconds.

        Raises:
            LibraryError: the database cannot be reached.
        """
        if self.database is None:
            return is_lock_held(self.home / OWNERS / f"{server}.lock")
        with self.database.transaction() as connection:
            found = connection.execute(
                """
                SELECT FROM pg_stat_activity
                WHERE application_name = %s OR pg_postmaster_start_time() > now() - interval '10 s'
                """,
                (server,),
            ).fetchone()
        return found is not None

    def ensure_secret(self, name: str) -> str:
        """The secret of a name that all servers of a shared library agree on, made where there is none; else empty.

        Raises:
            LibraryError: the database cannot be reached.
        """
        if self.database is None:
            return ""
        insert = "INSERT INTO secret (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET name = secret.name"
        with self.database.transaction() as connection:
            row = connection.execute(
                f"{insert} RETURNING value", (name, secrets.token_urlsafe(32))
            ).fetchone()
        return str(row and row["value"])


def find_storage(settings: Settings) -> Storage:
    """The storage that the settings name; nothing is connected to. Raises ExtraMissing without the extra `team`."""
    if not settings.library_url:
        return Storage(settings.home)
    from alita_mcp.postgres.database import Database

    return Storage(settings.home, Database(settings.library_url))


@contextmanager
def open_storage(settings: Settings) -> Iterator[Storage]:
    """The storage that the settings name, closed in the end; raises as `find_storage`."""
    storage = find_storage(settings)
    if storage.database is None:
        yield storage
        return
    with closing(storage.database):
        yield storage
