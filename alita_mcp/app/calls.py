"""Flow of a tool call: check the arguments, run the version in a sandbox, check and journal its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio

from alita_mcp.app.activity import ActivityFeed
from alita_mcp.app.svg import draw_svg
from alita_mcp.app.version_verifier import Lacks, VersionVerifier
from alita_mcp.errors import SandboxError, ToolNotFound, ToolUnavailable
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.library import Library
from alita_mcp.library.versions.naming import not_current_error
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity
from alita_mcp.progress import ReportStage, ignore_stage
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import MAX_CHAIN
from alita_mcp.sandbox.choose import kind_of_calls
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.values import Manifest, StoredVersion, Value
from alita_mcp.verification.images import decode_image, is_image
from alita_mcp.verification.json_schema import validate_arguments, validate_result

MAX_EVENTS = 50
"""How many of a broker's events the journal keeps with one call."""


BrokerFor = Callable[[StoredVersion, tuple[str, ...], ClientIdentity], GrantedBroker | None]
"""Returns the broker of one call, or None; its second argument names the calling tools, the outermost first."""


class ToolRunResult(Value):
    """Result of one call of one version."""

    manifest: Manifest
    result: RunResult
    sandbox: str

    @property
    def structured_content(self) -> dict[str, Any] | None:
        """The value as the output schema has it, of an image without its data; None when the call failed."""
        value = self.result.value
        if not self.result.ok:
            return None
        if self.is_image:
            return {name: value[name] for name in self.manifest.output_schema["required"]}
        return {"result": value} if self.manifest.wraps_result else value

    @property
    def is_image(self) -> bool:
        """Whether the value is an image, as `decode_image` reads it."""
        return self.result.ok and is_image(self.manifest.output_schema)


@dataclass
class _Call:
    """One call under way, and what its line in the journal will say."""

    stored: StoredVersion
    arguments: dict[str, Any]
    chain: tuple[str, ...]
    identity: ClientIdentity
    sandbox: str
    """Kind of the sandbox; the one expected until it is chosen."""
    activity: str
    """Its id in the feed."""
    broker: GrantedBroker | None = None
    started: float = field(default_factory=time.monotonic)

    def journal_detail(self) -> dict[str, Any]:
        seconds = round(time.monotonic() - self.started, 6)
        detail: dict[str, Any] = {"seconds": seconds, "sandbox": self.sandbox, **self.identity.journal_detail}
        detail["activity"] = self.activity
        events = self.broker.events if self.broker else ()
        if events:
            detail["events"] = [event.model_dump(mode="json") for event in events[:MAX_EVENTS]]
            detail["more_events"] = max(0, len(events) - MAX_EVENTS) or None
        return detail


