"""An accepted version into the library: what a client could not list is refused, what asks for grants waits."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.lowlevel

from alita_mcp.errors import NameTaken
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.library import Library
from alita_mcp.library.trust.trust import is_lower, may_hold_grants, what_would_raise
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.progress import ReportStage
from alita_mcp.settings import Settings
from alita_mcp.synthesis.requests.outcomes import Created, Exists, NeedsApproval, Outcome, Rejected
from alita_mcp.synthesis.specification.assumptions import assumed_of
from alita_mcp.values import AcceptedVersion, Manifest, VerificationReport

Admit = Callable[[Manifest], tuple[str, ...]]
"""A manifest in, the reasons why some clients could not list its tool out."""


class Publisher:
    """Publishes what all gates accepted, and says what it can do then."""

    def __init__(self, library: Library, settings: Settings, admit: Admit) -> None:
        self._library = library
        self._settings = settings
        self._admit = admit

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
        with anyio.CancelScope(shield=True):  # from here on it is published whole, and whoever asked hears so
            outcome = await self._published(accepted, follows)
        return outcome  # noqa: RET504 - a scope may swallow what is raised in it, so nothing is returned from there

    async def _published(self, accepted: AcceptedVersion, follows: int) -> Outcome:
        name = accepted.draft.name
        try:
            manifest = await self._library.publish(accepted, expected_version=follows)
        except NameTaken:
            entry = self._library.entry(name)
            return Exists(
                tool=name, version=entry.manifest.version, why="another client published this name first"
            )
        return await self.outcome_of(manifest, accepted.report)

    async def outcome_of(self, manifest: Manifest, report: VerificationReport) -> Outcome:
        """What a published version can do now: all that it asks for was granted, or a person is needed."""
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
            assumed=assumed_of(report),
        )

    def _why_kept(self, manifest: Manifest) -> str:
        """Why a version that was published is not the current one; empty when it is."""
        current = self._library.entry(manifest.name).manifest
        if current.version == manifest.version:
            return ""
        if is_lower(manifest.trust, current.trust):
            return f"v{current.version} stays current: it is {current.trust}, v{manifest.version} {manifest.trust}"
        how = f"`alita rollback {manifest.name} {manifest.version}` makes v{manifest.version} current"
        return f"v{current.version} stays current: a person decides; {how}"

    async def unless_granted(self, manifest: Manifest, report: VerificationReport) -> NeedsApproval | None:
        """That a person or more evidence is needed; None when all that a version asks for is granted by now."""
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
            assumed=assumed_of(report),
        )
