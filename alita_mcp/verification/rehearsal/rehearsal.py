"""Rehearsed calls: a draft's examples with stand-ins for model, tools, secrets, workspace and hosts.

The grants are checked as later, by the same code; behind them stand a host in memory, a folder that is thrown away, a
model that repeats, made-up secrets, and other tools of the library, which are rehearsed too.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import AlitaError, InvalidArguments, SandboxError
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.progress import ignore_stage
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.interface import EgressPolicy, Job, RunResult, Sandbox
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.values import Grants, Limits, StoredVersion
from alita_mcp.verification.comparison import kinds_of
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.rehearsal.origin import FILES, RehearsalEgressPolicy, complete_prompt

ReadTool = Callable[[str], Awaitable[StoredVersion]]
"""A tool of the library by name, proved unchanged; raises as `Library.read`."""


class Rehearsal:
    """Rehearsal of jobs that ask for grants in one sandbox, with stand-ins for all services."""

    def __init__(self, sandbox: Sandbox, read_tool: ReadTool | None = None) -> None:
        self.sandbox = sandbox
        self._read_tool = read_tool

    async def run(self, job: Job, chain: tuple[str, ...] = ()) -> RunResult:
        """Runs one call; `chain` names the tools that led to it, outermost first.

        Raises:
            SandboxError: the sandbox failed, in this call or in that of another tool.
        """
        if job.grants.is_pure:
            return await self.sandbox.run(job)
        failures: list[SandboxError] = []
        async with _workspace() as folder:
            services = self._services(job, folder, (*chain, job.function), failures)
            broker = RehearsalBroker(job.grants, job.limits, services)
            result = broker.redact_result(await self.sandbox.run(job, broker))
        if failures:
            raise failures[0]
        return result

    def _services(
        self, job: Job, workspace: Path, chain: tuple[str, ...], failures: list[SandboxError]
    ) -> HostServices:
        async def complete(prompt: str, **_options: Any) -> str:
            return complete_prompt(prompt)

        async def call_tool(name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]) -> Any:
            try:
                return value_of(name, await self._call_tool(name, arguments, chain[:-1], job))
            except SandboxError as failure:
                failures.append(failure)
                raise

        secrets = {name: f"rehearsal-{name}" for name in job.grants.secrets}
        return HostServices(
            complete=complete, call_tool=call_tool, secrets=secrets, workspace=workspace, chain=chain
        )

    async def _call_tool(
        self, name: str, arguments: dict[str, Any], chain: tuple[str, ...], caller: Job
    ) -> RunResult:
        """Another tool of the library, under its own grants and rehearsed as well, by the caller's clock and seed."""
        if self._read_tool is None:
            raise RuntimeError(f"the rehearsal knows no tool {name!r}")
        try:
            stored = await self._read_tool(name)
        except AlitaError as unknown:
            raise RuntimeError(f"the rehearsal cannot call {name!r}: {unknown.message}") from unknown
        manifest = stored.manifest
        try:
            arguments = validate_arguments(manifest.input_schema, arguments)
        except InvalidArguments as wrong:
            raise ValueError(f"{name}: {wrong.message}") from wrong
        locked = bool(stored.lock.requirements)
        environment = await self.sandbox.prepare(stored.lock, ignore_stage) if locked else None
        job = Job(
            code=stored.code,
            function=manifest.name,
            arguments=arguments,
            environment=environment,
            limits=manifest.limits,
            grants=manifest.grants,
            clock_offset_s=caller.clock_offset_s,
            moment=caller.moment,
            random_seed=caller.random_seed,
            depth=len(chain),
        )
        return await self.run(job, chain)


class RehearsalBroker(GrantedBroker):
    """Broker of one rehearsed call: checks grants as the real one does and serves stand-ins."""

    def __init__(self, grants: Grants, limits: Limits, services: HostServices) -> None:
        super().__init__(grants.model_copy(update={"network": ()}), limits, services)
        patterns = [read_pattern(host) for host in grants.network if host != ANY]
        stand_in = RehearsalEgressPolicy(patterns, any_host=ANY in grants.network)
        self._policy = stand_in if grants.network else None

    @property
    def egress_policy(self) -> EgressPolicy | None:
        """The stand-in host, for the hosts that are asked for."""
        return self._policy


_PASSED_ON = {f"builtins.{kind.__name__}": kind for kind in (ValueError, LookupError, TimeoutError)}
"""Errors that a calling tool meets under that name, and all kinds of them; all others are RuntimeErrors there."""


def value_of(name: str, result: RunResult) -> Any:
    """Value of a called tool for the tool that called it.

    Raises:
        ValueError, LookupError, TimeoutError: the called tool raised it, or a kind of it.
        RuntimeError: the called tool ended without a value in another way; the message says how.
    """
    if result.ok:
        return result.value
    # the called tool (1) raised an error that its caller may know, or (2) ended in another way
    kinds = kinds_of(result) if result.status == "error" else ()
    kind = next((_PASSED_ON[each] for each in kinds if each in _PASSED_ON), None)
    how = result.error_type if result.status == "error" else result.status
    if kind is not None and kind.__name__ == how:
        raise kind(f"{name}: {result.message}"[:1_000])
    raise (kind or RuntimeError)(f"{name} failed ({how}): {result.message}"[:1_000])


@asynccontextmanager
async def _workspace() -> AsyncIterator[Path]:
    """A folder with the samples, which is gone afterwards."""

    def make_folder() -> tempfile.TemporaryDirectory[str]:
        folder = tempfile.TemporaryDirectory(prefix="alita-rehearsal-")
        for name, text in FILES.items():
            place = Path(folder.name, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="\n")
        return folder

    folder = await anyio.to_thread.run_sync(make_folder)
    try:
        yield Path(folder.name)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(folder.cleanup)
