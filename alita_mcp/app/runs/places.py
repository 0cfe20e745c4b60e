"""Sandboxes and environments in which code runs, by the packages that it needs."""

from __future__ import annotations

import anyio

from alita_mcp.progress import ReportStage
from alita_mcp.runs.session import Place
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.interface import Environment, Sandbox

MAX_ENVIRONMENTS = 100
"""For so many sets of packages it is known where they lie."""


class CodePlaces:
    """Cache of package sets, each locked and built once while this process lives."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._environments: dict[tuple[str, tuple[str, ...]], Environment] = {}
        self._building = anyio.Lock()

    async def of(self, packages: tuple[str, ...], on_stage: ReportStage) -> Place:
        """The place for code with these packages; raises as `Sandbox.resolve` and `LazySandbox.chosen`."""
        sandbox = await self._sandbox.choose() if isinstance(self._sandbox, LazySandbox) else self._sandbox
        return Place(sandbox, await self._environment(packages, sandbox, on_stage) if packages else None)

    def forget(self, place: Place) -> None:
        """Builds the packages anew the next time: what failed may be that somebody removed them."""
        for key in [key for key, known in self._environments.items() if known == place.environment]:
            del self._environments[key]

    async def _environment(
        self, packages: tuple[str, ...], sandbox: Sandbox, on_stage: ReportStage
    ) -> Environment:
        async def progress(line: str) -> None:
            await on_stage(f"environment: {line}")

        key = (sandbox.kind, packages)
        async with self._building:
            if key not in self._environments:
                lock = await sandbox.resolve(packages, progress)
                self._environments[key] = await sandbox.prepare(lock, progress)
                if len(self._environments) > MAX_ENVIRONMENTS:
                    del self._environments[next(iter(self._environments))]
            return self._environments[key]
