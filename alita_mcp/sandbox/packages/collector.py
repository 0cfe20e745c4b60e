"""Collector of unused environments: drops those unused for long, then the least recently used until the rest fits."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Protocol, runtime_checkable

from anyio import to_thread

from alita_mcp.sandbox.packages.uses import Use, Uses
from alita_mcp.settings import Settings
from alita_mcp.values import Value

DAY_SECONDS = 86_400.0


@runtime_checkable
class Store(Protocol):
    """Place where a back end keeps its environments."""

    async def has_environment(self, digest: str) -> str | None:
        """The location of an environment that is complete."""
        ...

    async def stored_environments(self) -> frozenset[str]:
        """Digests of what is stored for this home alone; empty where the place is shared."""
        ...

    async def drop_environment(self, digest: str) -> bool:
        """Removes an environment, complete or not; False when a sandbox uses it."""
        ...


class Bounds(Value):
    """Limits of the stored environments: age in seconds and size in bytes."""

    keep_seconds: float
    max_bytes: int


NOTHING_KEPT = Bounds(keep_seconds=0.0, max_bytes=0)
"""Drops all unused environments."""


class Collected(Value):
    """Report of a collection."""

    dropped: tuple[Use, ...]
    kept: tuple[Use, ...]


def bounds_of(settings: Settings) -> Bounds:
    """Limits that the settings name."""
    return Bounds(
        keep_seconds=settings.environments_keep_days * DAY_SECONDS,
        max_bytes=settings.environments_max_mb << 20,
    )


def choose(uses: Sequence[Use], bounds: Bounds, now: float) -> tuple[Use, ...]:
    """The environments to drop, least recently used first; never one in use."""
    size = sum(use.size_bytes for use in uses)
    chosen: list[Use] = []
    for use in sorted(uses, key=lambda use: use.last_used):
        expired = now - use.last_used >= bounds.keep_seconds
        if not use.in_use and (expired or size > bounds.max_bytes):
            chosen.append(use)
            size -= use.size_bytes
    return tuple(chosen)


async def collect(store: Store, uses: Uses, bounds: Bounds) -> Collected:
    """Drops environments over the bounds and unfinished ones of killed builders.

    Raises:
        SandboxError: the store or the home failed.
    """
    known = await _settled(store, uses)
    dropped = [
        use for use in choose(known, bounds, time.time()) if await _drop_unless_used(store, uses, use.digest)
    ]
    gone = {use.digest for use in dropped}
    return Collected(dropped=tuple(dropped), kept=tuple(use for use in known if use.digest not in gone))


async def _settled(store: Store, uses: Uses) -> tuple[Use, ...]:
    """What is known once everything half done or unknown is either noted or gone."""
    listed = await to_thread.run_sync(uses.listed)
    recorded = {use.digest for use in listed if use.record}
    begun = {use.digest for use in listed} | await store.stored_environments()
    for digest in sorted(begun - recorded):
        async with locked(uses):
            if uses.is_in_use(digest):
                continue
            if await store.has_environment(digest) is not None:
                await to_thread.run_sync(uses.note, digest, (), 0)
            elif await store.drop_environment(digest):
                await to_thread.run_sync(uses.forget, digest)
    return await to_thread.run_sync(uses.listed)


async def _drop_unless_used(store: Store, uses: Uses, digest: str) -> bool:
    async with locked(uses):
        if uses.is_in_use(digest) or not await store.drop_environment(digest):
            return False
        await to_thread.run_sync(uses.forget, digest)
        return True


@asynccontextmanager
async def locked(uses: Uses) -> AsyncIterator[None]:
    """`Uses.locked` without stopping the event loop while another process holds it."""
    with ExitStack() as stack:
        await to_thread.run_sync(stack.enter_context, uses.locked())
        yield
