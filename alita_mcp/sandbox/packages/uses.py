"""Records of environments and of their use: one file for each environment, one lock file for each process that uses it.

On the host, because labels of volumes cannot change. The time of a record is that of the last use. The system frees
a lock when its process ends, however it ends.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from pydantic import ValidationError

from alita_mcp.errors import SandboxError
from alita_mcp.file_locks import file_lock, is_lock_held, wait_for_lock
from alita_mcp.sandbox.packages.lockfile import digest_name
from alita_mcp.values import Value

if TYPE_CHECKING:
    from filelock import FileLock

LOCK_SECONDS = 120.0
BUILD_SECONDS = 900.0
"""How long the build of the same environment by another process is waited for."""
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


class Bounds(Value):
    """Limits of the stored environments: age in seconds and size in bytes."""

    keep_seconds: float
    max_bytes: int


KEPT = Bounds(keep_seconds=30 * 86_400.0, max_bytes=4 << 30)
"""Thirty days without use, or 4 GiB together."""
NOTHING_KEPT = Bounds(keep_seconds=0.0, max_bytes=0)
"""Drops all unused environments."""


class Collected(Value):
    """Report of a collection."""

    dropped: tuple[Use, ...]
    kept: tuple[Use, ...]


def environments_to_drop(uses: Sequence[Use], bounds: Bounds, now: float) -> tuple[Use, ...]:
    """The environments to drop, least recently used first; never one in use."""
    size = sum(use.size_bytes for use in uses)
    chosen: list[Use] = []
    for use in sorted(uses, key=lambda use: use.last_used):
        expired = now - use.last_used >= bounds.keep_seconds
        if not use.in_use and (expired or size > bounds.max_bytes):
            chosen.append(use)
            size -= use.size_bytes
    return tuple(chosen)


class Uses:
    """Records of one kind of sandbox's environments in one home; several processes write here."""

    def __init__(self, home: Path, kind: str, lock_seconds: float = LOCK_SECONDS) -> None:
        self._lock_seconds = lock_seconds
        self._root = home / "environments" / ".uses"
        self._folder = self._root / kind
        self._kind = kind
        self._locks: dict[str, FileLock] = {}

    def lock_records(self) -> AbstractAsyncContextManager[None]:
        """Holds the lock of the records; for short work only.

        Raises:
            SandboxError: another process holds the lock for too long, or the home cannot be written.
        """
        return self._lock_file(
            self._root / f"{self._kind}.lock", self._lock_seconds, f"has locked {self._folder}"
        )

    def lock_build(self, digest: str) -> AbstractAsyncContextManager[None]:
        """Holds the lock of the build of an environment; errors as `lock_records`."""
        return self._lock_file(self._build_lock(digest), BUILD_SECONDS, f"has been building {digest}")

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

    async def hold(self, digest: str) -> None:
        """Keeps an environment from being dropped until `release` or the end of this process, and notes its use.

        Raises:
            SandboxError: as `lock_records`.
        """
        if digest not in self._locks:
            async with self.lock_records():
                await to_thread.run_sync(self._take, digest)
        with suppress(OSError):  # not recorded yet, or another user's
            os.utime(self._record(digest))

    def release(self, digest: str) -> None:
        """Ends `hold`."""
        if lock := self._locks.pop(digest, None):
            lock.release()
            with suppress(OSError):
                Path(lock.lock_file).unlink()

    def note(self, digest: str, packages: tuple[str, ...], size_bytes: int) -> None:
        """Records that an environment is complete.

        Raises:
            SandboxError: the home cannot be written.
        """
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        record = Record(kind=self._kind, packages=packages, size_bytes=size_bytes, made_at=made_at)
        try:
            self._record(digest).write_text(record.model_dump_json(), "utf-8")
        except OSError as problem:
            raise SandboxError(f"The use of an environment cannot be recorded: {problem}.") from problem

    def idle_seconds(self, digest: str) -> float:
        """Seconds since the last use that was noted."""
        return time.time() - _mtime(self._record(digest))

    def is_in_use(self, digest: str) -> bool:
        """Whether a living process holds it."""
        return any(map(is_lock_held, self._holders(digest)))

    def forget_environment(self, digest: str) -> None:
        """Removes the record and all lock files of an environment that no process holds; call it under the lock."""
        for file in (self._record(digest), *self._holders(digest), self._build_lock(digest)):
            file.unlink(missing_ok=True)

    def list_uses(self) -> tuple[Use, ...]:
        """All environments made or begun in this home."""
        files = [file for file in self._folder.glob("*") if file.is_file()]
        names = {file.name.partition("@")[0].removesuffix(_RECORD) for file in files}
        return tuple(
            Use(
                digest=digest,
                record=_read(self._record(digest)),
                last_used=max(map(_mtime, (self._record(digest), *self._holders(digest)))),
                in_use=self.is_in_use(digest),
            )
            for digest in sorted(names)
        )

    @asynccontextmanager
    async def _lock_file(self, file: Path, seconds: float, what: str) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                for folder in (self._folder, file.parent):
                    folder.mkdir(parents=True, exist_ok=True)
                await stack.enter_async_context(wait_for_lock(file, seconds))
            except TimeoutError as late:
                raise SandboxError(f"Another process {what} for {seconds:g} s.") from late
            except OSError as problem:
                raise SandboxError(f"{self._folder} cannot be locked: {problem}.") from problem
            yield

    def _take(self, digest: str) -> None:
        """Holds a lock file of its own, and removes those of processes that ended."""
        for other in self._holders(digest):
            with suppress(OSError):  # on Windows it stays while another process looks at it
                if not is_lock_held(other):
                    other.unlink()
        if digest not in self._locks:
            self._locks[digest] = file_lock(self._folder / f"{digest_name(digest)}@{uuid.uuid4().hex}")
            self._locks[digest].acquire()

    def _build_lock(self, digest: str) -> Path:
        return self._root / "building" / digest_name(digest)

    def _record(self, digest: str) -> Path:
        return self._folder / f"{digest_name(digest)}{_RECORD}"

    def _holders(self, digest: str) -> list[Path]:
        return list(self._folder.glob(f"{digest_name(digest)}@*"))


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
