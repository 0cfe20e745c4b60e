"""What a catalogue that is gone, or older than the tools' files, takes in from beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from alita_mcp.errors import ToolQuarantined
from alita_mcp.library.clock import now
from alita_mcp.library.decisions import Decisions, read_decisions
from alita_mcp.library.disk import Damaged
from alita_mcp.library.rows import Adopted
from alita_mcp.library.trust.trust import unproven
from alita_mcp.library.versions.files import (
    UnknownManifest,
    quarantine_reason,
    read_version_folder,
    seal_of,
    unpack,
    versions_under,
)
from alita_mcp.values import TOOL_NAME, Manifest

SHOWN_NAMES = 5
_WAS = {
    "missing": "The catalogue was missing and was rebuilt from generated_tools: {tools} tools, {versions} versions. "
    "Approvals, usage, learned words and the journal from before are lost.",
    "older": "The catalogue was older than generated_tools and was completed from there: {tools} tools, {versions} "
    "versions. Approvals, usage, learned words and the journal since that copy are lost.",
}


class Findings(NamedTuple):
    """What lies in the folders of tools and is not in the catalogue."""

    versions: list[Adopted]
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
            found.versions.append(Adopted(unproven(unpack(files, name, version)).manifest, seal_of(files)))
        except UnknownManifest:
            note("left alone, because a newer alita wrote it", f"{name} v{version}")
        except ToolQuarantined as damaged:
            found.versions.append(_damaged_version(name, version, quarantine_reason(damaged)))
            note("quarantined", f"{name} v{version} ({found.versions[-1].damage})")
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


def journal_detail(found: Findings, was: str) -> dict[str, Any]:
    """What is journalled of a rebuilding; empty where there was nothing to take in."""
    tools = {each.manifest.name for each in found.versions}
    if not tools and not found.notes:
        return {}
    return {"was": was, "tools": len(tools), "versions": len(found.versions), "notes": found.notes}


def describe_rebuilding(detail: Mapping[str, Any]) -> str:
    """A journalled rebuilding for a person: from what, how much, how tools stand, and what nobody knows any more."""
    lines = [_WAS[detail["was"]].format(**detail)]
    if detail["versions"]:
        lines[0] += " Each of these tools passes its gates again before its first call."
    for what, names in detail["notes"].items():
        more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
        lines.append(f"{what}: {', '.join(names[:SHOWN_NAMES])}{more}")
    return "\n  ".join(lines)


def _damaged_version(name: str, version: int, reason: str) -> Adopted:
    """A version that cannot run; with it its tool's name stays taken, disabled or deleted as it was."""
    schema = {"type": "object"}
    manifest = Manifest(
        name=name,
        version=version,
        description="",
        summary="",
        input_schema=schema,
        output_schema=schema,
        wraps_result=True,
        trust="provisional",
        deterministic=False,
        created_at=now(),
        digest="",
    )
    return Adopted(manifest, seal="", damage=reason)
