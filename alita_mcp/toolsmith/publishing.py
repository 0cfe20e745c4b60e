"""Publisher of drafts: proves them in the gates, compares them with known tools and puts them into the library.

A tool that some client could not list is refused, and one that asks for grants waits for them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel

from alita_mcp.errors import NameTaken, ToolNotFound, ToolUnavailable
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import is_lower, may_hold_grants, what_verifies, what_would_raise
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.progress import ReportStage
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.carried_examples import CarriedExamples, carry_over_examples
from alita_mcp.toolsmith.duplicates.duplicates import find_same
from alita_mcp.toolsmith.package_check import find_slip
from alita_mcp.toolsmith.requests.outcomes import (
    Created,
    Exists,
    NeedsApproval,
    Outcome,
    Published,
    Rejected,
    rejection,
)
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.toolsmith.specification import assumptions_in
from alita_mcp.values import AcceptedVersion, Draft, Manifest, VerificationReport
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.verify import Verdict, verify

Admit = Callable[[Manifest], tuple[str, ...]]
"""Returns the reasons why some clients could not list the tool of a manifest."""

NAME_IS_TAKEN = Rejected(stage="policy", reason="This name is taken.", fix="Choose another name.")
"""Whose tool has it is not said."""
Amend = Callable[[Draft, Verdict], Awaitable[tuple[Draft, Verdict]]]
"""Amends an accepted draft and its verdict before they are stored: more in the report, perhaps more examples."""


class Publisher:
    """Takes drafts through all gates into the library, and says what the published version can do then."""

    def __init__(self, library: Library, sandbox: Sandbox, settings: Settings, admit: Admit) -> None:
        self._library = library
        self._sandbox = sandbox
        self._settings = settings
        self._admit = admit

    def version_to_follow(self, name: str, *, update: bool) -> int | Exists | Rejected:
        """The version that a draft of this name would follow (0: a new name), or why it may not be published."""
        # The name (1) is new, (2) is blocked, (3) belongs to another tool, or (4) names the tool to update.
        try:
            entry = self._library.entry(name)
        except ToolNotFound:
            if self._library.is_taken(name):
                return NAME_IS_TAKEN
            if not update:
                return 0
            fix = "Leave out update to make a new tool, or name the tool to update."
            return Rejected(stage="policy", reason=f"There is no tool {name!r} to update.", fix=fix)
        except ToolUnavailable as gone:
            return Rejected(stage="policy", reason=gone.message, fix=gone.hint or "Choose another name.")
        if not update:
            why = "a tool of this name exists; send update=true for a new version, or choose another name"
            return Exists(tool=entry.name, version=entry.manifest.version, why=why)
        if self._library.is_taken(name):
            return NAME_IS_TAKEN
        if entry.state == "disabled":
            reason = f"{name} is disabled; an update would not be callable."
            fix = "Ask a person to enable it, or choose another name."
            return Rejected(stage="policy", reason=reason, fix=fix)
        return max(entry.versions)

    async def submit(
        self,
        draft: Draft,
        on_stage: ReportStage,
        *,
        update: bool,
        breaks: Sequence[dict[str, Any]] = (),
        amend: Amend | None = None,
        request: SynthesisRequest,
    ) -> Outcome:
        """Takes a request's draft through all gates and into the library; `amend` has the last word on what passed.

        An update is held to the examples of the version that it replaces, but for those that `breaks` names.

        Raises:
            SandboxError: the sandbox failed, which says nothing about the draft.
        """
        library = self._library
        follows = self.version_to_follow(draft.name, update=update)
        if not isinstance(follows, int):
            return follows
        unfit = find_slip(draft.packages, pinned_are_meant=True)
        if unfit is not None:
            return rejection(unfit)
        carried, rehearsal = CarriedExamples(draft), Rehearsal(self._sandbox, library.read)
        if follows:
            await on_stage("update")
            with suppress(ToolUnavailable):  # quarantined: a new version is the way out
                replaced = await library.read(draft.name)
                found = await carry_over_examples(draft, replaced, breaks, rehearsal, on_stage)
                if isinstance(found, Rejected):
                    return found
                carried = found
            draft = carried.draft
            for version in dict.fromkeys((library.entry(draft.name).manifest.version, follows)):
                with suppress(ToolUnavailable):
                    if (await library.read(draft.name, version)).draft == draft:
                        why = f"v{version} is the same, word for word"
                        return Exists(tool=draft.name, version=version, why=why)

        verdict = await verify(draft, self._sandbox, on_stage, library.read)
        if verdict.report.failure is not None:
            return rejection(verdict.report.failure)
        if amend is not None:
            draft, verdict = await amend(draft, verdict)
        if verdict.contract is None or verdict.lock is None:
            raise AssertionError("an accepted verdict carries contract and lock")
        if not follows:
            await on_stage("duplicates")
            names = await library.similar(" ".join((draft.name, draft.description, *draft.use_when)))
            same = await find_same(draft, verdict, names, library, rehearsal)
            if same is not None:
                return same
        accepted = AcceptedVersion(
            draft=draft,
            contract=verdict.contract,
            lock=verdict.lock,
            report=verdict.report,
            made_by=request.made_by,
        )
        outcome = await self._publish(accepted, follows, on_stage)
        if not isinstance(outcome, Published):
            return outcome
        return outcome.model_copy(update={"breaks": carried.broken})

    async def _publish(self, accepted: AcceptedVersion, follows: int, on_stage: ReportStage) -> Outcome:
        """Stores the version that comes after `follows`, unless some client could not list it."""
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
                if self._library.is_taken(accepted.draft.name):
                    return NAME_IS_TAKEN
                now = self._library.entry(accepted.draft.name).manifest
                why = "another client published this name first"
                outcome = Exists(tool=now.name, version=now.version, why=why)
        return outcome

    async def outcome_of(self, manifest: Manifest, report: VerificationReport) -> Outcome:
        """Outcome for a published version: created, or waiting for a person who grants what it asks for."""
        name = manifest.name
        waits = await self.settle_grants(manifest, report)
        return waits or Created(
            tool=name,
            version=manifest.version,
            trust=manifest.trust,
            tests=f"{report.examples_passed}/{report.examples_total}",
            permissions=in_words(manifest.grants),
            report=f"alita://tools/{name}/v{manifest.version}/report",
            to_raise_trust=what_would_raise(report),
            rests_on=what_verifies(report),
            kept=self._why_kept(manifest),
            assumed=assumptions_in(report),
        )

    def _why_kept(self, manifest: Manifest) -> str:
        """Why a version that was published is not the current one; empty when it is."""
        # The version (1) is current, (2) has less trust than the current one, or (3) waits for a person's choice.
        current = self._library.entry(manifest.name).manifest
        if current.version == manifest.version:
            return ""
        if is_lower(manifest.trust, current.trust):
            return f"v{current.version} stays current: it is {current.trust}, v{manifest.version} {manifest.trust}"
        how = f"`alita tool rollback {manifest.name} {manifest.version}` makes v{manifest.version} current"
        return f"v{current.version} stays current: a person decides; {how}"

    async def settle_grants(self, manifest: Manifest, report: VerificationReport) -> NeedsApproval | None:
        """Grants what the policy allows; returns the outcome for a version that needs a person or more evidence."""
        # the policy grants what it may to verified tools; hosts that a person has to name wait for that person
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
