"""What the catalogue answers: journal rows, claims, the standing of all tools at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alita_mcp.values import CatalogueEntry, Value


class JournalRow(Value):
    """One event in the library's life."""

    id: int
    time: str
    event: str
    name: str | None
    version: int | None
    detail: dict[str, Any]


class Claim(Value):
    """A name that a process is publishing right now, or was when it died."""

    name: str
    version: int
    owner: str


@dataclass(frozen=True)
class Snapshot:
    """All tools at one moment, the deleted ones too; a higher `serial` is a later moment."""

    serial: int
    entries: Mapping[str, CatalogueEntry]
    evidence: Mapping[tuple[str, int], Mapping[str, str]]
    """By name and version: kinds of sandbox, each with the lock of its own as JSON, empty for the version's."""
    quarantined: frozenset[tuple[str, int]] = frozenset()
    """Versions, current or not, whose files are not what was verified."""
    uncached: frozenset[str] = frozenset()
    """Tools whose results are not kept."""
    approvals: frozenset[tuple[str, str]] = frozenset()
    """Name and digest of every version whose grants a person approved."""
    asking: frozenset[str] = frozenset()
    """Tools whose current version asks for grants."""


@dataclass(frozen=True)
class VersionRow:
    """What the catalogue holds against a version's files."""

    seal: str
    quarantined: str | None
