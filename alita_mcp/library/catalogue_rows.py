"""What the catalogue answers: journal rows, claims, what it holds against a version's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from alita_mcp.values import Value


class JournalRow(Value):
    """One event in the library's life."""

    id: int
    time: str
    event: str
    name: str | None
    version: int | None
    detail: dict[str, Any]


class Wording(Value):
    """A request in other words than its author's that a tool is found by."""

    text: str
    learned: bool
    """Seen in use; otherwise somebody who asked for a new tool was answered with this one."""


class Claim(Value):
    """A name that a process is publishing right now, or was when it died."""

    name: str
    version: int
    owner: str


@dataclass(frozen=True)
class VersionRow:
    """What the catalogue holds against a version's files."""

    seal: str
    quarantined: str | None
