"""Penalty that trust and use put on a tool among nearly equal search results."""

from __future__ import annotations

from datetime import datetime

from alita_mcp.library.rows import CatalogueEntry

FORGOTTEN_DAYS = 30.0
"""A tool last used this long before another one is out of use beside it."""


def usage_penalty(entry: CatalogueEntry, newest: str) -> float:
    """Penalty of a tool among equally likely ones, from 0 to 1, for low trust, failures and disuse.

    `newest` is when one of those was last used. Trust says more than any use; a few failures say little.
    """
    if entry.manifest.trust != "verified":
        return 1.0
    failed = entry.failures / (entry.calls + 5)
    return min(0.9, 0.8 * failed + 0.1 * _out_of_use(entry.last_used or "", newest))


def _out_of_use(last: str, newest: str) -> float:
    """From 0 (as lately as any) to 1 (long before, or never)."""
    if not newest or last >= newest:
        return 0.0
    try:
        behind = datetime.fromisoformat(newest) - datetime.fromisoformat(last)
    except (ValueError, TypeError):
        return 1.0
    return min(behind.total_seconds() / 86_400 / FORGOTTEN_DAYS, 1.0)
