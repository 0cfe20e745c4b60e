"""The embedded sandbox: CPython in WebAssembly, in worker processes of ours; a fresh instance for each call."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack

import anyio

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.frames import Kind, encode
from alita_mcp.sandbox.kept_worker import KeptWorker, WorkerKey
from alita_mcp.sandbox.pooled import PooledSandbox
from alita_mcp.sandbox.seam import Environment, Probe, ProbeReport, Progress
from alita_mcp.sandbox.wasm import abilities, attestation, component, probes
from alita_mcp.sandbox.wasm.compiled import Compiled, CompiledFiles
from alita_mcp.sandbox.wasm.process import worker_process
from alita_mcp.sandbox.wasm.shelf import Shelf
from alita_mcp.sandbox.wire import Confinement, Worker
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

_WORKER = "alita_mcp.sandbox.wasm.worker.main"


class WasmSandbox(PooledSandbox):
    """Works wherever wasmtime has a wheel; needs no engine and no privileges."""

    kind = "wasm"

    def __init__(self, settings: Settings, files: CompiledFiles | None = None) -> None:
        super().__init__(settings)
        self._files = files or CompiledFiles()
        self._shelf = Shelf(self._boot)
        self._preparing = anyio.Lock()
        self._compiled: Compiled | None = None
        self._attested: attestation.WorkerAttestation | None = None

    async def ready(self, progress: Progress) -> None:
        """Has the component compiled for this machine, where no process of this user did it before.

        Raises:
            SandboxUnavailable: that fails; the next call tries again.
        """
        await self._ready(progress)

    async def probe(self) -> ProbeReport:
        """Tries the network, files, the environment, memory and time from inside."""
        report = await probes.probe_report(self.kind, self.run)
        if self._attested is None:
            return report
        confined = Probe(name="worker confined", passed=True, detail=attestation.in_words(self._attested))
        return report.model_copy(update={"probes": (*report.probes, confined)})

    async def abilities(self) -> Abilities:
        """Those of the CPython in the component."""
        return abilities.abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:  # noqa: ARG002
        """Refuses."""
        raise SandboxRefused("The embedded sandbox runs no packages yet.", hint=abilities.ANOTHER_SANDBOX)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:  # noqa: ARG002
        """Refuses."""
        raise SandboxRefused("The embedded sandbox runs no packages yet.", hint=abilities.ANOTHER_SANDBOX)

    async def tend(self) -> None:
        """Ends workers that were idle for too long, until it is cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._shelf.tend, self.settings.idle_seconds)
            await self._pool.tend()

    async def aclose(self) -> None:
        """Ends every worker."""
        await self._shelf.aclose()
        await super().aclose()

    async def _start(self, key: WorkerKey) -> KeptWorker:
        return await self._shelf.take(key.limits)

    async def _boot(self, limits: Limits) -> tuple[Worker, AsyncExitStack]:
        """A new worker process that attested itself."""
        ready = await self._ready(_silent)
        async with AsyncExitStack() as stack:
            transport = await stack.enter_async_context(worker_process(_WORKER))
            worker = Worker(transport, limits, Confinement())
            words = {
                "token": worker.token.hex(), "compiled": str(ready.path), "base_bytes": ready.base_bytes,
            }  # fmt: skip
            hello = await worker.hear(encode(Kind.PAYLOAD, 0, json.dumps(words).encode()))
            self._attested = attestation.judge(hello, ready.path.name)
            return worker, stack.pop_all()
        raise AssertionError

    async def _ready(self, progress: Progress) -> Compiled:
        """The compiled component, checked once, and again where the file is another one by now."""
        async with self._preparing:
            if self._compiled is None or not self._compiled.is_as_checked():
                self._compiled = await self._files.once(component.find_component(), progress)
            return self._compiled


async def _silent(_line: str) -> None:
    """Tells nobody."""
