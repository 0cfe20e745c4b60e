"""Grants in force for a version: what it asks for, as far as a person approved it, or what is still missing.

An approval binds to the digest of one version and never gives a tool more than it asks for; hosts that the manifest
leaves open (`*`) are those that a person names, and no others.
"""

from __future__ import annotations

from collections.abc import Callable

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.grants.hosts import ANY
from alita_mcp.library.rows import Approval, CatalogueEntry
from alita_mcp.library.trust.trust import MORE_TESTS, may_hold_grants
from alita_mcp.values import Grants, Manifest

OPEN_HOSTS = "network (hosts that you name)"
"""How `*` reads to people."""


def in_words(grants: Grants) -> tuple[str, ...]:
    """Each single grant in a few words, as people read it: `network api.example.org`, `model`, `secret NAME`."""
    words = [OPEN_HOSTS] if ANY in grants.network else []
    words += [f"network {host}" for host in grants.network if host != ANY]
    words += [f"workspace {grants.workspace}"] if grants.workspace != "none" else []
    words += ["model"] if grants.model else []
    words += [f"tool {name}" for name in grants.tools]
    return (*words, *(f"secret {name}" for name in grants.secrets))


class EffectiveGrants:
    """Grants of all versions as they stand now; safe to use from several threads."""

    def __init__(self, approval: Callable[[str, str], Approval | None]) -> None:
        """`approval` asks the catalogue about a tool's name and digest."""
        self._approval = approval

    def with_approval(self, entry: CatalogueEntry) -> CatalogueEntry:
        """A tool, approved exactly when all that it asks for is granted."""
        if entry.manifest.grants.is_pure:
            return entry
        granted = self.of(entry.manifest) is not None
        return entry if entry.approved is granted else entry.model_copy(update={"approved": granted})

    def of(self, manifest: Manifest) -> Grants | None:
        """The grants under which this version runs now; None when something that it asks for is not granted.

        A version that is not `verified` is given none, whatever was approved.
        """
        if manifest.grants.is_pure:
            return manifest.grants
        approval = self._approval(manifest.name, manifest.digest) if may_hold_grants(manifest) else None
        if approval is None or approval.part is not None:
            return approval.part if approval else None
        return None if ANY in manifest.grants.network else manifest.grants

    def not_granted(self, manifest: Manifest) -> ToolUnavailable:
        """The error for a version that asks for what was not granted, or for anything while it is not verified."""
        if not may_hold_grants(manifest):
            return too_thin(manifest, how_to_grant(manifest))
        approved = self._approval(manifest.name, manifest.digest) is not None
        lacks = [OPEN_HOSTS] if approved else in_words(manifest.grants)
        return ToolUnavailable(
            f"{manifest.name} asks for grants that nobody approved: {', '.join(lacks)}.",
            hint=how_to_grant(manifest),
        )


def too_thin(manifest: Manifest, hint: str) -> ToolUnavailable:
    """The error for a version whose evidence is too thin for grants."""
    asked = ", ".join(in_words(manifest.grants))
    return ToolUnavailable(
        f"{manifest.name} v{manifest.version} is {manifest.trust}, and grants are given to verified tools only; "
        f"it asks for {asked}.",
        hint=hint,
    )


def how_to_grant(manifest: Manifest) -> str:
    """Hint that says how a person grants what a version asks for."""
    if not may_hold_grants(manifest):
        return f"It has to be verified first. {MORE_TESTS}; inspect_tool, or `alita show {manifest.name}`, says which."
    if ANY in manifest.grants.network:
        return f"A person names the hosts: `alita approve {manifest.name} --network HOST`."
    return f"A person can approve them: `alita approve {manifest.name}`."