class Calls:
    """Runs published versions, each only in a kind of sandbox that it passed its gates in."""

    def __init__(
        self,
        library: Library,
        sandbox: Sandbox,
        broker_for: BrokerFor,
        lacks: Lacks | None = None,
        feed: ActivityFeed | None = None,
    ) -> None:
        """Calls are published to the feed."""
        self.sandbox = sandbox
        self._feed = feed or ActivityFeed()
        self._library = library
        self.verifier = VersionVerifier(library, sandbox, lacks)
        self._broker_for = broker_for

    async def run_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        version: int | None = None,
        chain: tuple[str, ...] = (),
        *,
        identity: ClientIdentity = UNIDENTIFIED,
        on_stage: ReportStage = ignore_stage,
    ) -> ToolRunResult:
        """Calls a tool in the sandbox.

        `chain` names the tools that led to this call, the outermost first; `identity` goes into the journal;
        `on_stage` hears what the call waits for.

        Raises:
            ToolNotFound: no tool or version of that name; carries the nearest names.
            ToolUnavailable: disabled, deleted, quarantined, not approved, failing its gates in this sandbox, not
                possible with these settings, or a version with grants that is not the current one.
            InvalidArguments: the arguments do not fit the input schema.
            SandboxBusy: too many calls wait already.
            SandboxError: the sandbox failed, not the tool.
        """
        called_by = f"called by {chain[-1]}" if chain else ""
        with self._feed.follow("call", identity, tool=name, text=called_by, on_stage=on_stage) as work:
            # 1. Refuse what could only fail, before gates run or a person is asked.
            library = self._library.seen_by(identity.owner)
            entry = await library.find_entry(name)
            if entry.state == "enabled":
                if entry.manifest.packages or not entry.manifest.grants.is_pure:
                    self.verifier.check(entry.manifest)
                if version is not None or not entry.sandboxes:
                    await self.verifier.verify_unproven(name, version, len(chain), work)
                    entry = library.entry(name)
            library.check_callable(entry)
            stored = await library.read(name, version, entry)
            manifest = stored.manifest
            if manifest.version != entry.manifest.version and not manifest.grants.is_pure:
                raise not_current_error(name, manifest.version, entry.manifest.version)

            # 2. Check the arguments.
            fits = partial(validate_arguments, manifest.input_schema, arguments)
            arguments = await off_loop(fits, large=is_large(arguments))

            # 3. Run. Whatever ends the call is journalled.
            call = _Call(stored, arguments, chain, identity, kind_of_calls(self.sandbox), work.id)
            try:
                result = await self._run_in_sandbox(call, work)
            except SandboxError as failure:
                self.verifier.forget_environment(stored)
                said = {"error": type(failure).__name__, "message": failure.message[:500]}
                self._library.calls.record_sandbox_failure(
                    name, manifest.version, **said, **call.journal_detail()
                )
                raise
            except anyio.get_cancelled_exc_class():
                self._library.calls.record(
                    name, manifest.version, ok=True, status="cancelled", **call.journal_detail()
                )
                raise
            # What a program or another tool calls again and again would not have been written again and again.
            spared = len(stored.code.encode()) if result.ok and not chain else 0
            detail = call.journal_detail()
            self._library.calls.record(
                name,
                manifest.version,
                ok=result.ok,
                status=result.status,
                code_bytes=spared,
                identity=identity,
                **detail,
            )
            work.end(result.status, detail=detail)
            return ToolRunResult(manifest=manifest, result=result, sandbox=call.sandbox)

    async def _run_in_sandbox(self, call: _Call, on_stage: ReportStage) -> RunResult:
        stored, manifest, chain = call.stored, call.stored.manifest, call.chain
        sandbox, environment = await self.verifier.verify_here(stored, len(chain), on_stage)
        call.sandbox = sandbox.kind
        if not manifest.grants.is_pure:
            if manifest.grants.tools:
                await self.prepare_tools(
                    manifest.grants.tools, (*chain, manifest.name), call.identity, on_stage
                )
            call.broker = self._broker_for(stored, chain, call.identity)
        job = Job(
            code=stored.code,
            function=manifest.name,
            arguments=call.arguments,
            environment=environment,
            limits=manifest.limits,
            grants=manifest.grants,
            depth=len(chain),
        )
        result = await sandbox.run(job, call.broker)
        if call.broker is not None:
            result = await off_loop(partial(call.broker.redact_result, result), large=is_large(result.value))
        if not result.ok:
            return result
        value = {"result": result.value} if manifest.wraps_result else result.value
        fits = partial(validate_result, manifest.output_schema, value)
        wrong = await off_loop(fits, large=is_large(result.value))
        if wrong is None and call.broker is not None and is_image(manifest.output_schema):
            has_secret = call.broker.holds_secret(decode_image(result.value))
            wrong = "the image contains a secret" if has_secret else None
        if wrong is not None:
            return result.model_copy(update={"status": "bad_result", "value": None, "message": wrong})
        return result

    async def draw_svg(self, run: ToolRunResult) -> bytes | None:
        """An SVG that a tool returned, as PNG; None where nothing draws it. Raises as `app.svg.draw_svg`."""
        stored = await self._library.read(run.manifest.name, run.manifest.version)
        return await draw_svg(decode_image(run.result.value), await self.verifier.verify_here(stored))

    async def prepare_tools(
        self,
        names: Sequence[str],
        chain: tuple[str, ...],
        identity: ClientIdentity = UNIDENTIFIED,
        on_stage: ReportStage = ignore_stage,
    ) -> None:
        """Verifies the tools that the last of a chain may call, and builds their packages, before its time is counted.

        One that cannot be called is passed over: a call of it gives the reason.
        """
        library = self._library.seen_by(identity.owner)
        for name in names:
            if name in chain or len(chain) >= MAX_CHAIN:
                continue
            with suppress(ToolNotFound, ToolUnavailable):
                library.entry(name)
                await self.verifier.verify_unproven(name, None, len(chain) - 1, on_stage)
                library.callable_entry(name)
                stored = await library.read(name)
                await self.verifier.verify_here(stored, len(chain) - 1, on_stage)
                await self.prepare_tools(stored.manifest.grants.tools, (*chain, name), identity, on_stage)
