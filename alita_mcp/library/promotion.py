"""Selection of the tools that are listed as MCP tools of their own: pinned, newest and most used, verified first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from heapq import nlargest, nsmallest

from alita_mcp.library.rows import CatalogueEntry

NEWCOMERS = 4
"""One place in so many is kept for the newest tools whatever their trust, so that a new one is listed at once."""
HOUR = 3_600_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def newcomers(at_most: int) -> int:
    """Number of places among the listed tools that the newest ones take."""
    return -(-at_most // NEWCOMERS)


class Promotion:
    """Keeps the listed order stable, so that clients' prompt caches hold: newcomers are appended.

    Verified and pinned tools stand first and provisional ones behind them, each in a stable order.
    """

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._order: list[str] = []

    def choose(self, entries: Iterable[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
        """The promoted ones of `entries`, in listing order; what was promoted before keeps its place."""
        able = {entry.name: entry for entry in entries if entry.callable_now}
        newest = nlargest(
            newcomers(self._at_most), able, key=lambda name: (able[name].manifest.created_at, name)
        )
        names = nsmallest(
            self._at_most,
            able,
            key=lambda name: (not able[name].pinned, name not in newest, *_merit(able[name])),
        )
        kept = [name for name in self._order if name in names]
        order = kept + [name for name in names if name not in kept]
        firm = {name for name in order if able[name].manifest.trust == "verified" or able[name].pinned}
        self._order = sorted(order, key=lambda name: name not in firm)
        return tuple(able[name] for name in self._order)


def _merit(entry: CatalogueEntry) -> tuple[bool, int, str]:
    """Verified before provisional, then by the later of creation and last use, a call counting as an hour."""
    try:
        latest = datetime.fromisoformat(max(entry.manifest.created_at, entry.last_used or ""))
        # since 1970, as the catalogue counts them in `merit`
        microseconds = (latest.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    except ValueError:  # it is no time
        microseconds = 0
    return entry.manifest.trust != "verified", -microseconds - min(entry.calls, 1_000) * HOUR, entry.name
