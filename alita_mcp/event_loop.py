"""Responsiveness of the event loop: large values in threads, rare collections."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread

T = TypeVar("T")

SMALL_PARTS = 2_000
"""Walking a value of fewer parts on the loop costs less than a thread."""
LARGE_BYTES = 32 << 10
"""JSON of so many bytes may be a large value."""
GARBAGE_OBJECTS = 20_000
"""Python's 700 are a few requests: collecting took a sixth of a busy server's time."""
_CHARACTERS = 256
"""Characters of text that count as one part."""


def is_large(value: Any) -> bool:
    """Whether a JSON value is too large to be walked on the event loop; decides in bounded time."""
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
    """Runs the action in a thread where the value is large, else on the loop.

    The value must not change meanwhile. A cancelled caller waits for the thread to end.
    """
    return await anyio.to_thread.run_sync(action) if large else action()


def collect_garbage_rarely() -> None:
    """Makes this process look for garbage in cycles after so many new objects as many requests make."""
    gc.set_threshold(GARBAGE_OBJECTS)
