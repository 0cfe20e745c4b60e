"""Later fate of the versions that a model wrote, read from the journal: still standing or found wrong.

Found wrong is a version that was replaced after a complaint, or that was rolled back to another one. A quarantined
version is not: its files were changed on the disk, which says nothing of its author.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from alita_mcp.verification.agreement.record import Tally

if TYPE_CHECKING:
    from alita_mcp.library.rows import JournalRow

SYNTHESIS = "synthesis"
ROLLED_BACK = "rolled back"
EVENTS = (SYNTHESIS, ROLLED_BACK)
"""The rows that tell it."""
PUBLISHED = ("created", "needs_approval")
_Version = tuple[str, int]


def later_of(model: str, rows: Iterable[JournalRow]) -> Tally:
    """Counts this model's versions that were found wrong and those that stand; the order of `rows` does not matter."""
    writers: dict[_Version, object] = {}
    current: dict[str, int] = {}
    wrong: set[_Version] = set()
    for row in sorted(rows, key=lambda row: row.id):
        if row.name is None or row.version is None:
            continue
        before, now = (row.name, current.get(row.name, 0)), (row.name, row.version)
        if row.event == ROLLED_BACK:
            wrong |= {before} if row.version < before[1] else set()
            wrong.discard(now)  # it is wanted back
            current[row.name] = row.version
        elif row.event == SYNTHESIS and row.detail.get("status") in PUBLISHED:
            wrong |= {before} if row.detail.get("complaint") is True else set()
            writers[now] = _coder(row)
            if not row.detail.get("kept"):
                current[row.name] = row.version
    own = {version for version, writer in writers.items() if writer == model}
    return Tally(right=len(own - wrong), wrong=len(own & wrong))


def _coder(row: JournalRow) -> object:
    named = row.detail.get("models")
    return named.get("coder") if isinstance(named, dict) else None
