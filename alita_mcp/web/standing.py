"""How a tool stands, in the words and colours of the pages."""

from __future__ import annotations

from typing import NamedTuple

from alita_mcp.library.library import Library
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.trust.trust import may_hold_grants


class Badge(NamedTuple):
    """A word in a colour."""

    colour: str
    """`ok`, `warn`, `bad`, or nothing."""
    word: str


def badges_of(entry: CatalogueEntry, *, reviewed: bool) -> list[Badge]:
    """Trust of the current version, and whatever keeps a tool from being called or seen as others are."""
    trust = entry.manifest.trust
    found = [Badge("ok" if trust == "verified" else "warn", trust)]
    if entry.state != "enabled":
        found.append(Badge("bad", entry.state))
    if not entry.approved:
        found.append(Badge("warn", "waits for approval"))
    if not reviewed:
        found.append(Badge("", "unreviewed"))
    if entry.pinned:
        found.append(Badge("", "pinned"))
    return found


def describe_standing(entry: CatalogueEntry) -> str:
    """What the actions of a tool's page change, as in `v3, enabled, pinned`."""
    return f"v{entry.manifest.version}, {entry.state}{', pinned' if entry.pinned else ''}"


def waiting_version(library: Library, entry: CatalogueEntry) -> int | None:
    """The newest version, the current or a later one, that could be granted what it asks for and is not."""
    manifests = [entry.manifest]
    if entry.versions[-1] > entry.manifest.version:
        known = library.tools.versions(entry.name)
        manifests = [each.manifest for each in known if each.quarantined is None]
    waiting = (
        each.version
        for each in manifests
        if each.version >= entry.manifest.version
        and may_hold_grants(each)
        and library.effective_grants.of(each) is None
    )
    return next(waiting, None)
