"""Values that the catalogue returns: entries, journal rows, claims, origins and approvals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from alita_mcp.owners import USER
from alita_mcp.values import Grants, Manifest, Value

ToolState = Literal["enabled", "disabled", "quarantined", "deleted"]

By = Literal["person", "policy"]
"""Who asks for a change: a person at the command line, a client's model, or `ALITA_POLICY`."""


class CatalogueEntry(Value):
    """Tool as the catalogue knows it now: the manifest of its current version, its state and its use."""

    manifest: Manifest
    state: ToolState
    pinned: bool = False
    versions: tuple[int, ...]
    sandboxes: tuple[str, ...]
    """Kinds of sandbox in which the current version passed its gates."""
    approved: bool = True
    """Whether a person approved the grants of this digest; pure tools need none."""
    calls: int = 0
    failures: int = 0
    last_used: str | None = None
    created_at: str

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.manifest.name

    @property
    def callable_now(self) -> bool:
        """Whether `run_tool` and a direct call would reach it."""
        return self.state == "enabled" and self.approved


class JournalRow(Value):
    """One event in the library's life."""

    id: int
    time: str
    event: str
    name: str | None
    version: int | None
    detail: dict[str, Any]


class Claim(Value):
    """Name that a process is publishing right now, or was when it died."""

    name: str
    version: int
    owner: str


class Origin(Value):
    """Origin of a version, and whether a person looked at it as it is now."""

    made_by: str = ""
    """What the client called itself; empty where it is not known."""
    owner: str = USER
    """To whom what that client does belongs."""
    reviewed: bool = False


@dataclass(frozen=True)
class Approval:
    """Approval by a person of what one digest asks for."""

    part: Grants | None = None
    """What of it; None: all."""


@dataclass(frozen=True)
class VersionRow:
    """Row of the catalogue to check a version's files against."""

    seal: str
    quarantined: str | None
