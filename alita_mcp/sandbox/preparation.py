"""Long work that is done once for many who wait: how far it is, told to all of them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import anyio

from alita_mcp.sandbox.interface import Progress


@runtime_checkable
class Preparable(Protocol):
    """A back end that has to be prepared on a machine, once, before it can prove anything."""

    async def ready(self, progress: Progress) -> None:
        """Prepares it; returns at once where that was done before.

        Raises:
            SandboxError: it cannot be prepared; the next call tries again.
        """
        ...


class Preparation:
    """The last line about the work, which is entered as a block; empty while there is none."""

    def __init__(self) -> None:
        self.line = ""
        self._changed = anyio.Event()

    def __enter__(self) -> None:
        self.line = ""

    def __exit__(self, *_how: object) -> None:
        self.line = ""

    async def tell(self, line: str) -> None:
        """Takes the place of the line before."""
        self.line = line
        self._changed.set()
        self._changed = anyio.Event()

    async def follow(self, progress: Progress) -> None:
        """Passes on the line there is and those that come, until it is cancelled; a slow listener misses some."""
        while True:
            changed = self._changed
            if self.line:
                await progress(self.line)
            await changed.wait()
