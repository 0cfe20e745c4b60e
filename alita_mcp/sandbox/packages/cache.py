"""Cache of one back end's environments: made at most once, held while used, collected later."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio import to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.packages.uses import KEEP_SECONDS, Use, Uses, environments_to_drop

TEND_SECONDS = 300.0
"""Well below `IN_USE_SECONDS`: what workers have open counts as used each time."""
_log = logging.getLogger(__name__)


class EnvironmentGone(SandboxError):
    """Error: the environment was collected since it was prepared; preparing it again builds it again."""


class Store(Protocol):
    """Place where a back end keeps its environments."""

    @abstractmethod
    async def has_environment(self, digest: str) -> str | None:
        """The location of an environment that is there, complete where it is recorded."""
        ...

    @abstractmethod
    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Stores an environment, given as an uncompressed tar, and returns its location; one builder at a time does it.

        Raises:
            SandboxError: it cannot be stored, or the tar holds what no environment holds.
        """
        ...

    @abstractmethod
    async def drop_environment(self, digest: str) -> bool:
        """Removes an environment, complete or not; False when a sandbox uses it.

        Raises:
            SandboxError: it cannot be removed.
        """
        ...


class EnvironmentCache:
    """Cache of one back end's built environments, kept by lock digest."""

    def __init__(self, store: Store, uses: Uses, *, tend_seconds: float = TEND_SECONDS) -> None:
        self._tend_seconds = tend_seconds
        self._store = store
        self._uses = uses
        self._open: Counter[str] = Counter()
        """How many workers of this process have an environment."""

    async def obtain(self, digest: str, make: Callable[[], Awaitable[bytes]]) -> Environment:
        """The environment of a digest; `make` gives its tar when it is not stored."""
        async with self._uses.lock(digest):
            location = await self._find(digest)
            if location is None:
                self._uses.forget_record(digest)  # of another engine, or removed by a person
                tar = await make()
                location = await self._store.store_environment(digest, tar)
                await to_thread.run_sync(self._uses.note, digest, len(tar))
            return Environment(digest=digest, location=location)

    @asynccontextmanager
    async def hold_environment(self, environment: Environment | None) -> AsyncIterator[None]:
        """Keeps an environment from being collected while a worker has it.

        Raises:
            EnvironmentGone: it was collected already, or never was where it is said to be.
        """
        if environment is None:
            yield
            return
        digest = environment.digest
        self._open[digest] += 1
        try:
            async with self._uses.lock(digest):
                if await self._find(digest) != environment.location:
                    raise EnvironmentGone(f"The environment {digest!r} no longer exists.")
            yield
        finally:
            self._open[digest] -= 1

    async def collect(self, keep_seconds: float = KEEP_SECONDS) -> tuple[Use, ...]:
        """Drops environments that are too old or too many, which are returned, and unfinished ones of killed builders.

        Raises:
            SandboxError: the store or the home failed.
        """
        for digest, workers in self._open.items():
            if workers:
                self._uses.note_use(digest)
        for digest in sorted(self._uses.list_begun()):
            if self._uses.read_use(digest) is None:
                await self._drop(digest)
        uses = await to_thread.run_sync(self._uses.list_uses)
        surplus = environments_to_drop(uses, time.time(), keep_seconds)
        return tuple([use for use in surplus if await self._drop(use.digest)])

    async def tend(self) -> None:
        """Collects every `tend_seconds` until cancelled; a failure is logged and tried again the next time."""
        while True:
            try:
                for use in await self.collect():
                    _log.info("environment %s dropped, last used %.0f", use.digest, use.last_used)
            except SandboxError as problem:
                _log.warning("environments are not tended: %s", problem)
            await anyio.sleep(self._tend_seconds)

    async def _find(self, digest: str) -> str | None:
        """The location of a complete environment, whose use is noted; call it under the lock.

        The store is always asked: an engine gives a worker an empty volume where a person removed the one it had.
        """
        self._uses.note_use(digest)
        return await self._store.has_environment(digest) if self._uses.read_use(digest) else None

    async def _drop(self, digest: str) -> bool:
        """Drops an environment; False where somebody uses it or builds it anew in the meantime."""
        if self._uses.is_locked(digest):
            return False
        async with self._uses.lock(digest):
            use = self._uses.read_use(digest)
            if (use and use.in_use) or not await self._store.drop_environment(digest):
                return False
            self._uses.forget_record(digest)
            self._uses.remove_lock(digest)
            return True
