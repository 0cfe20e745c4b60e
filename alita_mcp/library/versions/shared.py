"""Store of a library that several servers share: files lie in PostgreSQL by their digests, and copies in the home."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from alita_mcp.errors import AlitaError, LibraryError, ToolQuarantined
from alita_mcp.library.catalogue.shared import Blob, SharedCatalogue
from alita_mcp.library.disk import OnStep, no_step, refuse_large
from alita_mcp.library.rows import Claim
from alita_mcp.library.versions.files import Folder, read_version_folder, seal_of, unpack, versions_under
from alita_mcp.library.versions.store import Store
from alita_mcp.owners import UNKNOWN_MAKER, Maker
from alita_mcp.postgres.database import Database
from alita_mcp.values import Manifest, StoredVersion

AT_ONCE = 100
"""So many tools that other servers changed together are copied before somebody asks for them."""

_log = logging.getLogger(__name__)


def version_blobs(files: Folder) -> list[Blob]:
    """The files of a version as PostgreSQL has them; its manifest knows the digests of the others."""
    digests: dict[str, str] = json.loads(files["manifest.json"])["files"]
    blobs: list[Blob] = [(digest, files[file], []) for file, digest in digests.items()]
    return [*blobs, (seal_of(files), files["manifest.json"], sorted(digests.values()))]


class SharedStore(Store):
    """Versions in PostgreSQL; what lies in the home is a copy, made again whenever it is missing or changed."""

    catalogue: SharedCatalogue

    def __init__(
        self, home: Path, starters: Path | None, database: Database, on_step: OnStep = no_step
    ) -> None:
        """Opens the library, fills an empty one with the starter tools; goes on with what is known while it is away.

        Raises:
            LibraryError: as `Store`; or the library cannot be reached and nothing is known of it here, or it is not
                the one that `home` has a copy of.
        """
        self._database = database
        self._caching = threading.Lock()
        super().__init__(home, starters, on_step)

    def _open_catalogue(self, path: Path) -> SharedCatalogue:
        return SharedCatalogue(path, self._database, self._on_step)

    def _take_in(self) -> None:
        """Notes when the library was made; nothing beside a mirror says more than the library does."""
        if not self.catalogue.journal(1, "created"):
            with self.catalogue.hold():
                if not self.catalogue.journal(1, "created"):
                    self.catalogue.record("created", None, None, {})

    def _purge_tombstones(self) -> None:
        try:
            super()._purge_tombstones()
        except LibraryError as away:
            _log.warning("%s Tools that were deleted long ago stay until the next start.", away)

    def _install(self, starters: Path | None) -> None:
        """Fills an empty library in one transaction; of the servers that want to, one does."""
        if starters is not None and not self.catalogue.journal(1, "starter tools installed"):
            with self.catalogue.hold():
                super()._install(starters)

    def keep_decisions(self) -> None:
        """Nothing: they are in PostgreSQL."""

    def catch_up(self) -> None:
        """Takes in what other servers committed up to now, where the library can be reached."""
        self.catalogue.try_to_pull()

    def call_on_changes(self, callback: Callable[[], None]) -> None:
        """Calls back in another thread after taking in what another server committed, and then copies the files."""

        def take_over(names: Sequence[str]) -> None:
            callback()
            for name in names[:AT_ONCE]:
                with suppress(AlitaError):  # a call says what is wrong
                    entry = self.reader.entry(name)
                    if entry is not None:
                        self.read_version(name, entry.manifest.version)

        self.catalogue.follow(take_over)

    def set_strangers_aside(self) -> None:
        """Drops copies of versions that the library does not have."""
        known = self.catalogue.list_known_versions()
        for name, version in versions_under(self.files.root):
            if (name, version) not in known:
                self.files.discard(name, version)

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
        """One transaction with row and files; then the copy, which whoever reads the version makes where this fails."""
        refuse_large(files)
        with self.catalogue.hold():
            self.catalogue.claim(Claim(name=name, version=version, owner=self._owner.name), digest)
            self._on_step("claimed")
            self.catalogue.keep_files(version_blobs(files))
            manifest = self._enter(name, version, files, event, made_by)
        self._cache(name, version, files)
        return manifest

    def _cache(self, name: str, version: int, files: Folder) -> None:
        place = self.files.folder(name, version)
        with self._caching:
            try:
                if place.is_dir():
                    with suppress(ToolQuarantined):  # what somebody changed is set aside, not lost
                        found = read_version_folder(place, name, version)
                        unpack(found, name, version)
                        if found == files:  # another thread was faster
                            return
                        self.files.discard(name, version)
                self.files.store(name, version, files)
            except (AlitaError, OSError) as failure:
                _log.warning("%s v%d is read from PostgreSQL each time: %s", name, version, failure)

    def _look_again(self, name: str, version: int, seal: str) -> StoredVersion:
        """A version whose copy is missing or changed, from PostgreSQL; what is damaged there, too, is quarantined."""
        try:
            files = self._fetch(seal)
        except LibraryError as away:
            message = f"{name} v{version} was not fetched by this server yet. {away.message}"
            raise LibraryError(message, hint="Try again later.") from away
        try:
            stored = unpack(files, name, version, seal)
        except ToolQuarantined as damaged:
            self.catalogue.pull()
            row = self.reader.version_row(name, version)
            if row is None or row.seal != seal:  # another server replaced the version just now
                return self.read_version(name, version)
            reason = f"in the library at {self._database.name}, {damaged.message.partition(': ')[2].removesuffix('.')}"
            _log.warning("%s v%d is quarantined: %s.", name, version, reason)
            self.catalogue.change("quarantined", name, version, reason=reason)
            raise
        self._cache(name, version, files)
        return stored

    def _fetch(self, seal: str) -> dict[str, bytes]:
        blobs = self.catalogue.fetch_files(seal)
        files = {"manifest.json": blobs[seal]} if seal in blobs else {}
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # `unpack` says what is wrong
            digests = json.loads(files["manifest.json"])["files"].items()
            files |= {file: blobs[digest] for file, digest in digests if digest in blobs}
        return files
