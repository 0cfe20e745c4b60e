"""What docker and bubblewrap share: everything above "start a confined supervisor and give me its pipes"."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from alita_mcp.sandbox.builder import OnLine, build
from alita_mcp.sandbox.calls import call
from alita_mcp.sandbox.environments import EnvironmentBuilder
from alita_mcp.sandbox.probes import probe_isolation
from alita_mcp.sandbox.seam import Broker, Environment, Job, ProbeReport, Progress, RunResult
from alita_mcp.sandbox.wire import Confinement, Transport, Worker
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

MAX_BUILD_SECONDS = 600.0


class IsolatedSandbox(ABC):
    """A sandbox whose workers are processes of the machine's kernel; one process per call."""

    kind: str

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._slots = anyio.Semaphore(settings.max_workers)
        self._python_tag = ""
        self._environments = EnvironmentBuilder(self, settings)

    @property
    def settings(self) -> Settings:
        """The settings it was made with."""
        return self._settings

    @abstractmethod
    def boot(
        self, limits: Limits, environment: Environment | None
    ) -> AbstractAsyncContextManager[tuple[Transport, Confinement]]:
        """Starts a confined supervisor; at the end it and all that it started are gone, shielded from cancellation.

        Raises:
            SandboxUnavailable: what it takes is not there.
            SandboxError: it did not start.
        """

    @abstractmethod
    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Keeps an environment's files, given as an uncompressed tar; its location. Safe against a second builder.

        Raises:
            SandboxError: it cannot be stored, or the tar holds what no environment holds.
        """

    @abstractmethod
    async def has_environment(self, digest: str) -> str | None:
        """The location of an environment that was stored completely, or None."""

    @abstractmethod
    def hint(self) -> str:
        """The command that makes this back end work where it does not."""

    @asynccontextmanager
    async def open_worker(
        self, limits: Limits, environment: Environment | None = None, *, egress: bool = False
    ) -> AsyncIterator[Worker]:
        """A worker that attested what was asked for; waits while `max_workers` others run."""
        async with self._slots, self.boot(limits, environment) as (transport, confinement):
            worker = Worker(transport, limits, confinement)
            await worker.greet(egress=egress)
            yield worker

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:  # noqa: ARG002
        """Runs one call in a worker of its own; see the seam."""
        async with self.open_worker(job.limits, job.environment) as worker:
            return await call(worker, job)

    async def run_builder(  # noqa: PLR0913 - each is a limit or the work itself
        self, program: str, payload: bytes, *, hosts: frozenset[str], wall_seconds: float, memory_bytes: int,
        scratch_bytes: int, on_line: OnLine,
    ) -> bytes:  # fmt: skip
        """What a program of ours wrote to its result file; see `builder.build`.

        It may reach `hosts` ("name:port") and nothing else. `memory_bytes` is for its processes;
        `scratch_bytes`, for its files in /tmp, comes on top.
        """
        seconds = min(wall_seconds, MAX_BUILD_SECONDS)
        limits = Limits(
            wall_seconds=seconds,
            cpu_seconds=seconds,
            memory_bytes=memory_bytes + scratch_bytes,
            scratch_bytes=scratch_bytes,
        )
        async with self.open_worker(limits, egress=True) as worker:
            return await build(worker, program, payload, hosts, on_line)

    async def python_tag(self) -> str:
        """Python and platform inside, as in `cp311-linux_x86_64`."""
        if not self._python_tag:
            async with self.open_worker(Limits()) as worker:
                self._python_tag = worker.attestation.python_tag
        return self._python_tag

    async def probe(self) -> ProbeReport:
        """Tries to break out; see `probes`."""
        return await probe_isolation(self, self.kind, self.hint())

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        """Exact versions and hashes of wheels for the Python inside; see the seam."""
        return await self._environments.resolve(packages, progress)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; see the seam."""
        return await self._environments.prepare(lock, progress)

    async def tend(self) -> None:
        """Looks after what is kept between calls, until it is cancelled."""
        await anyio.sleep_forever()

    @abstractmethod
    async def aclose(self) -> None:
        """Closes connections; no sandbox lives longer than its call."""
