"""What a catalogue that is gone, or older than the tools' files, takes in from beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from alita_mcp.errors import ToolQuarantined
from alita_mcp.library.clock import now
from alita_mcp.library.decisions import Decisions, read_decisions
from alita_mcp.library.disk import Damaged
from alita_mcp.library.trust.trust import unproven
from alita_mcp.library.versions.files import (
    UnknownManifest,
    read_version_folder,
    seal_of,
    unpack,
    versions_under,
)
from alita_mcp.values import TOOL_NAME, Manifest

SHOWN_NAMES = 5


class Findings(NamedTuple):
    """What lies in the folders of tools and is not in the catalogue."""

    versions: list[tuple[Manifest, str, str]]
    """Each with its seal, and why it is quarantined, if it is."""
    decisions: list[Decisions]
    notes: dict[str, list[str]]
    """What a person should know → the tools of which it is true."""


def look_through(root: Path, known: set[tuple[str, int]], after: int) -> Findings:
    """What the folders below `root` hold beyond the `known` versions, and the decisions made after a change.

    Raises:
        LibraryError, OSError: the disk refuses, so that nobody knows what it holds.
    """
    found = Findings([], [], {})

    def note(what: str, name: str) -> None:
        found.notes.setdefault(what, []).append(name)

    for name, version in versions_under(root):
        if (name, version) in known:
            continue
        try:
            files = read_version_folder(root / name / f"v{version}", name, version)
            found.versions.append((unproven(unpack(files, name, version)).manifest, seal_of(files), ""))
        except UnknownManifest:
            note("left alone, because a newer alita wrote it", f"{name} v{version}")
        except ToolQuarantined as damaged:
            reason = damaged.message.partition(": ")[2].removesuffix(".")
            found.versions.append((_unknown_version(name, version), "", reason))
            note("quarantined", f"{name} v{version} ({reason})")
    for name in sorted(each.name for each in root.iterdir() if re.fullmatch(TOOL_NAME, each.name)):
        try:
            decisions = read_decisions(root, name)
        except Damaged as damaged:
            found.decisions.append(Decisions(name=name, number=0, state="disabled"))
            note("disabled (`alita tool enable NAME`), because what was decided is lost", str(damaged))
            continue
        if decisions is None or decisions.number <= after:
            continue
        found.decisions.append(decisions)
        if decisions.state != "enabled":
            note(f"{decisions.state} as before", name)
        if decisions.pinned:
            note("pinned as before", name)
        if decisions.version:
            note("kept at the version that a person chose", name)
        if decisions.approved:
            note("approved before and not any more (`alita approve NAME`)", name)
    return found


def report_rebuilding(found: Findings, *, is_new: bool) -> str:
    """For a person: from what the catalogue was rebuilt, how tools stand, and what nobody knows any more.

    Empty where nothing was found.
    """
    tools = {manifest.name for manifest, _, _ in found.versions}
    if not tools and not found.notes:
        return ""
    was = "missing" if is_new else "older than the tools"
    since = "from before" if is_new else "since that copy"
    report = (
        f"The catalogue was {was}, and was rebuilt from generated_tools: {len(tools)} tools were taken in. Approvals, "
        f"usage and the journal {since} are lost."
    )
    for what, names in found.notes.items():
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        report += f"\n  {what}: {', '.join(names[:SHOWN_NAMES])}{more}"
    return report


def _unknown_version(name: str, version: int) -> Manifest:
    """The manifest of a version that cannot be read; with it its tool stays disabled or deleted as it was."""
    schema = {"type": "object"}
    return Manifest(
        name=name, version=version, description="", summary="", input_schema=schema, output_schema=schema,
        wraps_result=True, trust="provisional", deterministic=False, created_at=now(), digest="",
    )  # fmt: skip
