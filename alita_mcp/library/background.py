"""Work beside the work: a task group whose body's own error comes out as itself, threads that end when asked to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.from_thread
from anyio.abc import TaskGroup


@asynccontextmanager
async def background() -> AsyncIterator[TaskGroup]:
    """A task group whose body's error comes out as itself, not in a group."""
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        if len(group.exceptions) == 1:
            raise group.exceptions[0] from group.exceptions[0].__cause__
        raise


def give_way() -> None:
    """Called now and then by long work in a thread: raises where the task that waits for it was cancelled."""
    try:
        anyio.from_thread.check_cancelled()
    except RuntimeError:  # nobody waits for this thread
        return
