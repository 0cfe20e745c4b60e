"""What the catalogue answers: journal rows, claims, what it holds against a version's files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from alita_mcp.values import Grants, Value

By = Literal["person", "client", "policy"]
"""Who asks for a change: a person at the command line, a client's model, or `ALITA_POLICY`."""


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


class Origin(Value):
    """Where a version comes from, and whether a person looked at it as it is now."""

    made_by: str = ""
    """What the client called itself; empty where it is not known."""
    reviewed: bool = False


@dataclass(frozen=True)
class Approval:
    """That a person granted what one digest asks for."""

    part: Grants | None = None
    """What of it; None: all."""


@dataclass(frozen=True)
class VersionRow:
    """What the catalogue holds against a version's files."""

    seal: str
    quarantined: str | None
