"""Example of a sandbox back end: the embedded sandbox, with a line in a file for each call.

ALITA_SANDBOX=audited_sandbox:AuditedSandbox PYTHONPATH=docs/examples/extending alita doctor --sandbox
"""

from __future__ import annotations

import json

import anyio

from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.interface import Broker, Environment, Job, ProbeReport, Progress, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Lock


class AuditedSandbox:
    """Sandbox back end that notes each call of the embedded sandbox, whose isolation it has; fills `Sandbox`."""

    kind = "audited"

    def __init__(self, settings: Settings) -> None:
        self._within = WasmSandbox(settings)
        self._file = anyio.Path(settings.home / "audit.jsonl")

    async def ready(self, progress: Progress) -> None:
        """Prepares the machine once; optional, see `Preparable`."""
        await self._within.ready(progress)

    async def probe(self) -> ProbeReport:
        """The attempts to break out of the sandbox within, under this back end's name."""
        report = await self._within.probe()
        return report.model_copy(update={"kind": self.kind})

    async def abilities(self) -> Abilities:
        """What code can do here."""
        return await self._within.abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Versions and hashes of packages."""
        return await self._within.resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The built packages of a lock."""
        return await self._within.prepare(lock, progress)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call and notes its function, status and seconds; arguments are not written down."""
        result = await self._within.run(job, broker)
        line = {"function": job.function, "status": result.status, "seconds": result.wall_seconds}
        await self._file.parent.mkdir(parents=True, exist_ok=True)
        async with await self._file.open("a", encoding="utf-8") as file:
            await file.write(json.dumps(line) + "\n")
        return result

    async def tend(self) -> None:
        """Looks after idle workers until it is cancelled."""
        await self._within.tend()

    async def aclose(self) -> None:
        """Ends all workers."""
        await self._within.aclose()
