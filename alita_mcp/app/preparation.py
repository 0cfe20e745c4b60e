"""Preparation of what a first call would wait for: starter tools are proved, and a worker is started."""

from __future__ import annotations

import importlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread

from alita_mcp.app.version_verifier import VersionVerifier
from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.background import background
from alita_mcp.library.library import Library
from alita_mcp.library.versions.starter import FOUND_BY_SEARCH, starter_tools_folder
from alita_mcp.progress import ReportStage, ignore_stage
from alita_mcp.sandbox.choose import UNCHOSEN, LazySandbox
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.sandbox.workers.pooled import PooledSandbox

BEGINS_AFTER_S = 1.0
"""A client that just started a server has its first questions answered before."""
LOOK_EVERY_S = 0.1
"""How often it looks whether calls are under way."""
LOADED_LATER = ("alita_mcp.toolsmith.toolsmith", "alita_mcp.app.code_runner")
"""What no list of tools waits for."""

log = logging.getLogger(__name__)


class Preparation:
    """Preparation of one process's sandbox and of the starter tools for it, which lets calls go first."""

    def __init__(self, library: Library, sandbox: Sandbox, verifier: VersionVerifier) -> None:
        self._library = library
        self._sandbox = sandbox
        self._verifier = verifier
        self._calls = 0
        """How many are under way."""

    @asynccontextmanager
    async def report(self, on_stage: ReportStage) -> AsyncIterator[None]:
        """Reports how far the sandbox is prepared while the block, a call that may wait for it, runs.

        Meanwhile no proof begins in the background.
        """
        self._calls += 1
        try:
            if not isinstance(self._sandbox, LazySandbox) or self._sandbox.kind != UNCHOSEN:
                yield
                return
            async with background() as tasks:
                tasks.start_soon(self._sandbox.preparation.follow, on_stage)
                yield
                tasks.cancel_scope.cancel()
        finally:
            self._calls -= 1

    async def run_in_background(self) -> None:
        """Loads what makes tools, proves the starter tools, then starts a worker.

        Never raises: a call of a tool says why it cannot run.
        """
        await anyio.sleep(BEGINS_AFTER_S)
        try:
            for module in LOADED_LATER:
                await anyio.to_thread.run_sync(importlib.import_module, module)
            sandbox = await self._verifier.choose_sandbox()
            await self.prove_starters(in_background=True)
            if isinstance(sandbox, PooledSandbox):
                await sandbox.warm_up()
        except Exception as problem:  # noqa: BLE001 - unrequested work must not end the server
            log.info("Not everything could be prepared: %s", problem)

    async def prove_starters(
        self, on_stage: ReportStage = ignore_stage, *, in_background: bool = False
    ) -> dict[str, str]:
        """Proves the starter tools that can be called, one after the other, and returns the results.

        Those that passed in this kind of sandbox are left out; of the others an empty text says that they do now, any
        other why not. In the background each waits until no call is under way.

        Raises:
            SandboxUnavailable: no sandbox works here.
            SandboxError: the sandbox failed.
        """
        kind = (await self._verifier.choose_sandbox()).kind
        folder = starter_tools_folder()
        names = await anyio.to_thread.run_sync(
            lambda: [each.name for each in folder.iterdir()] if folder else []
        )
        entries = self._library.tools.some(names)
        found: dict[str, str] = {}
        for name in sorted(entries, key=lambda name: (name in FOUND_BY_SEARCH, name)):
            entry = entries[name]
            if not entry.callable_now or kind in entry.sandboxes or self._verifier.why_not(entry.manifest):
                continue
            while in_background and self._calls:  # noqa: ASYNC110 - unrequested work may begin a little later
                await anyio.sleep(LOOK_EVERY_S)
            try:
                stored = await self._library.read(name)
                await self._verifier.verify_here(stored, on_stage=on_stage, in_background=in_background)
                found[name] = ""
            except ToolUnavailable as failure:
                found[name] = failure.message
        return found
