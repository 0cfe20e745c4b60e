"""Stored environments of every kind of sandbox in one home: listing and pruning."""

from __future__ import annotations

from typing import Any

from alita_mcp.sandbox.choose import BACK_ENDS, load_sandbox
from alita_mcp.sandbox.packages.uses import Use, Uses
from alita_mcp.settings import Settings


def environments_by_kind(settings: Settings) -> dict[str, tuple[Use, ...]]:
    """Known environments of each kind, least recently used first; needs no engine."""
    found = {kind: Uses(settings.home, kind).list_uses() for kind in BACK_ENDS}
    return {kind: tuple(sorted(uses, key=lambda use: use.last_used)) for kind, uses in found.items() if uses}


async def prune(settings: Settings, kind: str) -> tuple[Use, ...]:
    """Drops all environments of a kind that are not in use; returns them.

    Raises:
        SandboxError: its store cannot be reached.
    """
    sandbox: Any = load_sandbox(kind, settings)  # each of ours builds environments
    try:
        dropped: tuple[Use, ...] = await sandbox.environments.collect(keep_seconds=0)
        return dropped
    finally:
        await sandbox.aclose()
