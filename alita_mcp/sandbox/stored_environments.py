"""Stored environments of every kind of sandbox in one home: listing and pruning."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from alita_mcp.sandbox.choose import BACK_ENDS, load_sandbox
from alita_mcp.sandbox.packages.collector import NOTHING_KEPT, Collected
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.sandbox.packages.uses import Use, Uses
from alita_mcp.settings import Settings


@runtime_checkable
class PackagedSandbox(Protocol):
    """Sandbox that builds environments of packages."""

    environments: EnvironmentBuilder


def kept_environments(settings: Settings) -> dict[str, tuple[Use, ...]]:
    """Known environments of each kind, least recently used first; needs no engine."""
    found = {kind: Uses(settings.home, kind).listed() for kind in BACK_ENDS}
    return {kind: tuple(sorted(uses, key=lambda use: use.last_used)) for kind, uses in found.items() if uses}


async def prune(settings: Settings, kind: str) -> Collected:
    """Drops all environments of a kind that no living process uses.

    Raises:
        SandboxError: its store cannot be reached.
    """
    sandbox = load_sandbox(kind, settings)
    try:
        if not isinstance(sandbox, PackagedSandbox):
            return Collected(dropped=(), kept=())
        return await sandbox.environments.collect(NOTHING_KEPT)
    finally:
        await sandbox.aclose()
