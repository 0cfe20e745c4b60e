"""How all tools stand at one moment: read whole once, and from then on only what was touched since.

What did not change is the same object as before, so that others see at once what did.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace

from alita_mcp.library.catalogue_rows import Snapshot
from alita_mcp.library.catalogue_schema import (
    APPROVALS,
    ENTRIES,
    EVIDENCE,
    NEWEST_TOUCH,
    QUARANTINED,
    TOUCHED_SINCE,
    UNCACHED,
    of_touched,
)
from alita_mcp.values import CatalogueEntry, Manifest, ToolState

Evidence = Mapping[tuple[str, int], Mapping[str, str]]


class Snapshots:
    """The newest snapshot of one catalogue; asked for the next one inside a transaction, by one thread at a time."""

    def __init__(self) -> None:
        self._last = Snapshot(0, {}, {})
        self._seen: int | None = None

    def take(self, db: sqlite3.Connection) -> Snapshot:
        """All tools as they are now, under a higher serial than ever before."""
        newest = int(db.execute(NEWEST_TOUCH).fetchone()[0])
        if newest != self._seen:
            read = _read_all(db) if self._seen is None else _read_touched(db, self._last, self._seen)
            self._last, self._seen = replace(read, serial=self._last.serial), newest
        self._last = replace(self._last, serial=self._last.serial + 1)
        return self._last


def _read_all(db: sqlite3.Connection) -> Snapshot:
    entries = {row["name"]: _entry(row, None) for row in db.execute(ENTRIES)}
    return Snapshot(
        0,
        _in_order(entries),
        _evidence(db.execute(EVIDENCE)),
        frozenset(map(tuple, db.execute(QUARANTINED))),
        frozenset(name for (name,) in db.execute(UNCACHED)),
        frozenset(map(tuple, db.execute(APPROVALS))),
        frozenset(name for name, entry in entries.items() if not entry.manifest.grants.is_pure),
    )


def _read_touched(db: sqlite3.Connection, last: Snapshot, seen: int) -> Snapshot:
    since = {"seen": seen}
    touched = {name for (name,) in db.execute(TOUCHED_SINCE, since)}
    rows = {row["name"]: row for row in db.execute(of_touched(ENTRIES), since)}
    fresh = {name: _entry(row, last.entries.get(name)) for name, row in rows.items()}
    kept = {key: locks for key, locks in last.evidence.items() if key[0] not in touched}
    return Snapshot(
        0,
        _with(last.entries, touched, fresh),
        {**kept, **_evidence(db.execute(of_touched(EVIDENCE), since))},
        frozenset(pair for pair in last.quarantined if pair[0] not in touched)
        | frozenset(map(tuple, db.execute(of_touched(QUARANTINED), since))),
        (last.uncached - touched) | {name for (name,) in db.execute(of_touched(UNCACHED), since)},
        frozenset(pair for pair in last.approvals if pair[0] not in touched)
        | frozenset(map(tuple, db.execute(of_touched(APPROVALS), since))),
        (last.asking - touched)
        | {name for name, entry in fresh.items() if not entry.manifest.grants.is_pure},
    )


def _with(
    last: Mapping[str, CatalogueEntry], touched: set[str], fresh: Mapping[str, CatalogueEntry]
) -> Mapping[str, CatalogueEntry]:
    """The last entries with the fresh ones in their places, newcomers behind them."""
    if all(last.get(name) is fresh.get(name) for name in touched):
        return last
    entries = dict(last)
    for name in touched:
        if name in fresh and name in last and fresh[name].created_at == last[name].created_at:
            entries[name] = fresh[name]
        else:
            entries.pop(name, None)
    newcomers = _in_order({name: entry for name, entry in fresh.items() if name not in entries})
    newest = next(reversed(entries.values()), None)
    entries |= newcomers
    if newest and any(_age(entry) < _age(newest) for entry in newcomers.values()):
        return _in_order(entries)
    return entries


def _in_order(entries: Mapping[str, CatalogueEntry]) -> dict[str, CatalogueEntry]:
    """The oldest first."""
    return dict(sorted(entries.items(), key=lambda named: _age(named[1])))


def _age(entry: CatalogueEntry) -> tuple[str, str]:
    return entry.created_at, entry.name


def _evidence(rows: sqlite3.Cursor) -> Evidence:
    evidence: dict[tuple[str, int], dict[str, str]] = {}
    for name, version, sandbox, lock in rows:
        evidence.setdefault((name, version), {})[sandbox] = lock
    return evidence


def _entry(row: sqlite3.Row, known: CatalogueEntry | None) -> CatalogueEntry:
    manifest = Manifest.model_validate_json(row["manifest"])
    if known is not None and known.manifest == manifest:
        manifest = known.manifest
    entry = CatalogueEntry(
        manifest=manifest,
        state=_state(row),
        pinned=bool(row["pinned"]),
        versions=_numbers(row["versions"]),
        sandboxes=tuple(sorted(filter(None, (row["sandboxes"] or "").split(",")))),
        approved=manifest.grants.is_pure or bool(row["approved"]),
        calls=row["calls"] or 0,
        failures=row["failures"] or 0,
        last_used=row["last_used"],
        created_at=row["created_at"],
        wordings=tuple(json.loads(row["wordings"])),
    )
    return known if known == entry else entry


def _state(row: sqlite3.Row) -> ToolState:
    state: ToolState = row["state"]
    return "quarantined" if state == "enabled" and row["quarantined"] is not None else state


def _numbers(listed: str) -> tuple[int, ...]:
    return tuple(sorted(map(int, listed.split(","))))
