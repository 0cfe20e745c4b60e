"""Sandbox for calls that are made by other calls: everything in it runs that much deeper."""

from __future__ import annotations

from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.interface import Broker, Environment, Job, ProbeReport, Progress, RunResult, Sandbox
from alita_mcp.values import Lock


class NestedSandbox:
    """Wrapper of a sandbox that runs jobs `depth` calls deeper; closing it closes nothing."""

    def __init__(self, outer: Sandbox, depth: int) -> None:
        self._outer = outer
        self._depth = depth

    @property
    def kind(self) -> str:
        """Kind of the wrapped sandbox."""
        return self._outer.kind

    async def probe(self) -> ProbeReport:
        """Probes the wrapped sandbox; see the interface."""
        return await self._outer.probe()

    async def abilities(self) -> Abilities:
        """Abilities of code in the wrapped sandbox; see the interface."""
        return await self._outer.abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes; see the interface."""
        return await self._outer.resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; see the interface."""
        return await self._outer.prepare(lock, progress)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call at its depth; see the interface."""
        return await self._outer.run(job.model_copy(update={"depth": job.depth + self._depth}), broker)

    async def tend(self) -> None:
        """Does nothing: the owner of the wrapped sandbox tends it."""

    async def aclose(self) -> None:
        """Does nothing: the owner of the wrapped sandbox closes it."""
