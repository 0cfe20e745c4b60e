"""Lifespan of a process's sandbox: its upkeep, its end, and the one-time preparation that a server begins early."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles

BEGINS_AFTER_S = 1.0
"""A client that just started a server has its first questions answered before."""

log = logging.getLogger(__name__)


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


async def prepare_early(settings: Settings, sandbox: LazySandbox, files: CompiledFiles | None = None) -> None:
    """Prepares the embedded sandbox where tools will run in it and it was never prepared on this machine.

    Never raises: a call of a tool says why it cannot run.
    """
    from alita_mcp.sandbox.wasm.compiled import CompiledFiles
    from alita_mcp.sandbox.wasm.component import find_component

    if settings.sandbox not in ("auto", "wasm"):
        return
    await anyio.sleep(BEGINS_AFTER_S)
    try:
        component, files = await anyio.to_thread.run_sync(find_component), files or CompiledFiles()
        if not await anyio.to_thread.run_sync(files.is_due, component):
            return
        if (await sandbox.choose()).kind != "wasm":
            await anyio.to_thread.run_sync(files.note_unneeded, component)
    except Exception as problem:  # noqa: BLE001 - unrequested work must not end the server
        log.info("The embedded sandbox could not be prepared early: %s", problem)
