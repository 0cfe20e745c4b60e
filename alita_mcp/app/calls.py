"""Flow of a tool call: arguments are checked, the version runs in a sandbox, its result is checked and journalled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import anyio

from alita_mcp.app.runnable import Lacks, Runnable
from alita_mcp.app.version_verifier import VersionVerifier
from alita_mcp.errors import SandboxError, ToolNotFound, ToolUnavailable
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.library import Library
from alita_mcp.library.results import ResultCache, call_key
from alita_mcp.library.versions.naming import superseded
from alita_mcp.sandbox.broker.host_services import MAX_CHAIN
from alita_mcp.sandbox.interface import Broker, Job, RunResult, Sandbox
from alita_mcp.values import Manifest, StoredVersion, Value
from alita_mcp.verification.json_schema import validate_arguments, validate_result

MAX_EVENTS = 50
"""How many of a broker's events the journal keeps with one call."""


class WatchedBroker(Broker, Protocol):
    """Broker that reports afterwards what it was asked for."""

    @property
    def events(self) -> Sequence[Value]:
        """What it did and what it refused, in order."""
        ...

    def cleaned(self, result: RunResult) -> RunResult:
        """The result without the secrets that the call was given."""
        ...


BrokerFor = Callable[[StoredVersion, tuple[str, ...]], WatchedBroker | None]
"""Returns the broker of one call, or None; its second argument names the calling tools, the outermost first."""


class ToolRunResult(Value):
    """Result of one call of one version."""

    manifest: Manifest
    result: RunResult
    sandbox: str
    cached: bool = False
    """Whether nothing ran: the result is that of an earlier call."""

    @property
    def structured(self) -> dict[str, Any] | None:
        """The value as the output schema has it, or None when the call failed."""
        value = self.result.value
        return ({"result": value} if self.manifest.wraps_result else value) if self.result.ok else None


@dataclass
class _Call:
    """One call under way, and what its line in the journal will say."""

    stored: StoredVersion
    arguments: dict[str, Any]
    broker: WatchedBroker | None = None
    client: str = ""
    is_kept: bool = False
    """Whether its result is kept for the same call."""
    sandbox: str = ""
    started: float = field(default_factory=time.monotonic)

    @property
    def key(self) -> bytes:
        """Digest of the version, the kind of sandbox and the arguments."""
        return call_key(self.stored.manifest.digest, self.sandbox, self.arguments)

    def detail(self) -> dict[str, Any]:
        detail: dict[str, Any] = {
            "seconds": round(time.monotonic() - self.started, 6),
            "sandbox": self.sandbox,
        }
        if self.client:
            detail["client"] = self.client
        events = self.broker.events if self.broker else ()
        if events:
            detail["events"] = [event.model_dump(mode="json") for event in events[:MAX_EVENTS]]
            detail["more_events"] = max(0, len(events) - MAX_EVENTS) or None
        return detail


