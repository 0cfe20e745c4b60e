"""Verifier of versions on this machine: whether one can run here, and its gates before its first call."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import anyio

from alita_mcp.errors import FileRefused, LibraryError, NameTaken, ToolUnavailable
from alita_mcp.library.background import background
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import claims_less, is_unproven
from alita_mcp.library.versions.naming import find_version
from alita_mcp.progress import ReportStage, SharedStage, ignore_stage
from alita_mcp.sandbox.choose import LazySandbox, NestedSandbox, kind_of_calls
from alita_mcp.sandbox.interface import Broker, Environment, Job, RunResult, Sandbox
from alita_mcp.sandbox.wasm.abilities import lacks_of_sandbox
from alita_mcp.values import AcceptedVersion, Grants, Lock, Manifest, StoredVersion

if TYPE_CHECKING:
    from alita_mcp.verification.verify import Verdict

Lacks = Callable[[Grants], list[str]]
"""What these grants need and the settings do not give, each as in `needs a model: set ALITA_MODEL`."""


class VersionPlace(NamedTuple):
    """Where a version runs."""

    sandbox: Sandbox
    environment: Environment | None
    """Its packages; None when it needs none."""


class _Proof(NestedSandbox):
    """Gates of one version, run once for all that wait for it; tells them how many of its cases have run."""

    def __init__(self, sandbox: Sandbox, stored: StoredVersion) -> None:
        super().__init__(sandbox, 0)
        self._code, self._name, self._examples = stored.code, stored.manifest.name, stored.examples
        self._done = 0
        self.at_once = anyio.CapacityLimiter(1)
        """How many of its cases run at once: one, until a call waits for it."""
        self.lock = anyio.Lock()
        """Held by who runs the gates."""
        self.stage = SharedStage()

    async def begin(self, depth: int) -> None:
        """Begins to count, `depth` calls deep."""
        self._depth, self._done = depth, 0
        await self._report_cases()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """Runs one call in its turn; see the interface."""
        async with self.at_once:
            result = await super().run(job, broker)
        self._done += job.code == self._code
        await self._report_cases()
        return result

    async def _report_cases(self) -> None:
        from alita_mcp.verification.properties import INPUTS

        # each example, those with a result again, and what is drawn
        cases = len(self._examples) + sum(each.raises is None for each in self._examples) + INPUTS
        await self.stage.report(f"proving {self._name} for {self.kind}, {min(self._done, cases)} of {cases}")


class VersionVerifier:
    """Ensures that a version can run here and has passed its gates in the current kind of sandbox, once for each."""

    def __init__(self, library: Library, sandbox: Sandbox, lacks: Lacks | None = None) -> None:
        self._library = library
        self._sandbox = sandbox
        self._lacks = lacks or (lambda _grants: [])
        self._environments: dict[tuple[str, str], Environment | None] = {}
        """The packages of each version that is known to have passed its gates in a kind of sandbox."""
        self._proofs: dict[tuple[str, str], _Proof] = {}
        self._failures: dict[tuple[str, str], str] = {}

    def why_not(self, manifest: Manifest) -> str:
        """Why a version cannot run here, as in `needs a model: set ALITA_MODEL`; empty where it can, as far as known.

        What a person did not approve is no reason: ask for that apart. Starts no sandbox.
        """
        reasons = [*self._missing(manifest), *self._uncallable_tools(manifest, (manifest.name,))]
        failure = self._failures.get((manifest.digest, kind_of_calls(self._sandbox)), "")
        return "; ".join(reasons) or failure

    def check(self, manifest: Manifest) -> None:
        """Refuses a call that could only fail.

        Raises:
            ToolUnavailable: settings or sandbox do not give what the version needs.
        """
        if missing := self._missing(manifest):
            raise ToolUnavailable(
                f"{manifest.name} cannot run here: it {'; '.join(missing)}.",
                hint="A person can change that. Until then use another tool, or make one that does without.",
            )

    def _missing(self, manifest: Manifest) -> list[str]:
        """What it needs of the settings and of the sandbox, and does not find here."""
        kind = kind_of_calls(self._sandbox)
        return [*self._lacks(manifest.grants), *lacks_of_sandbox(kind, manifest.packages)]

    def _uncallable_tools(self, manifest: Manifest, chain: tuple[str, ...]) -> list[str]:
        """The tools it needs and cannot call: those that do not exist, are not approved, or cannot run themselves."""
        reasons = []
        for name in manifest.grants.tools:
            if name in chain:
                continue
            entry = self._library.tools.entry(name)
            if entry is None or entry.state != "enabled":
                reasons.append(f"calls {name}, which does not exist")
            elif not entry.approved:
                reasons.append(f"calls {name}, which waits for a person's approval")
            elif self._missing(entry.manifest) or self._uncallable_tools(entry.manifest, (*chain, name)):
                reasons.append(f"calls {name}, which cannot run here")
        return reasons

    async def choose_sandbox(self) -> Sandbox:
        """The sandbox that calls run in; the first caller has it chosen.

        Raises:
            SandboxUnavailable: none works here.
        """
        return await self._sandbox.choose() if isinstance(self._sandbox, LazySandbox) else self._sandbox

    async def verify_here(
        self,
        stored: StoredVersion,
        depth: int = 0,
        on_stage: ReportStage = ignore_stage,
        *,
        in_background: bool = False,
    ) -> VersionPlace:
        """Where a version runs, once it has passed its gates in this kind of sandbox: else they run now.

        `depth` calls led to the one that asks, and wait for it. In the background its cases run one at a time, until a
        call wants the version too.

        Raises:
            ToolUnavailable: the version fails its gates here.
            SandboxError: the sandbox failed.
        """
        sandbox, manifest = await self.choose_sandbox(), stored.manifest
        # An older release may have proved it here, where its packages open no sockets: only its calls would fail.
        if manifest.packages:
            self.check(manifest)
        key = (manifest.digest, sandbox.kind)
        if key in self._environments:
            return VersionPlace(sandbox, self._environments[key])
        evidence = self._library.tools.evidence(manifest.name, manifest.version)
        if sandbox.kind not in evidence:
            proof = self._proofs.setdefault(key, _Proof(sandbox, stored))
            if not in_background:
                proof.at_once.total_tokens = math.inf
            async with background() as tasks:
                tasks.start_soon(proof.stage.follow, on_stage)
                async with proof.lock:
                    if sandbox.kind not in self._library.tools.evidence(manifest.name, manifest.version):
                        await self._run_gates(stored, depth, proof)
                tasks.cancel_scope.cancel()
            evidence = self._library.tools.evidence(manifest.name, manifest.version)
        own = evidence.get(sandbox.kind)
        lock = Lock.model_validate_json(own) if own else stored.lock
        self._environments[key] = await sandbox.prepare(lock, on_stage) if lock.requirements else None
        return VersionPlace(sandbox, self._environments[key])

    async def verify_unproven(
        self, name: str, version: int | None, depth: int = 0, on_stage: ReportStage = ignore_stage
    ) -> None:
        """Runs the gates of an enabled tool's version that has passed none, before anything is made of its word.

        Raises:
            ToolNotFound: there is no such version.
            ToolUnavailable: the tool is deleted or damaged, or the version fails its gates here.
            SandboxError: the sandbox failed.
        """
        entry = self._library.entry(name)
        number = find_version(entry, version)
        if entry.state == "enabled" and not self._library.tools.evidence(name, number):
            await self.verify_here(await self._library.read(name, number), depth, on_stage)

    def forget_environment(self, stored: StoredVersion) -> None:
        """Prepares the packages again at the next call: somebody may have removed them."""
        for key in [key for key in self._environments if key[0] == stored.manifest.digest]:
            del self._environments[key]

    async def _run_gates(self, stored: StoredVersion, depth: int, proof: _Proof) -> None:
        from alita_mcp.verification.verify import verify  # loaded when it is needed, as the toolsmith is

        manifest, unproven = stored.manifest, is_unproven(stored.report)
        await proof.begin(depth)
        try:
            verdict = await verify(stored.draft, proof, ignore_stage, self._library.read, mutates=unproven)
        finally:
            await proof.stage.report("")
        failure = verdict.report.failure
        problem = f"fails its gates in the {proof.kind} sandbox: {failure.message}" if failure else ""
        key = (manifest.digest, proof.kind)
        if problem != self._failures.get(key, ""):
            self._failures[key] = problem
            self._library.announce()
        if failure is not None:
            raise ToolUnavailable(f"{manifest.name!r} v{manifest.version} {problem}", hint=failure.fix)
        if unproven:
            await self._record_proof(stored, verdict)
        else:
            lock = verdict.lock or stored.lock
            with suppress(FileRefused):  # the call does not depend on the disk; the next one proves it again
                await self._library.raise_evidence(manifest.name, manifest.version, proof.kind, lock)

    async def _record_proof(self, stored: StoredVersion, verdict: Verdict) -> None:
        """Records what the gates found of a version that only its own files spoke for, and no more than they claim."""
        if verdict.contract is None or verdict.lock is None:
            raise AssertionError("an accepted verdict carries contract and lock")
        before = stored.report
        report = verdict.report.model_copy(
            update={"agreement": before.agreement, "usage": before.usage, "written_from": before.written_from}
        )
        if claims_less(before):
            report = report.model_copy(update={"trust": "provisional"})
        accepted = AcceptedVersion(
            draft=stored.draft, contract=verdict.contract, lock=verdict.lock, report=report
        )
        try:
            with suppress(NameTaken):  # another process was faster
                await self._library.raise_trust(accepted, stored)
        except FileRefused:
            raise
        except LibraryError as other:
            raise ToolUnavailable(
                f"{stored.manifest.name!r} v{stored.manifest.version} cannot be trusted: its code does not match "
                f"its files. {other.message}",
                hint="Delete it, or synthesize it again with update=true.",
            ) from other
