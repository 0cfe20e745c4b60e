"""Which tools are listed as tools of their own: pinned, newest, most used, and verified before not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from heapq import nlargest, nsmallest

from alita_mcp.values import CatalogueEntry

NEWCOMERS = 4
"""One place in so many is kept for the newest tools whatever their trust, so that a new one is listed at once."""


class Promotion:
    """Keeps the listed order stable, so that clients' prompt caches hold: newcomers are appended.

    Verified and pinned tools stand first and provisional ones behind them, each in a stable order.
    """

    def __init__(self, at_most: int, *, verified_only: bool) -> None:
        self._at_most = at_most
        self._verified_only = verified_only
        self._order: list[str] = []
        self._seen: Sequence[CatalogueEntry] = ()
        self._chosen: tuple[CatalogueEntry, ...] = ()

    def choose(self, entries: Sequence[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
        """The promoted ones of `entries`, in listing order."""
        if entries is not self._seen:
            self._seen, self._chosen = entries, self._choose(entries)
        return self._chosen

    def _choose(self, entries: Sequence[CatalogueEntry]) -> tuple[CatalogueEntry, ...]:
        able = {entry.name: entry for entry in entries if self._may_be_listed(entry)}
        names = self._best(list(able.values()))
        kept = [name for name in self._order if name in names]
        order = kept + [name for name in names if name not in kept]
        self._order = sorted(order, key=lambda name: _yields(able[name]))
        return tuple(able[name] for name in self._order)

    def _best(self, able: list[CatalogueEntry]) -> list[str]:
        newest = nlargest(
            -(-self._at_most // NEWCOMERS), able, key=lambda entry: (entry.manifest.created_at, entry.name)
        )
        new = {entry.name for entry in newest}
        ranked = nsmallest(
            self._at_most, able, key=lambda entry: (not entry.pinned, entry.name not in new, *_merit(entry))
        )
        return [entry.name for entry in ranked]

    def _may_be_listed(self, entry: CatalogueEntry) -> bool:
        return entry.callable_now and (not self._verified_only or entry.manifest.trust == "verified")


def _yields(entry: CatalogueEntry) -> bool:
    return entry.manifest.trust != "verified" and not entry.pinned


def _merit(entry: CatalogueEntry) -> tuple[bool, float, str]:
    """Verified before provisional, then by the later of creation and last use, a call counting as an hour."""
    latest = max(entry.manifest.created_at, entry.last_used or "")
    hours = _hours(latest) + min(entry.calls, 1_000)
    return (entry.manifest.trust != "verified", -hours, entry.name)


@lru_cache(maxsize=200_000)
def _hours(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() / 3_600
