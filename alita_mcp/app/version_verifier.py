"""Verifier that runs a version's gates in the current sandbox before its first call, and holds its environment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import anyio

from alita_mcp.errors import LibraryError, NameTaken, ToolUnavailable
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import claimed_less, is_unproven
from alita_mcp.library.versions.naming import existing_version
from alita_mcp.sandbox.choose import UNCHOSEN, LazySandbox, expected_kind, silent
from alita_mcp.sandbox.interface import Environment, Sandbox
from alita_mcp.sandbox.variants.nested import NestedSandbox
from alita_mcp.sandbox.wasm.abilities import EMBEDDED, packages_with_sockets
from alita_mcp.values import AcceptedVersion, Manifest, StoredVersion
from alita_mcp.verification.verify import Verdict, verify


def cannot_run_here(name: str, lacks: Sequence[str]) -> ToolUnavailable:
    """The error for a call that could only fail here; `lacks` are what it needs, as in `needs a model: …`."""
    return ToolUnavailable(
        f"{name} cannot run here: it {'; '.join(lacks)}.",
        hint="A person can change that; until then use another tool, or make one that does without.",
    )


class VersionVerifier:
    """Ensures that a version has passed its gates in the current kind of sandbox before it runs, once for each."""

    def __init__(self, library: Library, sandbox: Sandbox) -> None:
        self._library = library
        self._sandbox = sandbox
        self._environments: dict[tuple[str, str], Environment] = {}
        self._verifying: dict[str, anyio.Lock] = {}
        self._failures: dict[tuple[str, str], str] = {}

    def failed_here(self, manifest: Manifest) -> str:
        """How a version failed its gates in the sandbox at hand since this process began; empty where it did not."""
        return self._failures.get((manifest.digest, expected_kind(self._sandbox)), "")

    def lacks_of_sandbox(self, manifest: Manifest) -> list[str]:
        """What a version needs of a sandbox and this kind does not have, as in `needs Docker or bubblewrap, …`."""
        embedded_only = expected_kind(self._sandbox) == EMBEDDED
        packages = packages_with_sockets(manifest.packages) if embedded_only else []
        return [f"needs Docker or bubblewrap for the sockets of {' and '.join(packages)}"] if packages else []

    async def kind(self) -> str:
        """The kind of sandbox that calls run in; starts none where the settings name it.

        Raises:
            SandboxUnavailable: none works here.
        """
        known = expected_kind(self._sandbox)
        return known if known != UNCHOSEN else (await self._chosen()).kind

    async def proved(self, stored: StoredVersion, depth: int = 0) -> Sandbox:
        """The sandbox, once the version's gates have passed in its kind: else they run here first.

        `depth` calls led to the one that asks, and wait for it.

        Raises:
            ToolUnavailable: the version fails its gates here.
            SandboxError: the sandbox failed.
        """
        sandbox = await self._chosen()
        manifest = stored.manifest
        if lacks := self.lacks_of_sandbox(
            manifest
        ):  # a version of before may have been proved without a request
            raise cannot_run_here(manifest.name, lacks)
        if sandbox.kind in self._library.tools.proved_in(manifest.name, manifest.version):
            return sandbox
        async with self._verifying.setdefault(manifest.digest, anyio.Lock()):
            if sandbox.kind in self._library.tools.proved_in(manifest.name, manifest.version):
                return sandbox
            nested = NestedSandbox(sandbox, depth) if depth else sandbox
            verdict = await verify(stored.draft, nested, silent, self._library.read)
            failure = verdict.report.failure
            if failure is not None:
                problem = f"fails its gates in the {sandbox.kind} sandbox: {failure.message}"
                self._remember(manifest, sandbox.kind, problem)
                raise ToolUnavailable(f"{manifest.name!r} v{manifest.version} {problem}", hint=failure.fix)
            self._remember(manifest, sandbox.kind, "")
            if is_unproven(stored.report):
                await self._keep(stored, verdict)
            else:
                lock = verdict.lock or stored.lock
                await self._library.raise_evidence(manifest.name, manifest.version, sandbox.kind, lock)
        return sandbox

    async def prove_unproven(self, name: str, version: int | None, depth: int = 0) -> None:
        """Runs the gates of an enabled tool's version that none has passed, before anything is made of its word.

        Raises:
            ToolNotFound: there is no such version.
            ToolUnavailable: the tool is deleted or damaged, or the version fails its gates here.
            SandboxError: the sandbox failed.
        """
        entry = self._library.entry(name)
        number = existing_version(entry, version)
        if entry.state == "enabled" and not self._library.tools.proved_in(name, number):
            await self.proved(await self._library.read(name, number), depth)

    def _remember(self, manifest: Manifest, kind: str, problem: str) -> None:
        """Keeps how the gates went; listeners hear where that is new."""
        if problem != self._failures.get((manifest.digest, kind), ""):
            self._failures[(manifest.digest, kind)] = problem
            self._library.announce()

    async def _keep(self, stored: StoredVersion, verdict: Verdict) -> None:
        """Keeps what the gates found of a version that only its own files spoke for, and no more than they claim."""
        if verdict.contract is None or verdict.lock is None:
            raise AssertionError("an accepted verdict carries contract and lock")
        before = stored.report
        report = verdict.report.model_copy(
            update={"agreement": before.agreement, "usage": before.usage, "written_from": before.written_from}
        )
        if claimed_less(before):
            report = report.model_copy(update={"trust": "provisional"})
        accepted = AcceptedVersion(
            draft=stored.draft, contract=verdict.contract, lock=verdict.lock, report=report
        )
        try:
            with suppress(NameTaken):  # another process was faster
                await self._library.raise_trust(accepted, stored)
        except LibraryError as other:
            raise ToolUnavailable(
                f"{stored.manifest.name!r} v{stored.manifest.version} cannot be relied on: what its code shows is not "
                f"what its files say. {other.message}",
                hint="Delete it, or synthesize it again with update=true.",
            ) from other

    async def environment(self, stored: StoredVersion, sandbox: Sandbox) -> Environment | None:
        """The packages that a version was proved with in this kind of sandbox; None when it needs none."""
        manifest = stored.manifest
        own = self._library.tools.lock_in(manifest.name, manifest.version, sandbox.kind)
        lock = own or stored.lock
        if not lock.requirements:
            return None
        key = (manifest.digest, sandbox.kind)
        if key not in self._environments:
            self._environments[key] = await sandbox.prepare(lock, silent)
        return self._environments[key]

    def forget_environment(self, stored: StoredVersion) -> None:
        """Asks for the packages anew at the next call: what failed may be that somebody removed them."""
        for key in [key for key in self._environments if key[0] == stored.manifest.digest]:
            del self._environments[key]

    async def _chosen(self) -> Sandbox:
        return await self._sandbox.chosen() if isinstance(self._sandbox, LazySandbox) else self._sandbox
