"""Bounds and figures of a pool of workers."""

from __future__ import annotations

from pydantic import Field

from alita_mcp.values import Value

CALLS_PER_KEY = 5
WAITING = 64
IDLE_SECONDS = 300.0
CALLS_PER_WORKER = 1_000


class Bounds(Value):
    """Limits of a pool: workers, waiting callers, idle seconds, calls of a worker, memory."""

    workers: int = Field(ge=1)
    per_key: int = Field(default=CALLS_PER_KEY, ge=1)
    """How many workers of one key may be in use at once."""
    waiting: int = Field(default=WAITING, ge=0)
    """How many callers may wait; one more is refused as busy."""
    idle_seconds: float = Field(default=IDLE_SECONDS, gt=0)
    calls: int = Field(default=CALLS_PER_WORKER, ge=1)
    """After so many calls a worker is replaced."""
    memory_bytes: int = Field(ge=1)
    """The most that the workers together may have been promised."""
    turn_seconds: float = Field(default=1.0, ge=0)
    """So long a new worker stays with its key while others wait, or keys would evict each other for every call."""


class PoolFigures(Value):
    """Current state of a pool (`busy`, `idle`, `waiting`) and its counts so far."""

    busy: int
    idle: int
    waiting: int
    started: int = 0
    reused: int = 0
    evicted: int = 0
    """Closed while idle, for another key's room."""
    expired: int = 0
    """Closed after `idle_seconds`."""
    recycled: int = 0
    """Closed after their number of calls, or because they were not usable any more."""
