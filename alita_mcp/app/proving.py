"""Where a version may run: a stored version in, a sandbox that it was proved in out, and its packages there."""

from __future__ import annotations

import anyio

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.sandbox.choose import UNCHOSEN, LazySandbox
from alita_mcp.sandbox.nested import NestedSandbox
from alita_mcp.sandbox.seam import Environment, Sandbox
from alita_mcp.values import StoredVersion
from alita_mcp.verification.verify import verify


class Proving:
    """Proves versions in the sandbox at hand where another kind proved them, once for each version."""

    def __init__(self, library: Library, sandbox: Sandbox) -> None:
        self._library = library
        self._sandbox = sandbox
        self._environments: dict[tuple[str, str], Environment] = {}
        self._proving: dict[str, anyio.Lock] = {}

    async def kind(self) -> str:
        """The kind of sandbox that calls run in; starts none where the settings name it.

        Raises:
            SandboxUnavailable: none works here.
        """
        if isinstance(self._sandbox, LazySandbox) and self._sandbox.expected_kind != UNCHOSEN:
            return self._sandbox.expected_kind
        return (await self._chosen()).kind

    async def proved(self, stored: StoredVersion, depth: int = 0) -> Sandbox:
        """The sandbox, once the version's gates have passed in its kind: else they run here first.

        `depth` calls led to the one that asks, and wait for it.

        Raises:
            ToolUnavailable: the version fails its gates here.
            SandboxError: the sandbox failed.
        """
        sandbox = await self._chosen()
        manifest = stored.manifest
        if sandbox.kind in self._library.evidence(manifest.name, manifest.version):
            return sandbox
        async with self._proving.setdefault(manifest.digest, anyio.Lock()):
            if sandbox.kind in self._library.evidence(manifest.name, manifest.version):
                return sandbox
            room = NestedSandbox(sandbox, depth) if depth else sandbox
            verdict = await verify(stored.draft, room, _silent, self._library.read)
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

    async def environment(self, stored: StoredVersion, sandbox: Sandbox) -> Environment | None:
        """The packages that a version was proved with in this kind of sandbox; None when it needs none."""
        manifest = stored.manifest
        own = self._library.tools.lock_in(manifest.name, manifest.version, sandbox.kind)
        lock = own or stored.lock
        if not lock.requirements:
            return None
        key = (manifest.digest, sandbox.kind)
        if key not in self._environments:
            self._environments[key] = await sandbox.prepare(lock, _silent)
        return self._environments[key]

    def forget_environment(self, stored: StoredVersion) -> None:
        """Asks for the packages anew at the next call: what failed may be that somebody removed them."""
        for key in [key for key in self._environments if key[0] == stored.manifest.digest]:
            del self._environments[key]

    async def _chosen(self) -> Sandbox:
        return await self._sandbox.chosen() if isinstance(self._sandbox, LazySandbox) else self._sandbox


async def _silent(_line: str) -> None:
    return None
