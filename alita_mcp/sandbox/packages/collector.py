"""Choice of the environments to drop: those unused for long, then the least recently used until the rest fits."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.sandbox.packages.uses import Use
from alita_mcp.settings import Settings
from alita_mcp.values import Value

DAY_SECONDS = 86_400.0


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
