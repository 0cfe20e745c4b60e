"""Responsiveness of the event loop: work on large values in threads, and a probe of the loop's lateness."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

log = logging.getLogger(__name__)

SMALL_PARTS = 2_000
"""A value of fewer parts costs less on the loop than a thread does."""
LARGE_BYTES = 32 << 10
"""JSON of so many bytes may be a large value."""
_CHARACTERS = 256
"""So many characters of text count as one part."""


def is_large(value: Any) -> bool:
    """Whether a JSON value is too large to be walked on the event loop; finds out in a bounded time."""
    parts, waiting = 0, [value]
    while waiting:
        node = waiting.pop()
        parts += 1
        if isinstance(node, str):
            parts += len(node) // _CHARACTERS
        elif isinstance(node, dict | list | tuple):
            if len(node) > SMALL_PARTS:
                return True
            waiting += node.values() if isinstance(node, dict) else node
        if parts + len(waiting) > SMALL_PARTS:
            return True
    return False


async def off_loop(action: Callable[[], T], *, large: bool) -> T:
    """Does the work in a thread where the value is large, else at once.

    The thread is waited for: the value must not change meanwhile. A cancelled caller ends when it does.
    """
    return await anyio.to_thread.run_sync(action) if large else action()


class LoopLag:
    """How late the event loop comes to what is due: the time for which something held it, or the machine did."""

    TOLD_FROM_S = 0.5
    TOLD_EVERY_S = 60.0

    def __init__(self) -> None:
        self.worst_s = 0.0
        """The latest that it was so far, in seconds."""
        self._told_at = -self.TOLD_EVERY_S

    async def watch(self, every_s: float = 0.25) -> None:
        """Measures until it is cancelled; half a second and more is logged, at most once a minute."""
        while True:
            due = anyio.current_time() + every_s
            await anyio.sleep(every_s)
            self._note(anyio.current_time(), due)

    def _note(self, now: float, due: float) -> None:
        late_s = now - due
        self.worst_s = max(self.worst_s, late_s)
        if late_s >= self.TOLD_FROM_S and now - self._told_at >= self.TOLD_EVERY_S:
            self._told_at = now
            log.warning(
                "nobody was answered for %.1f s: the event loop was held, or the machine busy", late_s
            )
