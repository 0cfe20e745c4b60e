"""Common base of docker and bubblewrap: all but starting a confined supervisor and giving its pipes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import anyio

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox import conformance
from alita_mcp.sandbox.abilities import Abilities, whole_cpython
from alita_mcp.sandbox.interface import Broker, Environment, Job, ProbeReport, Progress, RunResult
from alita_mcp.sandbox.packages.builder import BuildBroker, build_job
from alita_mcp.sandbox.packages.cache import Store
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.sandbox.wire.link import Confinement, Transport, Worker
from alita_mcp.sandbox.workers.pooled import PooledSandbox, PooledWorker, WorkerKey
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

FEWEST_PROCESSES = 5
"""The back end's own, the supervisor, the process that imported the code, and two while a call's own is forked."""


class IsolatedSandbox(PooledSandbox):
    """Sandbox with pooled workers; each call is a process of its own in one of them."""

    kind: str

    def __init__(self, settings: Settings, store: Store) -> None:
        super().__init__(settings)
        self.store = store
        self._python_tag = ""
        self.environments = EnvironmentBuilder(self, settings)

    @abstractmethod
    def boot(
        self, limits: Limits, environment: Environment | None
    ) -> AbstractAsyncContextManager[tuple[Transport, Confinement]]:
        """Starts a confined supervisor; at the end it and all that it started are gone, shielded from cancellation.

        Another task may end it than the one that began it: no cancel scope and no task group stays open.

        Raises:
            SandboxUnavailable: what it takes is not there.
            SandboxError: it did not start.
        """

    @abstractmethod
    def hint(self) -> str:
        """How to make this back end work where it does not."""

    @asynccontextmanager
    async def open_worker(
        self, limits: Limits, environment: Environment | None = None
    ) -> AsyncIterator[Worker]:
        """Opens a worker of its own that attested its confinement; waits while as many others run as may."""
        key = WorkerKey(limits, environment)
        place = self._pool.worker(key, memory_bytes=limits.memory_bytes, fresh=True)
        async with place as kept:
            yield kept.worker

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call in a pooled worker; see the interface."""
        if job.limits.processes < FEWEST_PROCESSES:
            raise SandboxRefused(
                f"A limit of {job.limits.processes} processes is too small: a sandbox takes {FEWEST_PROCESSES}."
            )
        return await super().run(job, broker)

    async def run_build(
        self, request: dict[str, Any], hosts: frozenset[str], on_line: Progress, uv: Environment | None = None
    ) -> bytes:
        """Bytes that the builder program gives for a request; see `environments.BackEnd`."""
        broker = BuildBroker(hosts, on_line)
        return broker.result_of(await self.run(build_job(request, uv), broker))

    async def python_tag(self) -> str:
        """Python version and platform inside, as in `cp311-linux_x86_64`."""
        if not self._python_tag:
            async with self.open_worker(Limits()):
                pass
        return self._python_tag

    async def abilities(self) -> Abilities:
        """Abilities of the CPython inside; starts a worker only where none was ever started."""
        digits = (await self.python_tag()).partition("-")[0].removeprefix("cp")
        return whole_cpython(self.kind, f"{digits[:1]}.{digits[1:]}")

    async def probe(self) -> ProbeReport:
        """Runs the trials that decide whether it is used; see `conformance`."""
        return await conformance.probe(self, self.hint())

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes of wheels for the Python inside; see the interface."""
        return await self.environments.resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; see the interface."""
        return await self.environments.prepare(lock, progress)

    async def tend(self) -> None:
        """Closes workers that were idle for too long and drops unused environments, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.environments.tend)
            await self._pool.tend()

    async def _start(self, key: WorkerKey) -> PooledWorker:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.environments.hold_environment(key.environment))
            transport, confinement = await stack.enter_async_context(self.boot(key.limits, key.environment))
            worker = Worker(transport, key.limits, confinement)
            self._python_tag = (await worker.greet(egress=bool(key.grants.network))).python_tag
            return PooledWorker(worker, stack.pop_all())