class Calls:
    """Runs published versions, each only in a sandbox of a kind that it was proved in."""

    def __init__(
        self,
        library: Library,
        sandbox: Sandbox,
        results: ResultCache | None = None,
        broker_for: BrokerFor | None = None,
        lacks: Lacks | None = None,
    ) -> None:
        self.sandbox = sandbox
        self._library = library
        self._verifier = VersionVerifier(library, sandbox)
        self.runnable = Runnable(library, self._verifier, lacks)
        self._results = results
        self._broker_for = broker_for

    async def run(
        self,
        name: str,
        arguments: dict[str, Any],
        version: int | None = None,
        chain: tuple[str, ...] = (),
        *,
        client: str = "",
    ) -> ToolRunResult:
        """Calls a tool in the sandbox, or returns the kept result of the same call.

        `chain` names the tools that led to this call, the outermost first; `client` goes into the journal.

        Raises:
            ToolNotFound: no tool or version of that name; carries the nearest names.
            ToolUnavailable: disabled, deleted, quarantined, not approved, not proved in this sandbox, not possible with
                these settings, or a version with grants that is not the current one.
            InvalidArguments: the arguments do not fit the input schema.
            SandboxBusy: too many calls wait already.
            SandboxError: the sandbox failed, not the tool.
        """
        found = self._library.entry(name)
        if found.state == "enabled":  # what could only fail is refused before gates run or a person is asked
            self.runnable.check(found.manifest)
        await self._verifier.prove_unproven(name, version, len(chain))
        entry = await self._library.callable_entry(name)
        stored = await self._library.read(name, version)
        manifest = stored.manifest
        if manifest.version != entry.manifest.version and not manifest.grants.is_pure:
            raise superseded(name, manifest.version, entry.manifest.version)
        fits = partial(validate_arguments, manifest.input_schema, arguments)
        await off_loop(fits, large=is_large(arguments))
        call = _Call(stored, arguments, client=client, is_kept=self._is_kept(manifest))
        with self._blamed(call):
            kept = await self._kept(call) if call.is_kept else None
            result = kept or await self._execute(call, chain)
        detail = call.detail() | ({"cached": True} if kept else {})
        self._library.calls.record(name, manifest.version, ok=result.ok, status=result.status, **detail)
        return ToolRunResult(manifest=manifest, result=result, sandbox=call.sandbox, cached=kept is not None)

    async def _execute(self, call: _Call, chain: tuple[str, ...]) -> RunResult:
        stored, manifest = call.stored, call.stored.manifest
        sandbox = await self._verifier.proved(stored, len(chain))
        call.sandbox = sandbox.kind
        if manifest.grants.tools:
            await self.prepare(manifest.grants.tools, (*chain, manifest.name))
        if self._broker_for is not None and not manifest.grants.is_pure:
            call.broker = self._broker_for(stored, chain)
        job = Job(
            code=stored.code,
            function=manifest.name,
            arguments=call.arguments,
            environment=await self._verifier.environment(stored, sandbox),
            limits=manifest.limits,
            grants=manifest.grants,
            depth=len(chain),
        )
        result = await sandbox.run(job, call.broker)
        if call.broker is not None:
            result = await off_loop(partial(call.broker.cleaned, result), large=is_large(result.value))
        wrong = await _misfit(manifest, result)
        if wrong is not None:
            return result.model_copy(update={"status": "bad_result", "value": None, "message": wrong})
        # what another tool passes on may hold its secrets, which never reach a disk
        if result.ok and self._results is not None and not chain and call.is_kept:
            await self._results.keep(call.key, manifest.name, result)
        return result

    async def prepare(self, names: Sequence[str], chain: tuple[str, ...]) -> None:
        """Proves tools that the last of a chain may call, and builds their packages, before the clock of its call runs.

        One that cannot be called is passed over: a call of it gives the reason.
        """
        for name in names:
            if name in chain or len(chain) >= MAX_CHAIN:
                continue
            with suppress(ToolNotFound, ToolUnavailable):
                await self._verifier.prove_unproven(name, None, len(chain) - 1)
                await self._library.callable_entry(name)
                stored = await self._library.read(name)
                sandbox = await self._verifier.proved(stored, len(chain) - 1)
                await self._verifier.environment(stored, sandbox)
                await self.prepare(stored.manifest.grants.tools, (*chain, name))

    async def _kept(self, call: _Call) -> RunResult | None:
        """What the same call gave before; looked at as closely as if it had just come out of the sandbox."""
        manifest = call.stored.manifest
        kind = await self._verifier.kind()
        if self._results is None or kind not in self._library.tools.proved_in(
            manifest.name, manifest.version
        ):
            return None
        call.sandbox = kind
        result = await self._results.find(call.key)
        return result if result is not None and await _misfit(manifest, result) is None else None

    def _is_kept(self, manifest: Manifest) -> bool:
        """Whether results of this version are kept for the same call."""
        pure = self._results is not None and manifest.deterministic and manifest.grants.is_pure
        return pure and self._library.tools.is_cached(manifest.name)

    @contextmanager
    def _blamed(self, call: _Call) -> Iterator[None]:
        """Journals how a call ended without a result: the sandbox failed, or the caller went away."""
        manifest = call.stored.manifest
        try:
            yield
        except SandboxError as failure:
            self._verifier.forget_environment(call.stored)
            self._library.calls.record_sandbox_failure(
                manifest.name,
                manifest.version,
                error=type(failure).__name__,
                message=failure.message[:500],
                **call.detail(),
            )
            raise
        except anyio.get_cancelled_exc_class():
            self._library.calls.record(
                manifest.name, manifest.version, ok=True, status="cancelled", **call.detail()
            )
            raise


async def _misfit(manifest: Manifest, result: RunResult) -> str | None:
    """What is wrong with a value that the code returned; None when it fits, or there is none."""
    if not result.ok:
        return None
    value = {"result": result.value} if manifest.wraps_result else result.value
    fits = partial(validate_result, manifest.output_schema, value)
    return await off_loop(fits, large=is_large(result.value))
