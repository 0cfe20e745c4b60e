"""A sandbox as a call sees it that was made by other calls: whatever runs there is as deep as that call."""

from __future__ import annotations

from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.interface import Broker, Environment, Job, ProbeReport, Progress, RunResult, Sandbox
from alita_mcp.values import Lock


class NestedSandbox:
    """Everything of the sandbox behind it, `depth` calls deeper; closing it closes nothing."""

    def __init__(self, outer: Sandbox, depth: int) -> None:
        self._outer = outer
        self._depth = depth

    @property
    def kind(self) -> str:
        """The kind of the sandbox behind."""
        return self._outer.kind

    async def probe(self) -> ProbeReport:
        """Probes the sandbox behind; see the seam."""
        return await self._outer.probe()

    async def abilities(self) -> Abilities:
        """What code can do in the sandbox behind; see the seam."""
        return await self._outer.abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes; see the seam."""
        return await self._outer.resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; see the seam."""
        return await self._outer.prepare(lock, progress)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call, as deep as it is; see the seam."""
        return await self._outer.run(job.model_copy(update={"depth": job.depth + self._depth}), broker)

    async def tend(self) -> None:
        """Nothing: whoever opened the sandbox behind looks after it."""

    async def aclose(self) -> None:
        """Nothing: whoever opened the sandbox behind closes it."""
