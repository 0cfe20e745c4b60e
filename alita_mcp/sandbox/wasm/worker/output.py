"""Captured output of a call: the first bytes of both streams are kept, all are counted."""

from __future__ import annotations

from collections.abc import Callable

FLOOD = 16
"""How many times as much as is kept may be written."""


class Output:
    """Captured output, from pieces of stdout (1) and stderr (2)."""

    def __init__(self, kept_bytes: int, on_flood: Callable[[], None]) -> None:
        self.kept = {1: bytearray(), 2: bytearray()}
        self._limit = kept_bytes
        self._written = 0
        self._on_flood = on_flood

    @property
    def flooded(self) -> bool:
        """Whether more was written than may be."""
        return self._written > FLOOD * self._limit

    def take(self, stream: int, data: bytes) -> None:
        """Takes a piece; ends the call when it is too much."""
        kept = self.kept[stream]
        kept += data[: max(0, self._limit - len(kept))]
        self._written += len(data)
        if self.flooded:
            self._on_flood()

    def clear(self) -> None:
        """Forgets what was written so far."""
        for kept in self.kept.values():
            kept.clear()
        self._written = 0
