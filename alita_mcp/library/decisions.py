"""Decisions of people about tools, kept beside the tools' files, and the record of the home that they belong to.

The catalogue is the truth while it is there. These files speak when it is lost, and may forbid but never allow.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from alita_mcp import __version__
from alita_mcp.errors import LibraryError
from alita_mcp.library.disk import Damaged, read_plain_file, replace_file
from alita_mcp.values import ToolName, Value

DECISIONS_FILE = "decisions.json"
HOME_FILE = "home.json"
HOME_FORMAT = 2
"""Of the home and its catalogue (`user_version`); grows when an older alita could not use what a newer one writes."""
MAX_BYTES = 256 << 10
MAX_NUMBER = 2**53
MAX_VERSION_TEXT = 20


class Decisions(Value):
    """What people decided about one tool."""

    model_config = ConfigDict(strict=True)

    name: ToolName
    number: int = Field(ge=0, lt=MAX_NUMBER)
    """The change of the catalogue after which it was so."""
    state: Literal["enabled", "disabled", "deleted"] = "enabled"
    pinned: bool = False
    version: int | None = Field(default=None, ge=1)
    """The version that a person chose."""
    approved: tuple[str, ...] = ()
    """Digests of the versions that were granted something."""
    reviewed: tuple[str, ...] = ()
    """Digests of the versions that a person has read."""


def read_decisions(root: Path, name: str) -> Decisions | None:
    """What people decided about a tool, as its folder below `root` has it; None where it has nothing.

    Raises:
        Damaged: the file or the folder is a link, or not what this alita writes for this tool.
        OSError: it cannot be read.
    """
    path = root / name / DECISIONS_FILE
    if path.parent.is_symlink() or path.is_symlink():
        raise Damaged(f"{path.parent if path.parent.is_symlink() else path} is a link")
    if not path.exists():
        return None
    try:
        found = Decisions.model_validate_json(read_plain_file(path, MAX_BYTES))
    except ValueError as strange:
        raise Damaged(f"{path} cannot be read") from strange
    if found.name != name:
        raise Damaged(f"{path} is about {found.name}")
    return found


def write_decisions(root: Path, decisions: Decisions) -> bool:
    """Keeps decisions in the tool's folder below `root`; False where there never were any, and nothing is written.

    Raises:
        LibraryError: the folder is a link.
        OSError: the disk refuses.
    """
    path = root / decisions.name / DECISIONS_FILE
    refuse_link(path.parent)
    nothing = Decisions(name=decisions.name, number=decisions.number)
    if decisions == nothing and not os.path.lexists(path):
        return False
    path.parent.mkdir(exist_ok=True)
    replace_file(path, f"{decisions.model_dump_json(indent=2)}\n".encode())
    return True


def read_home_number(home: Path) -> int | None:
    """The last change of the catalogue whose decisions lie beside the tools; None where nobody knows.

    Raises:
        LibraryError: a newer alita wrote this home, or its record is a link.
        OSError: it cannot be read.
    """
    refuse_link(home / HOME_FILE)
    try:
        record = json.loads(read_plain_file(home / HOME_FILE, MAX_BYTES))
        refuse_newer_home(home, record["format"], str(record.get("alita", "")))
        number: int = record["number"]
        is_number = 0 <= number < MAX_NUMBER
    except (Damaged, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return number if is_number else None


def write_home_number(home: Path, number: int) -> None:
    """Records that all decisions up to a change of the catalogue lie beside the tools.

    Raises:
        OSError: the disk refuses.
    """
    record = {"format": HOME_FORMAT, "alita": __version__, "number": number}
    replace_file(home / HOME_FILE, f"{json.dumps(record)}\n".encode())


def refuse_newer_home(home: Path, found: int, written_by: str = "") -> None:
    """Refuses to work in a home whose format is newer than this program's; `written_by` is the version that wrote it.

    Raises:
        LibraryError: it is newer; the message names both formats, and the hint the version that is needed.
    """
    if found <= HOME_FORMAT:
        return
    needed = f" {written_by} or later" if written_by.replace(".", "").isalnum() else ""
    raise LibraryError(
        f"{home} was written by a newer alita (format {found}; alita {__version__} knows formats up to "
        f"{HOME_FORMAT}). Nothing was changed.",
        hint=f"Upgrade alita-mcp-server{needed[:MAX_VERSION_TEXT]}, or set ALITA_HOME to another folder.",
    )


def refuse_link(path: Path) -> None:
    """Refuses a link where alita keeps a file or folder of its own.

    Raises:
        LibraryError: it is one; the hint says what to put in its place.
    """
    if not path.is_symlink():
        return
    raise LibraryError(
        f"{path} is a link to {path.readlink()}, which alita does not follow. Nothing was changed.",
        hint="End every alita that uses this home, then put what the link leads to in its place, or remove it.",
    )
