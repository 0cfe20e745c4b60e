"""Progress of long preparations that many callers wait for."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import anyio

from alita_mcp.sandbox.interface import Progress


@runtime_checkable
class Preparable(Protocol):
    """Back end that has to be prepared once on a machine before it can prove anything."""

    async def ready(self, progress: Progress) -> object:
        """Prepares it; returns at once where that was done before.

        Raises:
            SandboxError: it cannot be prepared; the next call tries again.
        """
        ...


class Preparation:
    """Last progress line of a preparation, entered as a block; empty outside of it."""

    def __init__(self) -> None:
        self.line = ""
        self._changed = anyio.Event()

    def __enter__(self) -> None:
        self.line = ""

    def __exit__(self, *_how: object) -> None:
        self.line = ""

    async def tell(self, line: str) -> None:
        """Replaces the progress line."""
        self.line = line
        self._changed.set()
        self._changed = anyio.Event()

    async def follow(self, progress: Progress) -> None:
        """Passes on the present line and later ones until cancelled; a slow listener misses some."""
        while True:
            changed = self._changed
            if self.line:
                await progress(self.line)
            await changed.wait()
