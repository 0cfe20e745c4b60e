"""How a tool stands, in the words and colours of the pages."""

from __future__ import annotations

from typing import NamedTuple

from alita_mcp.library.catalogue.waiting import WaitingVersion
from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry


class Badge(NamedTuple):
    """A word in a colour."""

    colour: str
    """`ok`, `warn`, `bad`, or nothing."""
    word: str


def badges_of(entry: CatalogueEntry, waiting: WaitingVersion | None, *, reviewed: bool) -> list[Badge]:
    """Trust of the current version, and whatever keeps a tool from being called or seen as others are.

    `waiting`: the version of it that asks for what it was not granted.
    """
    trust = entry.manifest.trust
    found = [Badge("ok" if trust == "verified" else "warn", trust)]
    if entry.state != "enabled":
        found.append(Badge("bad", entry.state))
    if waiting is not None and not waiting.set_aside:
        other = "" if waiting.manifest.version == waiting.current else f"v{waiting.manifest.version} "
        found.append(Badge("warn", f"{other}waits for approval"))
    elif not entry.approved:
        found.append(Badge("warn", "not approved"))
    if not reviewed:
        found.append(Badge("", "unreviewed"))
    if entry.pinned:
        found.append(Badge("", "pinned"))
    return found


def describe_standing(entry: CatalogueEntry) -> str:
    """What the actions of a tool's page change, as in `v3, enabled, pinned`."""
    return f"v{entry.manifest.version}, {entry.state}{', pinned' if entry.pinned else ''}"


def waiting_versions(library: Library) -> dict[str, WaitingVersion]:
    """Versions that ask for what they were not granted, by the names of their tools; blocks."""
    return {each.manifest.name: each for each in library.waiting_versions()}
