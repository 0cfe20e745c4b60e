"""The flow of a call: name and arguments in, a result that fits the tool's schema out, journalled."""

from __future__ import annotations

import time
from typing import Any

import anyio

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.seam import Environment, Job, RunResult, Sandbox
from alita_mcp.values import Manifest, StoredVersion, Value
from alita_mcp.verification.arguments import validate_arguments, validate_result
from alita_mcp.verification.verify import verify


class RunAnswer(Value):
    """What one call of one version gave."""

    manifest: Manifest
    result: RunResult
    sandbox: str

    @property
    def structured(self) -> dict[str, Any] | None:
        """The value as the output schema has it, or None when the call failed."""
        if not self.result.ok:
            return None
        value = self.result.value
        return {"result": value} if self.manifest.wraps_result else value


class Calls:
    """Runs published versions, each only in a sandbox of a kind that it was proved in."""

    def __init__(self, library: Library, sandbox: Sandbox) -> None:
        self._library = library
        self._sandbox = sandbox
        self._environments: dict[str, Environment] = {}
        self._proving: dict[str, anyio.Lock] = {}

    async def run(self, name: str, arguments: dict[str, Any], version: int | None = None) -> RunAnswer:
        """Calls a tool in the sandbox.

        Raises:
            ToolNotFound: no tool or version of that name; carries the nearest names.
            ToolUnavailable: disabled, deleted, quarantined, or not proved in this sandbox.
            InvalidArguments: the arguments do not fit the input schema.
            SandboxError: the sandbox failed, not the tool.
        """
        await self._library.callable_entry(name)
        stored = await self._library.read(name, version)
        validate_arguments(stored.manifest.input_schema, arguments)
        sandbox = await self._proved_sandbox(stored)
        started = time.monotonic()
        result = await self._execute(stored, arguments, sandbox)
        await self._library.record_call(
            name,
            stored.manifest.version,
            ok=result.ok,
            status=result.status,
            seconds=round(time.monotonic() - started, 4),
            sandbox=sandbox.kind,
        )
        return RunAnswer(manifest=stored.manifest, result=result, sandbox=sandbox.kind)

    async def _execute(self, stored: StoredVersion, arguments: dict[str, Any], sandbox: Sandbox) -> RunResult:
        manifest = stored.manifest
        result = await sandbox.run(
            Job(
                code=stored.code,
                function=manifest.name,
                arguments=arguments,
                environment=await self._environment(stored, sandbox),
                limits=manifest.limits,
            )
        )
        if not result.ok:
            return result
        wrong = validate_result(
            manifest.output_schema, {"result": result.value} if manifest.wraps_result else result.value
        )
        if wrong is None:
            return result
        return result.model_copy(update={"status": "bad_result", "value": None, "message": wrong})

    async def _environment(self, stored: StoredVersion, sandbox: Sandbox) -> Environment | None:
        manifest = stored.manifest
        lock = self._library.lock_in(manifest.name, manifest.version, sandbox.kind) or stored.lock
        if not lock.requirements:
            return None
        key = f"{sandbox.kind} {manifest.digest}"
        if key not in self._environments:
            self._environments[key] = await sandbox.prepare(lock, _silent)
        return self._environments[key]

    async def _proved_sandbox(self, stored: StoredVersion) -> Sandbox:
        """The sandbox, once the version's gates have passed in its kind: else they run here first."""
        sandbox = await self._sandbox.chosen() if isinstance(self._sandbox, LazySandbox) else self._sandbox
        manifest = stored.manifest
        if sandbox.kind in self._library.evidence(manifest.name, manifest.version):
            return sandbox
        async with self._proving.setdefault(manifest.digest, anyio.Lock()):
            if sandbox.kind in self._library.evidence(manifest.name, manifest.version):
                return sandbox
            verdict = await verify(stored.draft, sandbox, _silent)
            failure = verdict.report.failure
            if failure is not None:
                raise ToolUnavailable(
                    f"{manifest.name!r} v{manifest.version} fails its gates in the {sandbox.kind} sandbox: "
                    f"{failure.message}",
                    hint=failure.fix,
                )
            lock = verdict.lock or stored.lock
            await self._library.raise_evidence(manifest.name, manifest.version, sandbox.kind, lock)
        return sandbox


async def _silent(_line: str) -> None:
    return None
