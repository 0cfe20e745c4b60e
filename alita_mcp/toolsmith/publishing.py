"""Publisher of drafts: proves them in the gates, compares them with known tools and puts them into the library.

A tool that some client could not list is refused, and one that asks for grants waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel

from alita_mcp.errors import NameTaken, ToolNotFound, ToolUnavailable
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.trust.trust import is_lower, may_hold_grants, what_would_raise
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.carried_examples import Carried, carry_over_examples
from alita_mcp.toolsmith.context import Amend
from alita_mcp.toolsmith.duplicates.duplicates import Proved, find_same
from alita_mcp.toolsmith.example_requests import learn_words
from alita_mcp.toolsmith.package_check import PackageCheck
from alita_mcp.toolsmith.requests.outcomes import (
    Created,
    Exists,
    Lookalike,
    NeedsApproval,
    Outcome,
    Rejected,
    rejection,
    with_broken_examples,
    with_lookalikes,
)
from alita_mcp.toolsmith.specification import assumptions_in
from alita_mcp.values import AcceptedVersion, Draft, Manifest, VerificationReport
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import verify

Admit = Callable[[Manifest], tuple[str, ...]]
"""Returns the reasons why some clients could not list the tool of a manifest."""


class Publisher:
    """Takes drafts through all gates into the library, and says what the published version can do then."""

    def __init__(
        self, library: Library, sandbox: Sandbox, settings: Settings, packages: PackageCheck, admit: Admit
    ) -> None:
        self._library = library
        self._sandbox = sandbox
        self._settings = settings
        self._packages = packages
        self._admit = admit

    def standing(self, name: str, *, update: bool) -> int | Exists | Rejected:
        """The version that a draft of this name would follow (0: a new name), or why it may not be published."""
        try:
            entry: CatalogueEntry | None = self._library.entry(name)
        except ToolNotFound:
            entry = None
        except ToolUnavailable as gone:
            return Rejected(stage="policy", reason=gone.message, fix=gone.hint or "Choose another name.")
        if entry is None:
            if not update:
                return 0
            return Rejected(
                stage="policy",
                reason=f"There is no tool {name!r} to update.",
                fix="Leave out update, or name the tool that is to get a new version.",
            )
        if update and entry.state == "disabled":
            reason = f"{name} is disabled; an update would not be callable."
            return Rejected(
                stage="policy", reason=reason, fix="Ask a person to enable it, or choose another name."
            )
        if update:
            return max(entry.versions)
        return Exists(
            tool=entry.name,
            version=entry.manifest.version,
            why="a tool of this name exists; send update=true for a new version, or choose another name",
        )

    async def submit(
        self,
        draft: Draft,
        on_stage: ReportStage,
        *,
        update: bool,
        breaks: Sequence[dict[str, Any]] = (),
        amend: Amend | None = None,
        made_by: str = "",
    ) -> Outcome:
        """A draft through all gates and into the library; `amend` has the last word on what passed.

        An update is held to the examples of the version that it replaces, but for those that `breaks` names.
        """
        standing = self.standing(draft.name, update=update)
        if isinstance(standing, Exists | Rejected):
            return standing
        unfit = await self._packages.failure(draft.packages, pinned_are_meant=True)
        if unfit is not None:
            return rejection(unfit)
        carried: Carried | Rejected = Carried(draft)
        if standing:
            await on_stage("update")
            with suppress(ToolUnavailable):  # quarantined: a new version is the way out
                replaced = await self._library.read(draft.name)
                rehearsal = Rehearsal(self._sandbox, self._library.read)
                carried = await carry_over_examples(draft, replaced, breaks, rehearsal, on_stage)
        if isinstance(carried, Rejected):
            return carried
        outcome = await self._prove_and_publish(carried.draft, standing, on_stage, amend, made_by)
        return with_broken_examples(outcome, carried.broken)

    async def _prove_and_publish(
        self, draft: Draft, follows: int, on_stage: ReportStage, amend: Amend | None, made_by: str
    ) -> Outcome:
        if follows and (same := await self._same_draft(draft, follows)):
            return Exists(tool=draft.name, version=same, why=f"v{same} is this, word for word")
        verdict = await verify(draft, self._sandbox, on_stage, self._library.read)
        failure = verdict.report.failure
        if failure is not None:
            return rejection(failure)
        if amend is not None:
            draft, verdict = await amend(draft, verdict)
        if verdict.contract is None or verdict.lock is None:
            raise AssertionError("an accepted verdict carries contract and lock")
        report, similar = verdict.report, tuple[Lookalike, ...]()
        if not follows:
            await on_stage("duplicates")
            library = self._library
            names = await library.similar(" ".join((draft.name, draft.description, *draft.use_when)))
            rehearsal = Rehearsal(self._sandbox, library.read)
            found = await find_same(Proved(draft, verdict, report.trust), names, library, rehearsal)
            if isinstance(found, Exists):
                await learn_words(library, found.tool, draft.description, draft.use_when)
                return found
            similar = found
        accepted = AcceptedVersion(
            draft=draft, contract=verdict.contract, lock=verdict.lock, report=report, made_by=made_by
        )
        return with_lookalikes(await self.publish(accepted, follows, on_stage), similar)

    async def _same_draft(self, draft: Draft, newest: int) -> int | None:
        """The number of the current or the newest version, if that is this draft."""
        for version in (self._library.entry(draft.name).manifest.version, newest):
            try:
                if (await self._library.read(draft.name, version)).draft == draft:
                    return version
            except ToolUnavailable:
                continue  # quarantined: a new version is the way out
        return None

    async def publish(self, accepted: AcceptedVersion, follows: int, on_stage: ReportStage) -> Outcome:
        """The next version of the tool of this name, which has `follows` so far; or why it is none."""
        problems = self._admit(manifest_of(accepted, follows + 1))
        if problems:
            return Rejected(
                stage="schema",
                reason="Some clients could not list this tool: " + "; ".join(problems) + ".",
                fix="Change the signature or the description so that it fits.",
            )
        await on_stage("publish")
        await anyio.lowlevel.checkpoint()
        with anyio.CancelScope(shield=True):  # from here on it is published whole, and the caller hears so
            try:
                manifest = await self._library.publish(accepted, expected_version=follows)
                outcome = await self.outcome_of(manifest, accepted.report)
            except NameTaken:
                now = self._library.entry(accepted.draft.name).manifest
                why = "another client published this name first"
                outcome = Exists(tool=now.name, version=now.version, why=why)
        return outcome

    async def outcome_of(self, manifest: Manifest, report: VerificationReport) -> Outcome:
        """Outcome for a published version: created, or waiting for a person who grants what it asks for."""
        name = manifest.name
        waits = await self.unless_granted(manifest, report)
        return waits or Created(
            tool=name,
            version=manifest.version,
            trust=manifest.trust,
            tests=f"{report.examples_passed}/{report.examples_total}",
            permissions=in_words(manifest.grants),
            report=f"alita://tools/{name}/v{manifest.version}/report",
            to_raise_trust=what_would_raise(report),
            kept=self._why_kept(manifest),
            assumed=assumptions_in(report),
        )

    def _why_kept(self, manifest: Manifest) -> str:
        """Why a version that was published is not the current one; empty when it is."""
        current = self._library.entry(manifest.name).manifest
        if current.version == manifest.version:
            return ""
        if is_lower(manifest.trust, current.trust):
            return f"v{current.version} stays current: it is {current.trust}, v{manifest.version} {manifest.trust}"
        how = f"`alita tool rollback {manifest.name} {manifest.version}` makes v{manifest.version} current"
        return f"v{current.version} stays current: a person decides; {how}"

    async def unless_granted(self, manifest: Manifest, report: VerificationReport) -> NeedsApproval | None:
        """Outcome for a version that needs a person or more evidence; None when all that it asks for is granted."""
        verified = may_hold_grants(manifest)
        asks = not manifest.grants.is_pure and ANY not in manifest.grants.network
        if self._settings.policy == "auto" and verified and asks:
            await self._library.approve(
                manifest.name, manifest.digest, by="policy", origin={"from": "policy"}
            )
        if self._library.effective_grants.of(manifest) is not None:
            return None
        thin = what_would_raise(report)
        return NeedsApproval(
            tool=manifest.name,
            version=manifest.version,
            grants=in_words(manifest.grants),
            how=how_to_grant(manifest) if verified else f"Only verified tools are given grants. {thin}",
            trust=manifest.trust,
            to_raise_trust=thin,
            kept=self._why_kept(manifest),
            assumed=assumptions_in(report),
        )
