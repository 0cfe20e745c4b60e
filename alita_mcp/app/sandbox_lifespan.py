"""Lifespan of a process's sandbox: its upkeep and its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import TaskGroup

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Sandbox


@asynccontextmanager
async def sandbox_lifespan(sandbox: Sandbox) -> AsyncIterator[TaskGroup]:
    """Maintains a sandbox while the block runs, then closes it; the group is for background work on it."""
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sandbox.tend)
            yield tasks
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True), suppress(SandboxError):
            await sandbox.aclose()
