"""Cache of one back end's environments: made at most once, marked while used, collected later."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

import anyio
from anyio import to_thread

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.packages.collector import Bounds, Collected, Store, collect, locked
from alita_mcp.sandbox.packages.uses import Uses

RENEW_SECONDS = 600.0
"""How long this process trusts that what it marked is still there; far less than a mark protects."""
TEND_SECONDS = 600.0
_log = logging.getLogger(__name__)


class EnvironmentGone(SandboxError):
    """Error: the environment was collected since it was prepared; preparing it again builds it again."""


class FillableStore(Store, Protocol):
    """Store that also takes new environments."""

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Stores an environment, completely or not at all; returns its location."""
        ...


class _Seen(NamedTuple):
    location: str
    at: float


class EnvironmentCache:
    """Cache of one back end's built environments, kept by lock digest."""

    def __init__(self, store: FillableStore, uses: Uses, tend_seconds: float = TEND_SECONDS) -> None:
        self._tend_seconds = tend_seconds
        self._store = store
        self._uses = uses
        self._making: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._seen: dict[str, _Seen] = {}
        self._open: Counter[str] = Counter()
        self._home_id = ""

    async def home_id(self) -> str:
        """Identifier of this home."""
        if not self._home_id:
            async with locked(self._uses):
                self._home_id = await to_thread.run_sync(self._uses.home_id)
        return self._home_id

    async def obtain(
        self, digest: str, packages: tuple[str, ...], make: Callable[[], Awaitable[bytes]]
    ) -> Environment:
        """The environment of a digest; `make` gives its tar when it is not stored."""
        async with self._making[digest]:
            location = self._lately_seen(digest) or await self._find(digest)
            if location is None:
                location = await self._make(digest, packages, make)
                self._seen[digest] = _Seen(location, time.monotonic())
        return Environment(digest=digest, location=location)

    @asynccontextmanager
    async def held(self, environment: Environment | None) -> AsyncIterator[None]:
        """Keeps an environment from being collected while a worker has it.

        Raises:
            EnvironmentGone: it was collected already, or never was where it is said to be.
        """
        if environment is None:
            yield
            return
        digest = environment.digest
        # always looked at: an engine gives a worker an empty volume where a person removed the one it had
        there = self._lately_seen(digest) and await self._store.has_environment(digest)
        if (there or await self._find(digest)) != environment.location:
            raise EnvironmentGone(f"The environment {digest!r} is not here any more.")
        self._open[digest] += 1
        try:
            yield
        finally:
            self._open[digest] -= 1

    async def collect(self, bounds: Bounds) -> Collected:
        """Renews the marks of environments in use, then drops those that are over the bounds or were never finished."""
        for digest in +self._open:
            await to_thread.run_sync(self._uses.mark, digest)
        collected = await collect(self._store, self._uses, bounds)
        for use in collected.dropped:
            self._seen.pop(use.digest, None)
        return collected

    async def tend(self, bounds: Bounds) -> None:
        """Collects every `tend_seconds` until cancelled; a failure is logged and tried again the next time."""
        while True:
            try:
                collected = await self.collect(bounds)
                for use in collected.dropped:
                    _log.info("environment %s dropped, last used %.0f", use.digest, use.last_used)
            except SandboxError as problem:
                _log.warning("environments are not tended: %s", problem)
            await anyio.sleep(self._tend_seconds)

    def _lately_seen(self, digest: str) -> str | None:
        seen = self._seen.get(digest)
        return seen.location if seen and time.monotonic() - seen.at < RENEW_SECONDS else None

    async def _find(self, digest: str) -> str | None:
        """Where it is; marked in the same breath, so that it stays."""
        async with locked(self._uses):
            location = await self._store.has_environment(digest)
            if location is None:
                self._seen.pop(digest, None)
                return None
            await to_thread.run_sync(self._uses.mark, digest)
        self._seen[digest] = _Seen(location, time.monotonic())
        return location

    async def _make(
        self, digest: str, packages: tuple[str, ...], make: Callable[[], Awaitable[bytes]]
    ) -> str:
        """Marked from the start: what is left when this process is killed is known by the mark of a dead one."""
        try:
            await _written(self._uses.mark, digest)
            tar = await make()
            location = await self._store.store_environment(digest, tar)
            await _written(self._uses.note, digest, packages, len(tar))
        except BaseException:
            self._uses.unmark(digest)
            raise
        return location


async def _written(note: Callable[..., None], *words: object) -> None:
    try:
        await to_thread.run_sync(note, *words)
    except OSError as problem:
        raise SandboxError(f"The use of an environment cannot be noted: {problem}.") from problem
