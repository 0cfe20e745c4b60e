"""Records of environment use: one file for each environment, and one for each process that uses it.

On the host, because labels of volumes cannot change. A mark protects an environment while the process that made it
lives and renews it; a record outlives the process and says when the environment was last wanted.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.sandbox.packages.lockfile import digest_name
from alita_mcp.values import Value

MARK_SECONDS = 3600.0
"""How long a mark protects without being renewed."""
LOCK_SECONDS = 120.0
_FOLDER = ".uses"
_RECORD = ".json"


class Record(Value):
    """Stored facts about an environment."""

    kind: str
    packages: tuple[str, ...]
    size_bytes: int
    made_at: str
    """ISO 8601, UTC."""


class Use(Value):
    """Use of one environment, as its home records it."""

    digest: str
    record: Record | None
    """None while it is built, and after a build that was killed."""
    last_used: float
    """Seconds since the epoch."""
    in_use: bool
    """Whether a living process holds it."""

    @property
    def size_bytes(self) -> int:
        """Size in bytes; 0 where it is unknown."""
        return self.record.size_bytes if self.record else 0


class Uses:
    """Records of use of one kind of sandbox's environments in one home; several processes write here."""

    def __init__(self, home: Path, kind: str, lock_seconds: float = LOCK_SECONDS) -> None:
        self._lock_seconds = lock_seconds
        self._root = home / "environments" / _FOLDER
        self._folder = self._root / kind
        self._kind = kind
        self._owner = str(ProcessOwner.this_process())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock of the records; for short work only.

        Raises:
            SandboxError: another process holds the lock for too long, or the home cannot be written.
        """
        from filelock import FileLock, Timeout

        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._root / f"{self._kind}.lock", timeout=self._lock_seconds, thread_local=False):
                yield
        except Timeout as late:
            raise SandboxError(
                f"Another process has locked {self._folder} for {self._lock_seconds:g} s."
            ) from late
        except OSError as problem:
            raise SandboxError(f"{self._folder} cannot be locked: {problem}.") from problem

    def home_id(self) -> str:
        """Identifier of this home, unique because engines may be shared; call it under the lock."""
        file = self._root / "id"
        try:
            if known := file.read_text("ascii").strip():
                return known
        except FileNotFoundError:
            pass
        file.write_text(fresh := uuid.uuid4().hex, "ascii")
        return fresh

    def mark(self, digest: str) -> None:
        """Records that this process uses an environment now."""
        self._mark(digest, self._owner).touch()
        if (record := self._record(digest)).exists():
            record.touch()

    def unmark(self, digest: str) -> None:
        """Removes this process's mark."""
        self._mark(digest, self._owner).unlink(missing_ok=True)

    def note(self, digest: str, packages: tuple[str, ...], size_bytes: int) -> None:
        """Records that an environment is complete."""
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        record = Record(kind=self._kind, packages=packages, size_bytes=size_bytes, made_at=made_at)
        self._record(digest).write_text(record.model_dump_json(), "utf-8")

    def is_in_use(self, digest: str) -> bool:
        """Whether a living process marked it within the last `MARK_SECONDS`."""
        return any(_protects(mark) for mark in self._folder.glob(f"{digest_name(digest)}@*"))

    def forget(self, digest: str) -> None:
        """Removes the record and every mark."""
        self._record(digest).unlink(missing_ok=True)
        for mark in self._folder.glob(f"{digest_name(digest)}@*"):
            mark.unlink(missing_ok=True)

    def listed(self) -> tuple[Use, ...]:
        """All environments made or begun in this home; marks of ended processes are removed."""
        files = [file for file in self._folder.glob("*") if file.is_file()]
        names = {file.name.partition("@")[0].removesuffix(_RECORD) for file in files}
        uses = [self._use(digest) for digest in sorted(names)]
        for file in files:
            if (
                "@" in file.name
                and not _protects(file)
                and self._record(file.name.partition("@")[0]).exists()
            ):
                file.unlink(missing_ok=True)
        return tuple(uses)

    def _use(self, digest: str) -> Use:
        files = [
            file
            for file in (self._record(digest), *self._folder.glob(f"{digest_name(digest)}@*"))
            if file.exists()
        ]
        return Use(
            digest=digest,
            record=_read(self._record(digest)),
            last_used=max((_mtime(file) for file in files), default=0.0),
            in_use=self.is_in_use(digest),
        )

    def _record(self, digest: str) -> Path:
        return self._folder / f"{digest_name(digest)}{_RECORD}"

    def _mark(self, digest: str, owner: str) -> Path:
        return self._folder / f"{digest_name(digest)}@{owner}"


def _protects(mark: Path) -> bool:
    owner = ProcessOwner.parse(mark.name.partition("@")[2])
    fresh = time.time() - _mtime(mark) < MARK_SECONDS
    return fresh and owner is not None and not owner.is_gone()


def _mtime(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _read(file: Path) -> Record | None:
    """A record that was cut short is none: its environment is looked at again."""
    try:
        return Record.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
