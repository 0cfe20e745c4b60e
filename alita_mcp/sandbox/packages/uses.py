"""Records of environments and of their last use, one file for each environment of a home.

On the host, because labels of volumes cannot change. The time of a record is that of the last use.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from pydantic import ConfigDict, ValidationError

from alita_mcp.errors import LibraryError, SandboxError
from alita_mcp.file_locks import is_lock_held, wait_for_lock
from alita_mcp.values import Value

IN_USE_SECONDS = 900.0
"""What was used so recently is in use: each process notes more often what its workers have open."""
KEEP_SECONDS = 30 * 86_400.0
"""So long an environment is kept without use."""
MAX_BYTES = 4 << 30
"""So large all of them may be together."""
LOCK_SECONDS = 900.0
"""How long the build of the same environment by another process is waited for."""


class Record(Value):
    """Stored facts about a complete environment; earlier versions stored more."""

    model_config = ConfigDict(extra="ignore")
    size_bytes: int


class Use(Record):
    """Use of one environment, as its home records it."""

    digest: str
    last_used: float
    """Seconds since the epoch."""
    in_use: bool


def environments_to_drop(
    uses: Sequence[Use], now: float, keep_seconds: float, max_bytes: int = MAX_BYTES
) -> tuple[Use, ...]:
    """The environments to drop, least recently used first, until the rest is young and fits; never one in use."""
    size = sum(use.size_bytes for use in uses)
    chosen: list[Use] = []
    for use in sorted(uses, key=lambda use: use.last_used):
        expired = now - use.last_used >= keep_seconds
        if not use.in_use and (expired or size > max_bytes):
            chosen.append(use)
            size -= use.size_bytes
    return tuple(chosen)


class Uses:
    """Records of one kind of sandbox's environments in one home; several processes write here."""

    def __init__(self, home: Path, kind: str, lock_seconds: float = LOCK_SECONDS) -> None:
        self._lock_seconds = lock_seconds
        self._folder = home / "environments" / ".uses" / kind

    async def home_id(self) -> str:
        """Identifier of this home, unique because engines may be shared.

        Raises:
            SandboxError: as `lock`.
        """
        file = self._folder.parent / "id"
        async with self._hold(file.with_suffix(".lock")):
            known = file.read_text("ascii").strip() if file.exists() else ""
            if not known:
                file.write_text(known := uuid.uuid4().hex, "ascii")
            return known

    def lock(self, digest: str) -> AbstractAsyncContextManager[None]:
        """Keeps others from building or dropping an environment, and from noting its use, meanwhile.

        Raises:
            SandboxError: another process does so for too long, or the home cannot be written.
        """
        return self._hold(self._lock_file(digest))

    def is_locked(self, digest: str) -> bool:
        """Whether anybody builds or drops it now."""
        return is_lock_held(self._lock_file(digest))

    def note(self, digest: str, size_bytes: int) -> None:
        """Records that an environment is complete.

        Raises:
            SandboxError: the home cannot be written.
        """
        record = Record(size_bytes=size_bytes)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._record_file(digest).write_text(record.model_dump_json(), "utf-8")
        except OSError as problem:
            raise SandboxError(f"The use of an environment cannot be recorded: {problem}.") from problem

    def note_use(self, digest: str) -> None:
        """Records that an environment is used now."""
        with suppress(OSError):  # not recorded yet, or another user's
            os.utime(self._record_file(digest))

    def read_use(self, digest: str) -> Use | None:
        """The use of an environment; None where it is not recorded as complete."""
        file = self._record_file(digest)
        try:
            record, last_used = Record.model_validate_json(file.read_bytes()), file.stat().st_mtime
        except (OSError, ValidationError):
            return None
        in_use = time.time() - last_used < IN_USE_SECONDS
        return Use(**record.model_dump(), digest=digest, last_used=last_used, in_use=in_use)

    def forget_record(self, digest: str) -> None:
        """Removes the record of an environment; call it under the lock."""
        self._record_file(digest).unlink(missing_ok=True)

    def remove_lock(self, digest: str) -> None:
        """Removes the lock file of an environment that is gone; call it under the lock."""
        with suppress(OSError):  # on Windows it stays while it is held
            self._lock_file(digest).unlink()

    def list_uses(self) -> tuple[Use, ...]:
        """All environments recorded as complete in this home."""
        found = (self.read_use(file.stem) for file in sorted(self._folder.glob("*.json")))
        return tuple(use for use in found if use)

    def list_begun(self) -> frozenset[str]:
        """Digests of all environments that anybody began to build in this home, complete ones among them."""
        return (
            frozenset(file.stem for file in self._folder.iterdir()) if self._folder.is_dir() else frozenset()
        )

    @asynccontextmanager
    async def _hold(self, file: Path) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                await stack.enter_async_context(wait_for_lock(file, self._lock_seconds))
            except (LibraryError, OSError) as problem:
                raise SandboxError(f"Environments cannot be locked: {problem}") from problem
            yield

    def _lock_file(self, digest: str) -> Path:
        return self._folder / f"{digest}.lock"

    def _record_file(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"
