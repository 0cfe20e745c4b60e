"""`alita log --gaps`: searches that found no tool, as needs, the most wanted first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, columns
from alita_mcp.library.catalogue.use import FOUND_NOTHING
from alita_mcp.library.journal.gaps import find_gaps

if TYPE_CHECKING:
    from alita_mcp.library.journal.gaps import Gap
    from alita_mcp.library.library import Library

ROWS = 100_000
LOOKED_AT = 3
"""For each gap to show so many are looked at, because some are filled by now."""


async def list_gaps(output: Output, limit: int) -> int:
    """Prints needs that no tool serves, the most wanted first; then those that one serves by now."""
    async with opened_library() as library:
        gaps = await gaps_in(library, limit)
    output.result(gaps, columns([_line(gap) for gap in gaps]))
    if not output.as_json:
        open_gaps = sum(not gap.now for gap in gaps)
        output.note(f"{open_gaps} needs without a tool." if gaps else "No search found nothing.")
    return 0


async def gaps_in(library: Library, limit: int) -> list[Gap]:
    """Needs that were searched for in vain, the most wanted first; then those that a tool serves by now."""
    rows = await anyio.to_thread.run_sync(library.journal, ROWS, FOUND_NOTHING)
    found = await anyio.to_thread.run_sync(find_gaps, rows)
    looked_at = [await _as_of_now(gap, library) for gap in found[: LOOKED_AT * limit]]
    return sorted(looked_at, key=lambda gap: bool(gap.now))[:limit]


async def _as_of_now(gap: Gap, library: Library) -> Gap:
    """With the tool that would be found today."""
    found = await library.search(gap.need, 1)
    return gap.model_copy(update={"now": found.results[0].name if found.fit == "match" else ""})


def _line(gap: Gap) -> tuple[str, ...]:
    said = f"also: {'; '.join(gap.others)}" if gap.others else ""
    return f"{gap.times}x", gap.last[:10], gap.need, f"now: {gap.now}" if gap.now else said
