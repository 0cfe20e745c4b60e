"""Cache of one back end's environments: made at most once, held while used, collected later."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio import to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.packages.uses import Bounds, Collected, Uses, environments_to_drop

HOLD_SECONDS = 3600.0
"""How long this process holds an environment after its last use."""
TEND_SECONDS = 600.0
_log = logging.getLogger(__name__)


class EnvironmentGone(SandboxError):
    """Error: the environment was collected since it was prepared; preparing it again builds it again."""


class Store(Protocol):
    """Place where a back end keeps its environments."""

    @abstractmethod
    async def has_environment(self, digest: str) -> str | None:
        """The location of an environment that is complete."""
        ...

    @abstractmethod
    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Stores an environment, given as an uncompressed tar, and returns its location; one builder at a time does it.

        Raises:
            SandboxError: it cannot be stored, or the tar holds what no environment holds.
        """
        ...

    async def list_environments(self) -> frozenset[str]:
        """Digests of what is stored for this home alone; empty where the place is shared."""
        return frozenset()

    @abstractmethod
    async def drop_environment(self, digest: str) -> bool:
        """Removes an environment, complete or not; False when a sandbox uses it.

        Raises:
            SandboxError: it cannot be removed.
        """
        ...


class EnvironmentCache:
    """Cache of one back end's built environments, kept by lock digest."""

    def __init__(
        self, store: Store, uses: Uses, bounds: Bounds, *, tend_seconds: float = TEND_SECONDS
    ) -> None:
        self._bounds = bounds
        self._tend_seconds = tend_seconds
        self._store = store
        self._uses = uses
        self._making: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._locations: dict[str, str] = {}
        """Of the complete environments that this process holds."""
        self._open: Counter[str] = Counter()
        self._home_id = ""

    async def home_id(self) -> str:
        """Identifier of this home."""
        if not self._home_id:
            async with self._uses.lock_records():
                self._home_id = await to_thread.run_sync(self._uses.home_id)
        return self._home_id

    async def obtain(
        self, digest: str, packages: tuple[str, ...], make: Callable[[], Awaitable[bytes]]
    ) -> Environment:
        """The environment of a digest; `make` gives its tar when it is not stored."""
        async with self._making[digest]:
            try:
                # held from the start: what a killed process leaves half done has a lock file and no record
                await self._uses.hold(digest)
                if digest not in self._locations:
                    async with self._uses.lock_build(digest):
                        location = await self._store.has_environment(digest)
                        if location is None:
                            tar = await make()
                            location = await self._store.store_environment(digest, tar)
                            await to_thread.run_sync(self._uses.note, digest, packages, len(tar))
                    self._locations[digest] = location
                return Environment(digest=digest, location=self._locations[digest])
            finally:
                self._release_unknown(digest)

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
            await self._uses.hold(digest)
            # always looked at: an engine gives a worker an empty volume where a person removed the one it had
            if await self._store.has_environment(digest) != environment.location:
                self._locations.pop(digest, None)
                raise EnvironmentGone(f"The environment {digest!r} no longer exists.")
            self._locations[digest] = environment.location
            yield
        finally:
            self._open[digest] -= 1
            self._release_unknown(digest)

    async def collect(self, bounds: Bounds | None = None) -> Collected:
        """Drops environments over the bounds and unfinished ones of killed builders.

        Raises:
            SandboxError: the store or the home failed.
        """
        bounds = bounds or self._bounds
        for digest in tuple(self._locations):
            if self._open[digest]:
                await self._uses.hold(digest)
            elif self._uses.idle_seconds(digest) > HOLD_SECONDS:
                del self._locations[digest]
                self._release_unknown(digest)
        # everything half done or unknown is either noted or dropped
        listed = await to_thread.run_sync(self._uses.list_uses)
        recorded = {use.digest for use in listed if use.record}
        begun = {use.digest for use in listed} | await self._store.list_environments()
        for digest in sorted(begun - recorded):
            async with self._uses.lock_records():
                if self._uses.is_in_use(digest):
                    continue
                if await self._store.has_environment(digest) is not None:
                    await to_thread.run_sync(self._uses.note, digest, (), 0)
                elif await self._store.drop_environment(digest):
                    await to_thread.run_sync(self._uses.forget_environment, digest)
        known = await to_thread.run_sync(self._uses.list_uses)
        dropped = []
        for use in environments_to_drop(known, bounds, time.time()):
            async with self._uses.lock_records():
                if not self._uses.is_in_use(use.digest) and await self._store.drop_environment(use.digest):
                    await to_thread.run_sync(self._uses.forget_environment, use.digest)
                    dropped.append(use)
        return Collected(dropped=tuple(dropped), kept=tuple(use for use in known if use not in dropped))

    async def tend(self) -> None:
        """Collects every `tend_seconds` until cancelled; a failure is logged and tried again the next time."""
        while True:
            try:
                for use in (await self.collect()).dropped:
                    _log.info("environment %s dropped, last used %.0f", use.digest, use.last_used)
            except SandboxError as problem:
                _log.warning("environments are not tended: %s", problem)
            await anyio.sleep(self._tend_seconds)

    def _release_unknown(self, digest: str) -> None:
        """Releases what no worker has and is not known to be complete."""
        if not self._open[digest] and digest not in self._locations:
            self._uses.release(digest)
