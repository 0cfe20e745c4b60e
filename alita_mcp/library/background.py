"""Task group for work in the background, whose body's own error comes out as itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from alita_mcp.exception_groups import unwrap_groups


@asynccontextmanager
async def background() -> AsyncIterator[TaskGroup]:
    """A task group whose body's error comes out as itself, not in a group."""
    with unwrap_groups():
        async with anyio.create_task_group() as tasks:
            yield tasks
