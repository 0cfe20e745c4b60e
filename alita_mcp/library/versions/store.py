"""Store of versions: changes files and catalogue together, in an order that a crash at any point leaves whole.

All of it blocks; `library.Library` calls it in worker threads.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from alita_mcp.errors import (
    AlitaError,
    LibraryError,
    NameTaken,
    ToolNotFound,
    ToolQuarantined,
    ToolUnavailable,
)
from alita_mcp.file_locks import Owner, hold_lock
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.reader import CatalogueReader
from alita_mcp.library.decisions import read_home_number, refuse_link, write_decisions, write_home_number
from alita_mcp.library.disk import OnStep, no_step, write_folder
from alita_mcp.library.grants.effective_grants import EffectiveGrants
from alita_mcp.library.grants.exposure import refuse_exposed_home
from alita_mcp.library.rows import Approval, Claim
from alita_mcp.library.trust.trust import unproven
from alita_mcp.library.versions.files import (
    Folder,
    ToolFiles,
    UnknownManifest,
    pack,
    quarantine_error,
    read_version_folder,
    seal_of,
    unpack,
    versions_under,
)
from alita_mcp.library.versions.rebuilding import look_through, report_rebuilding
from alita_mcp.library.versions.replacing import exchange, put_right, refuse_other_or_less
from alita_mcp.machine import unusable
from alita_mcp.owners import UNKNOWN_MAKER, Maker
from alita_mcp.values import AcceptedVersion, Manifest, StoredVersion

TOMBSTONE_DAYS = 30
CLAIM_TIMEOUT_S = 30.0
"""How long a publisher waits for another one of the same name, to see whether it succeeds."""
OWN_PLACES = (
    "library.sqlite3", "library.sqlite3-wal", "library.sqlite3-shm", "library.lock", "owners",
    "generated_tools", "set-aside",
)  # fmt: skip
"""What opening writes to below a home; none of it may be a link."""
OPEN_TIMEOUT_S = 60.0
"""How long opening waits for another process that is opening the same library."""

_log = logging.getLogger(__name__)


class Store:
    """Versions on disk and their catalogue, changed together."""

    def __init__(self, home: Path, starters: Path | None, on_step: OnStep = no_step) -> None:
        """Opens the library in `home`, makes it when there is none, and clears up after processes that died.

        Raises:
            LibraryError: `home` or the catalogue cannot be used, or others may write it; nothing was deleted.
        """
        self.effective_grants = EffectiveGrants(self._approval)
        self.home = home
        self._lock = home / "library.lock"
        self._on_step = on_step
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            refuse_exposed_home(home)
            for name in OWN_PLACES:
                refuse_link(home / name)
                if (home / name).exists() and not os.access(home / name, os.R_OK):
                    raise unusable(home / name, PermissionError(errno.EACCES, "Permission denied"))
            read_home_number(home)  # a newer home is left as it is
            (home / "generated_tools").mkdir(exist_ok=True)
            with hold_lock(self._lock, OPEN_TIMEOUT_S):
                self._owner = Owner(home / "owners")
                try:
                    self._open(starters)
                except BaseException:
                    self._owner.close()
                    raise
        except OSError as error:
            raise unusable(home, error) from error

    def _open(self, starters: Path | None) -> None:
        self.files = ToolFiles(self.home, self._owner.name, self._on_step)
        self.catalogue = self._open_catalogue(self.home / "library.sqlite3")
        self.reader = CatalogueReader(self.catalogue.path, self.effective_grants.with_approval)
        try:
            self._take_in()
            self._sweep()
            # the index of words that version 0.1.0 kept beside the catalogue
            shutil.rmtree(self.home / "index.lance", ignore_errors=True)
            with suppress(OSError):
                (self.home / "index.lock").unlink()
            try:
                for name, versions in self.catalogue.list_tombstones_before(_tombstone_limit()):
                    for version in versions:
                        self.files.discard(name, version)
                    self.catalogue.purge(name)
            except LibraryError as failure:
                _log.warning("%s Tools that were deleted long ago stay until the next start.", failure)
            self._install(starters)
            self.keep_decisions()
        except BaseException:
            self.reader.close()
            self.catalogue.close()
            raise

    def _open_catalogue(self, path: Path) -> Catalogue:
        return Catalogue(path, self._on_step)

    def close(self) -> None:
        """Closes the library."""
        self.catalogue.close()
        self.reader.close()
        self._owner.close()

    def publish(self, accepted: AcceptedVersion, expected: int) -> Manifest:
        """Gives a tool an accepted version; it becomes the current one where `Catalogue.publish` says so.

        One that asks for what was not granted waits: it is kept, and the current version stays.

        Raises:
            NameTaken: the newest version is not `expected` (0: there is none), or another publisher was faster.
            ToolUnavailable: the tool is deleted.
            LibraryError: it was not accepted, cannot be kept, or the disk refuses.
        """
        name = accepted.draft.name
        if accepted.report.trust == "rejected":
            raise LibraryError(
                f"{name!r} was rejected by its gates and is not published.", hint="Mend it first."
            )
        files = pack(accepted, expected + 1)
        manifest = self._place(name, expected + 1, files, "published", accepted.made_by)
        self.keep_decisions()
        return manifest

    def raise_trust(self, accepted: AcceptedVersion, known: StoredVersion) -> Manifest:
        """Gives a published version other examples and the report of them; all else of it stays as it is.

        Raises:
            NameTaken: somebody else changed the version meanwhile.
            ToolUnavailable: the tool is deleted.
            LibraryError: it is another tool, or less is proved than before; or the disk refuses. Nothing changed.
        """
        name, version = known.manifest.name, known.manifest.version
        files = pack(accepted, version, known.manifest.created_at)
        refuse_other_or_less(unpack(files, name, version), known)
        manifest = self._replace(name, version, files, known.manifest.digest, accepted.made_by)
        self.keep_decisions()
        return manifest

    def _replace(self, name: str, version: int, files: Folder, digest: str, made_by: Maker) -> Manifest:
        """Puts other files in the place of a published version of that digest; all or nothing."""
        claim = Claim(name=name, version=version, owner=self._owner.name)
        self._claim(claim, digest)
        new, old = aside = self.files.aside(), self.files.aside()
        try:
            self._on_step("claimed")
            write_folder(new, files, self._on_step)
            with hold_lock(self._lock, OPEN_TIMEOUT_S):
                exchange(self.files, name, version, new, old, self._on_step)
                manifest = self._enter(name, version, files, "raised", made_by)
                self._on_step("committed")
        except BaseException:
            with hold_lock(self._lock, OPEN_TIMEOUT_S):
                self._abandon(claim)
            _remove(aside)
            raise
        _remove(aside)
        return manifest

    def read_version(self, name: str, version: int) -> StoredVersion:
        """A published version, proved unchanged.

        Raises:
            ToolNotFound: there is no such version.
            ToolQuarantined: it is not what was verified, now or when it was last looked at.
            LibraryError: the disk refuses.
        """
        row = self.reader.version_row(name, version)
        if row is None:
            raise ToolNotFound(
                f"There is no {name} v{version}.", hint="inspect_tool names the versions there are."
            )
        if row.quarantined is not None:
            raise quarantine_error(name, version, row.quarantined)
        return self._check(name, version, row.seal)

    def enable(self, name: str, version: int) -> None:
        """Brings a disabled, deleted or quarantined tool back, once its current version is proved unchanged.

        Raises:
            ToolQuarantined: it is not what was verified.
            ToolUnavailable: it was deleted too long ago.
        """
        row = self.reader.version_row(name, version)
        if row is None or name in {
            gone for gone, _ in self.catalogue.list_tombstones_before(_tombstone_limit())
        }:
            raise ToolUnavailable(
                f"{name} was deleted more than {TOMBSTONE_DAYS} days ago.", hint="Synthesize it."
            )
        self._check(name, version, row.seal)
        self.change("enabled", name, version)

    def change(self, event: str, name: str, version: int | None = None, **detail: Any) -> bool:
        """Carries out one of `CHANGES`, keeps what it decides beside the tool; False when it changed nothing."""
        changed = self.catalogue.change(event, name, version, **detail)
        self._on_step("decided")
        self.keep_decisions()
        return changed

    def keep_decisions(self) -> None:
        """Writes beside the tools what people decided since it was written last.

        It is in the catalogue by now, so what the disk refuses here waits for the next change or opening.
        """
        try:
            kept = read_home_number(self.home)
            with self.catalogue.hold_decisions(-1 if kept is None else kept) as found:
                last = self.reader.changes().standing
                if kept == last:
                    return
                for decisions in found:
                    if write_decisions(self.files.root, decisions):
                        self._on_step("decisions kept")
                write_home_number(self.home, last)
            self._on_step("home recorded")
        except (OSError, LibraryError, ValueError) as failure:  # the last of a damaged row
            _log.warning("What people decided is not yet kept beside the tools: %s", failure)

    def _check(self, name: str, version: int, seal: str) -> StoredVersion:
        try:
            stored = self.files.read_version(name, version, seal)
        except ToolQuarantined:
            stored = self._look_again(name, version, seal)
        return stored if self.reader.evidence(name, version) else unproven(stored)

    def _look_again(self, name: str, version: int, seal: str) -> StoredVersion:
        """Whether a version is damaged: looked at while no process can be replacing it."""
        with hold_lock(self._lock, OPEN_TIMEOUT_S):
            try:
                return self.files.read_version(name, version, self._restore(name, version) or seal)
            except ToolQuarantined as damaged:
                reason = damaged.message.partition(": ")[2].removesuffix(".")
                self.catalogue.change("quarantined", name, version, reason=reason)
                raise

    def _restore(self, name: str, version: int) -> str:
        """Puts the folder of a version in place, where a publisher was about to or died at it; returns its seal."""
        for claim in self.catalogue.claims():
            if (claim.name, claim.version) == (name, version):
                self._put_right(claim)
        row = self.reader.version_row(name, version)
        return row.seal if row else ""

    def _put_right(self, claim: Claim) -> None:
        """Leaves that folder in a claimed version's place which the catalogue stands for, if any."""
        row = self.reader.version_row(claim.name, claim.version)
        if row is not None:
            put_right(self.files, claim.owner, claim.name, claim.version, row.seal)

    def _claim(self, claim: Claim, digest: str | None = None) -> None:
        """Takes a name for publishing, after the one that holds it is done, or cleared away if it died."""
        deadline = time.monotonic() + CLAIM_TIMEOUT_S
        while not self.catalogue.claim(claim, digest):
            if time.monotonic() > deadline:
                raise NameTaken(
                    f"{claim.name} is being published by somebody else.", hint="Search again later."
                )
            others = [other for other in self.catalogue.claims() if other.name == claim.name]
            if all(map(self._lives, others)):
                time.sleep(0.02)
            else:
                with hold_lock(self._lock, OPEN_TIMEOUT_S):
                    self._sweep()

    def _approval(self, name: str, digest: str) -> Approval | None:
        return self.reader.approval(name, digest)

    def _lives(self, claim: Claim) -> bool:
        return self._owner.is_alive(claim.owner)

    def _abandon(self, claim: Claim) -> None:
        """Removes what an unfinished publishing left, if it did not finish after all."""
        name, version = claim.name, claim.version
        if self.reader.version_row(name, version) is None:
            # What is no version, or a newer alita's, was there before.
            with suppress(ToolUnavailable, LibraryError):
                unpack(read_version_folder(self.files.folder(name, version), name, version), name, version)
                self.files.discard(name, version)
        self._put_right(claim)
        self.catalogue.release(claim)

    def _sweep(self) -> None:
        """Clears up after the dead; call it under the library's lock."""
        for claim in self.catalogue.claims():
            if not self._lives(claim):
                self._abandon(claim)
                self.catalogue.record("swept", claim.name, claim.version, {"reason": "its publisher died"})
        dead = self._owner.dead_owners()
        if dead:
            self.files.sweep_staging(self._owner.is_alive)
        for owner in dead:
            self._owner.remove_owner(owner)

    def set_strangers_aside(self) -> None:
        """Moves unpublished version folders away; looks at every folder there is."""
        known = self.catalogue.list_known_versions()
        for name, version in versions_under(self.files.root):
            if (name, version) in known:
                continue
            try:
                refuge = self.files.set_aside(name, version)
                self.catalogue.record("set aside", name, version, {"folder": str(refuge)})
            except UnknownManifest as unknown:
                _log.warning("%s", unknown)

    def _take_in(self) -> None:
        """Enters what a new, lost or older catalogue does not know: versions, unproven, and what people decided."""
        # 1. The catalogue was just made: the home is new, or the catalogue is lost.
        # 2. It is older than what lies beside the tools: somebody brought back a copy, or its log is lost.
        # 3. It is as new, as after every end of a process, however it died.
        kept, last = read_home_number(self.home), self.reader.changes().standing
        is_new = not self.catalogue.journal(1, "created")
        if kept is None and not is_new:  # the home's record is lost, too
            beside = look_through(self.files.root, self.catalogue.list_known_versions(), -1).decisions
            kept = max((each.number for each in beside), default=0)
        if not is_new and (kept or 0) <= last:
            return
        for claim in self.catalogue.claims():
            if not self._lives(claim):  # in a copy: what it names may be published by now
                self.catalogue.release(claim)
        known = self.catalogue.list_known_versions()
        found = look_through(self.files.root, known, -1 if is_new else last)
        newest = max([kept or 0, *(each.number for each in found.decisions)])
        report = report_rebuilding(found, is_new=is_new)
        self.catalogue.take_in(found.versions, found.decisions, newest, report)
        if report:
            _log.warning("%s", report)

    def _install(self, starters: Path | None) -> None:
        """Fills an empty library; goes on where a process that died half-way stopped."""
        if starters is None or self.catalogue.journal(1, "starter tools installed"):
            return
        if self.catalogue.has_tools_besides("starter installed"):
            return
        known = self.catalogue.list_known_versions()
        for name, version in versions_under(starters):
            if (name, version) not in known:
                with self._refusal_journalled(name, version):
                    self._place(name, version, _read_proved(starters, name, version), "starter installed")
        self.catalogue.record("starter tools installed", None, None, {})

    def _place(
        self, name: str, version: int, files: Folder, event: str, made_by: Maker = UNKNOWN_MAKER
    ) -> Manifest:
        """Claims a version, puts its files in place and makes it the current one; all or nothing."""
        claim = Claim(name=name, version=version, owner=self._owner.name)
        self._claim(claim)
        try:
            self._on_step("claimed")
            self.files.store(name, version, files)
            manifest = self._enter(name, version, files, event, made_by)
            self._on_step("committed")
        except BaseException:
            self._abandon(claim)
            raise
        return manifest

    def _enter(
        self, name: str, version: int, files: Folder, event: str, made_by: Maker = UNKNOWN_MAKER
    ) -> Manifest:
        stored = unpack(files, name, version)
        granted = self.effective_grants.of(stored.manifest) is not None
        version_row = (stored.manifest, seal_of(files), stored.report.sandbox)
        self.catalogue.publish(version_row, event=event, takes_over=granted, made_by=made_by)
        return stored.manifest

    @contextmanager
    def _refusal_journalled(self, name: str, version: int) -> Iterator[None]:
        try:
            yield
        except AlitaError as refused:
            self.catalogue.record("refused", name, version, {"reason": str(refused)})


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _read_proved(root: Path, name: str, version: int) -> Folder:
    files = read_version_folder(root / name / f"v{version}", name, version)
    unpack(files, name, version)
    return files


def _tombstone_limit() -> str:
    return (datetime.now(UTC) - timedelta(days=TOMBSTONE_DAYS)).isoformat(timespec="microseconds")
