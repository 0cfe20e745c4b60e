"""Embedded sandbox: CPython in WebAssembly, in worker processes, with a fresh instance for each call."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import anyio

from alita_mcp.errors import PackagesRejected, SandboxError
from alita_mcp.progress import ignore_stage
from alita_mcp.sandbox import conformance
from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.interface import Environment, Job, ProbeReport, Progress, RunResult
from alita_mcp.sandbox.wasm import abilities, component
from alita_mcp.sandbox.wasm import process as processes
from alita_mcp.sandbox.wasm.attestation import check_attestation
from alita_mcp.sandbox.wasm.compiled import Compiled, CompiledFiles
from alita_mcp.sandbox.wasm.host_builder import HostBuilder
from alita_mcp.sandbox.wasm.packages import PYTHON_TAG, Archive, HostEnvironments, PackageStore
from alita_mcp.sandbox.wire.frames import Kind, encode
from alita_mcp.sandbox.wire.link import Confinement, Worker
from alita_mcp.sandbox.workers.pool import IDLE_SECONDS
from alita_mcp.sandbox.workers.pooled import PooledSandbox, PooledWorker, WorkerKey
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

HINT = "pip install --force-reinstall wasmtime alita-mcp-server"
MOST_IDLE = 4
"""So many processes wait for another tool; one more is ended."""
KEPT_IDLE = 4
"""So many processes stay with the tool that they served last, while another tool would have to start one."""
_SETTLE_SECONDS = 5.0
_WORKER = "alita_mcp.sandbox.wasm.worker.main"


class Lease(PooledWorker):
    """Lease of a worker process by one tool."""

    def __init__(
        self,
        worker: Worker,
        process: AsyncExitStack,
        put_back: Callable[[Worker, AsyncExitStack], Awaitable[None]],
    ) -> None:
        super().__init__(worker, process)
        self.at_end = AsyncExitStack()
        """What else ends with it."""
        self._put_back = put_back

    async def aclose(self) -> None:
        """Gives the process back where nothing went wrong; else ends it."""
        with anyio.CancelScope(shield=True):
            async with self.at_end:
                if not self.usable:
                    await super().aclose()
                    return
                self._usable = False
                await self._put_back(self.worker, self._stack)


class WasmSandbox(HostBuilder, PooledSandbox):
    """Sandbox over wasmtime; works wherever that has a wheel, without a container engine or privileges."""

    kind = abilities.EMBEDDED

    def __init__(self, settings: Settings, files: CompiledFiles | None = None) -> None:
        super().__init__(settings)
        self._files = files or CompiledFiles()
        self._idle: list[tuple[Worker, AsyncExitStack, float]] = []
        """Processes that no tool has, and since when; nothing of a call is left in them, so any tool may be next."""
        self._closed = False
        self.store = PackageStore(settings, self._run_apart)
        self.environments = HostEnvironments(self, settings)
        self._preparing = anyio.Lock()
        self._compiled: Compiled | None = None

    async def ready(self, progress: Progress) -> Compiled:
        """The component compiled for this machine, checked once, and again where the file is another one by now.

        Raises:
            SandboxUnavailable: it cannot be compiled; the next call tries again.
        """
        async with self._preparing:
            if self._compiled is None or not self._compiled.is_as_checked():
                self._compiled = await self._files.compile_once(component.find_component(), progress)
            return self._compiled

    async def probe(self) -> ProbeReport:
        """Runs the trials that decide whether it is used; see `conformance`."""
        return await conformance.probe(self, HINT)

    async def abilities(self) -> Abilities:
        """Those of the CPython in the component."""
        return abilities.abilities()

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes, of pure wheels where there are any; see the interface.

        Packages that open sockets are refused by name; what they ask for in turn may be of use without a network.
        """
        if refused := abilities.packages_with_sockets(packages):
            raise PackagesRejected(
                f"The embedded sandbox has no sockets, which {' and '.join(refused)} cannot do without.",
                hint=f"Instead {abilities.WITHOUT_SOCKETS}. {abilities.ANOTHER_SANDBOX}",
            )
        return await self.environments.resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; see the seam."""
        return await self.environments.prepare(lock, progress)

    async def python_tag(self) -> str:
        """Python and platform inside."""
        return PYTHON_TAG

    async def tend(self) -> None:
        """Ends workers that were idle for too long and drops unused environments, until it is cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tend_idle)
            tasks.start_soon(self.environments.tend)
            await self._pool.tend()

    async def aclose(self) -> None:
        """Ends every worker."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            while self._idle:
                await self._idle.pop()[1].aclose()
        await super().aclose()

    async def put_back(self, worker: Worker, process: AsyncExitStack) -> None:
        """Takes back a worker process, or ends it: there are enough, or what the call left cannot be told."""
        try:
            with anyio.fail_after(_SETTLE_SECONDS):
                await worker.settle()
        except (SandboxError, TimeoutError):
            await process.aclose()
            return
        if self._closed or len(self._idle) >= MOST_IDLE:
            await process.aclose()
        else:
            self._idle.append((worker, process, time.monotonic()))

    async def _tend_idle(self) -> None:
        while True:
            await anyio.sleep(IDLE_SECONDS)
            due = time.monotonic() - IDLE_SECONDS
            while self._idle and self._idle[0][2] <= due:
                with anyio.CancelScope(shield=True):
                    await self._idle.pop(0)[1].aclose()

    async def _start(self, key: WorkerKey) -> PooledWorker:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.environments.hold_environment(key.environment))
            archive = await self.store.archive_of(key.environment)
            lease = await self._lease(key.limits, archive)
            lease.at_end = stack.pop_all()
            return lease
        raise AssertionError

    async def _lease(self, limits: Limits, archive: Archive) -> Lease:
        if not self._idle:  # a process of another tool comes sooner than a new one
            await self._pool.release_idle(KEPT_IDLE)
        found: tuple[Worker, AsyncExitStack] | None = None
        while self._idle and found is None:
            worker, process, _since = self._idle.pop()
            if worker.transport.is_silent():
                # nothing of another tool is left in it: it has loaded nothing, and other limits hold
                worker.limits, worker.loaded = limits, False
                found = worker, process
            else:
                await process.aclose()
        lease = Lease(*(found or await self._boot(limits)), self.put_back)
        try:
            await self.store.give_packages(lease.worker, archive)
        except BaseException:
            await lease.aclose()
            raise
        return lease

    async def _run_apart(self, job: Job, archive: Archive) -> RunResult:
        """Runs a step of building an environment; it waits for no call, since calls may wait for it."""
        lease = await self._lease(job.limits, archive)
        try:
            return await lease.call(job, None)
        finally:
            await lease.aclose()

    async def _boot(self, limits: Limits) -> tuple[Worker, AsyncExitStack]:
        """A new worker process that attested itself."""
        ready = await self.ready(ignore_stage)
        async with AsyncExitStack() as stack:
            complaints = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
            argv = processes.module_command(_WORKER, f"server={os.getpid()}")
            options = {"stderr": complaints, "cwd": processes.NOWHERE, "creationflags": processes.NO_WINDOW}
            try:
                started = await stack.enter_async_context(processes.helper_process(argv, **options))
            except OSError as problem:
                raise SandboxError(
                    f"A worker of the embedded sandbox cannot be started: {problem}."
                ) from problem
            worker = Worker(processes.ProcessTransport(started, complaints), limits, Confinement())
            words = {"token": worker.token.hex(), "compiled": str(ready.path)}
            hello = await worker.hear(encode(Kind.PAYLOAD, 0, json.dumps(words).encode()))
            check_attestation(hello, ready.path.name)
            return worker, stack.pop_all()
        raise AssertionError
