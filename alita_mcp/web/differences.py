"""Difference between two versions of a tool, for the template `_difference.html`."""

from __future__ import annotations

from itertools import islice

from alita_mcp.library.versions.differences import compare_versions
from alita_mcp.unseen import code_rows
from alita_mcp.values import StoredVersion

MAX_LINES = 5_000
"""A longer difference is read at the command line."""
ROW = 1 << 20
"""Columns of a line, which the browser breaks."""


def difference_lines(before: StoredVersion | None, now: StoredVersion) -> list[tuple[str, str]] | None:
    """Lines of the difference with their marks, hidden characters spelled out; None where they are too many."""
    lines = list(islice(compare_versions(before, now, "", ""), 2, MAX_LINES + 3))
    if len(lines) > MAX_LINES:
        return None
    return [(line[0], "".join(code_rows(line[1:], ROW))) for line in lines]
