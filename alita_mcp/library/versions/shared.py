"""Store of a library that several servers share: files lie in PostgreSQL by their seals, and copies in the home."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from alita_mcp.errors import AlitaError
from alita_mcp.library.catalogue.shared import SharedCatalogue
from alita_mcp.library.disk import OnStep, no_step
from alita_mcp.library.rows import Claim
from alita_mcp.library.versions.files import VERSION_FILES, Folder, seal_of
from alita_mcp.library.versions.store import Store
from alita_mcp.owners import UNKNOWN_MAKER, Maker
from alita_mcp.postgres.database import Connection, Database
from alita_mcp.values import Manifest


class SharedStore(Store):
    """Versions in PostgreSQL; what lies in the home is a copy, made again whenever it is missing or changed."""

    catalogue: SharedCatalogue

    def __init__(
        self, home: Path, starters: Path | None, database: Database, on_step: OnStep = no_step
    ) -> None:
        """As `Store`; goes on with what is known here while the library is away, and raises where nothing is."""
        self.database = database
        try:
            super().__init__(home, starters, on_step)
        except BaseException:
            self.database.close()
            raise

    def _open_catalogue(self, path: Path) -> SharedCatalogue:
        return SharedCatalogue(path, self.database, self._on_step)

    def close(self) -> None:
        """Closes the library, and before it the database, whose listener takes in what it hears."""
        self.database.close()
        super().close()

    def _take_in(self) -> None:
        """Takes in what the library has; what lies beside a mirror says no more."""
        self.catalogue.catch_up()

    def _install(self, starters: Path | None) -> None:
        """Fills an empty library in one transaction; of the servers that want to, one does."""
        if starters is not None and not self.catalogue.journal(1, "starter tools installed"):
            with self.catalogue.hold():
                super()._install(starters)

    def keep_decisions(self) -> None:
        """Nothing: they are in PostgreSQL."""

    def _replace(self, name: str, version: int, files: Folder, digest: str, made_by: Maker) -> Manifest:
        return self._place(name, version, files, "raised", made_by, digest)

    def _place(
        self,
        name: str,
        version: int,
        files: Folder,
        event: str,
        made_by: Maker = UNKNOWN_MAKER,
        digest: str | None = None,
    ) -> Manifest:
        """One transaction with row and files; then the copy."""
        with self.catalogue.hold() as connection:
            self.catalogue.claim(Claim(name=name, version=version, owner=self._owner.name), digest)
            self._on_step("claimed")
            put_files(connection, seal_of(files), files)
            manifest = self._enter(name, version, files, event, made_by)
        with suppress(AlitaError):  # whoever reads the version makes it where this fails
            self.read_version(name, version)
        return manifest

    def _restore(self, name: str, version: int) -> str:
        """Makes the copy of a version that is missing or changed anew."""
        with self.database.transaction() as connection:
            seal, found = read_files(connection, name, version)
        self.files.discard(name, version)
        self.files.store(name, version, {file: found[file] for file in VERSION_FILES if file in found})
        return seal


def put_files(connection: Connection, seal: str, files: Folder) -> None:
    """Stores the files of a version by its seal."""
    connection.cursor().executemany(
        "INSERT INTO file (seal, name, content) VALUES (%s, %s, %s)"
        " ON CONFLICT (seal, name) DO UPDATE SET content = excluded.content",
        [(seal, name, content) for name, content in files.items()],
    )


def read_files(connection: Connection, name: str, version: int) -> tuple[str, dict[str, bytes]]:
    """The seal of a version and its files, as they are; empty where there is none."""
    rows = connection.execute(
        "SELECT v.seal, f.name, f.content FROM version v LEFT JOIN file f USING (seal)"
        " WHERE (v.name, v.version) = (%s, %s)",
        (name, version),
    ).fetchall()
    return rows[0]["seal"] if rows else "", {row["name"]: row["content"] for row in rows}
