"""Store of a library that several servers share: files lie in PostgreSQL by their seals, and copies in the home."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from alita_mcp.errors import AlitaError
from alita_mcp.library.catalogue.shared import SharedCatalogue, put_files
from alita_mcp.library.disk import OnStep, no_step, refuse_large
from alita_mcp.library.rows import Claim
from alita_mcp.library.versions.files import VERSION_FILES, Folder, seal_of
from alita_mcp.library.versions.store import Store
from alita_mcp.owners import UNKNOWN_MAKER, Maker
from alita_mcp.postgres.database import Database
from alita_mcp.values import Manifest


class SharedStore(Store):
    """Versions in PostgreSQL; what lies in the home is a copy, made again whenever it is missing or changed."""

    catalogue: SharedCatalogue

    def __init__(
        self, home: Path, starters: Path | None, database: Database, on_step: OnStep = no_step
    ) -> None:
        """Opens the library, fills an empty one with the starter tools; goes on with what is known while it is away.

        Raises:
            LibraryError: as `Store`; or the library cannot be reached and nothing is known of it here.
        """
        self._database = database
        super().__init__(home, starters, on_step)

    def _open_catalogue(self, path: Path) -> SharedCatalogue:
        return SharedCatalogue(path, self._database, self._on_step)

    def _take_in(self) -> None:
        """Takes in what the library has; what lies beside a mirror says no more."""
        if self.catalogue.journal(1, "created"):
            self.catalogue.catch_up()
        else:
            self.catalogue.pull()

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
        refuse_large(files)
        with self.catalogue.hold() as connection:
            self.catalogue.claim(Claim(name=name, version=version, owner=self._owner.name), digest)
            self._on_step("claimed")
            put_files(connection, seal_of(files), files)
            manifest = self._enter(name, version, files, event, made_by)
        with suppress(AlitaError):  # whoever reads the version makes it where this fails
            self.read_version(name, version)
        return manifest

    def _restore(self, name: str, version: int) -> None:
        """Makes the copy of a version that is missing or changed anew."""
        self.catalogue.pull()
        row = self.reader.version_row(name, version)
        if row is not None:
            found = self.catalogue.fetch_files(row.seal)
            self.files.discard(name, version)
            self.files.store(name, version, {file: found[file] for file in VERSION_FILES if file in found})
