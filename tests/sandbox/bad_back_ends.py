"""Back ends that nobody should use, each wrong in a way of its own: `alita doctor --sandbox` must find it out.

Its programs are bounded, so that even a bare process does no harm; nothing else may be run in these.
"""

from __future__ import annotations

from typing import Any

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.scripted_sandbox import ScriptedSandbox


class Bare(ScriptedSandbox):
    """This very process, with its files, network and variables, and all that earlier calls left."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok"), "bare")
        self._kept: dict[str, dict[str, Any]] = {}

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        scope = self._kept.setdefault(job.code, {})
        if not scope:
            exec(job.code, scope)
        return RunResult(status="ok", value=scope[job.function](**job.arguments))


class Swallowing(WasmSandbox):
    """Isolates, but takes no notice of limits, and says that all went well, whatever happened."""

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        result = await super().run(job.model_copy(update={"limits": Limits(wall_seconds=3)}), broker)
        return RunResult(status="ok", value=result.value if result.ok else None)


class Refusing(ScriptedSandbox):
    """Is never weaker than asked, because it offers nothing."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok"), "refusing")

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        raise SandboxRefused("Not today.")


class Stumbling(ScriptedSandbox):
    """Raises what the seam does not know."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok"), "stumbling")

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        raise LookupError("Where am I?")
