"""What a catalogue that is gone, or older than the tools' files, can take in from beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
_LABELS = {
    "disabled": "disabled as before",
    "deleted": "deleted as before",
    "pinned": "pinned as before",
    "chosen": "kept at the version that a person chose",
    "approved": "approved before and not any more (`alita approve NAME`)",
    "unreadable": "disabled, because what was decided about it is lost (`alita tool enable NAME`)",
    "unknown": "left alone, because a newer alita wrote it",
    "refused": "not taken in, because its files are damaged",
}


@dataclass
class Findings:
    """What lies in the folders of tools and is not in the catalogue."""

    versions: list[Adopted] = field(default_factory=list)
    decisions: dict[str, Decisions] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Tool → why nobody knows what was decided about it."""
    refused: list[tuple[str, int, str]] = field(default_factory=list)
    """Versions that are not what was verified, each with the reason."""
    unknown: list[tuple[str, int]] = field(default_factory=list)
    """Versions that need a newer alita."""

    @property
    def newest(self) -> int:
        """The last change of which the decisions tell."""
        return max((each.number for each in self.decisions.values()), default=0)


def look_through(root: Path, known: set[tuple[str, int]], after: int) -> Findings:
    """What the folders below `root` hold beyond the `known` versions, and the decisions made after a change.

    Raises:
        LibraryError: the disk refuses; nothing is known of what it holds.
        OSError: likewise.
    """
    found = Findings()
    for name, version in versions_under(root):
        if (name, version) in known:
            continue
        try:
            files = read_version_folder(root / name / f"v{version}", name, version)
            found.versions.append(Adopted(unproven(unpack(files, name, version)).manifest, seal_of(files)))
        except UnknownManifest:
            found.unknown.append((name, version))
        except ToolQuarantined as damaged:
            found.refused.append((name, version, quarantine_reason(damaged)))
    there = {name for name, _ in (*known, *found.unknown)} | {each.manifest.name for each in found.versions}
    for name in sorted(each.name for each in root.iterdir() if re.fullmatch(TOOL_NAME, each.name)):
        try:
            decisions = read_decisions(root, name)
        except Damaged as damaged:
            found.unreadable[name] = damaged.message
            continue
        if decisions is not None and decisions.number > after:
            found.decisions[name] = decisions
            if name not in there and decisions.state != "enabled":
                found.versions.append(_placeholder(name, found.refused))
    return found


def restored_values(found: Findings) -> list[dict[str, Any]]:
    """The parameters of `RESTORE` for each tool; one whose decisions cannot be read is disabled."""
    cautious = {"pinned": None, "version": None, "reviewed": "[]", "state": "disabled"}
    return [{"name": name, **cautious} for name in found.unreadable] + [
        {
            "name": name,
            "state": each.state,
            "pinned": each.pinned,
            "version": each.version,
            "reviewed": json.dumps(each.reviewed),
        }
        for name, each in found.decisions.items()
    ]


def journal_detail(found: Findings, is_new: bool) -> dict[str, Any]:
    """What is journalled of a rebuilding; empty where there was nothing to take in."""
    states = ("disabled", "deleted")
    names = {
        **{
            state: [name for name, each in found.decisions.items() if each.state == state] for state in states
        },
        "pinned": [name for name, each in found.decisions.items() if each.pinned],
        "chosen": [name for name, each in found.decisions.items() if each.version is not None],
        "approved": [name for name, each in found.decisions.items() if each.approved],
        "unreadable": [*found.unreadable.values()],
        "unknown": [f"{name} v{version}" for name, version in found.unknown],
        "refused": [f"{name} v{version}: {reason}" for name, version, reason in found.refused],
    }
    tools = len({each.manifest.name for each in found.versions})
    if not tools and not any(names.values()):
        return {}
    return {"was": "missing" if is_new else "older", "tools": tools, "versions": len(found.versions), **names}


def describe_rebuilding(detail: Mapping[str, Any]) -> str:
    """A journalled rebuilding for a person: from what, how much, how tools stand, and what nobody knows any more."""
    lines = [_WAS[detail["was"]].format(**detail)]
    if detail["versions"]:
        lines[0] += " Each of these tools passes its gates again before its first call."
    for key, label in _LABELS.items():
        if names := detail[key]:
            more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
            lines.append(f"{label}: {', '.join(names[:SHOWN_NAMES])}{more}")
    return "\n  ".join(lines)


def _placeholder(name: str, refused: list[tuple[str, int, str]]) -> Adopted:
    """A version that stands for a tool whose files are damaged or gone, so that its name stays disabled or deleted."""
    damaged = [(version, reason) for refused_name, version, reason in refused if refused_name == name]
    version, reason = max(damaged, default=(1, "its folder is missing"))
    manifest = Manifest(
        name=name,
        version=version,
        description="",
        summary="",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        wraps_result=True,
        trust="provisional",
        deterministic=False,
        created_at=now(),
        digest="",
    )
    return Adopted(manifest, seal="", damage=reason)
