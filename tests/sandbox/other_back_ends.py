"""Back ends of a third party, loaded by import string: one that isolates, and ones that do not."""

from __future__ import annotations

from typing import ClassVar

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Probe, ProbeReport, RunResult
from alita_mcp.settings import Settings
from tests.scripted_sandbox import ScriptedSandbox


class Isolating(ScriptedSandbox):
    """Counts how often it was made; a probe can be held up."""

    made: ClassVar[list[Isolating]] = []
    held: ClassVar[anyio.Event | None] = None

    def __init__(self, settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok", value=job.function), "isolating")
        self.settings = settings
        self.made.append(self)

    async def probe(self) -> ProbeReport:
        if self.held is not None:
            await self.held.wait()
        return await super().probe()


class Leaky(Isolating):
    async def probe(self) -> ProbeReport:
        probes = (
            Probe(name="starts", passed=True),
            Probe(name="home unreadable", passed=False, detail="read it"),
        )
        return ProbeReport(kind="leaky", probes=probes, hint="Mend the leak.")


class Proofless(Isolating):
    async def probe(self) -> ProbeReport:
        return ProbeReport(kind="proofless", probes=())


class Failing(Isolating):
    async def probe(self) -> ProbeReport:
        raise SandboxError("The engine is on fire.", hint="Put it out.")


class Unmakeable:
    def __init__(self, settings: Settings) -> None:
        raise SandboxError("No such machine.")
