"""Choice of the environments to drop: those unused for long, then the least recently used until the rest fits."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.sandbox.packages.uses import Use
from alita_mcp.values import Value


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
