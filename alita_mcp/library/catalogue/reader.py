"""Reader of the catalogue: entries, evidence, names and counts of tools as they stand now.

A connection of its own that never writes, so that a read waits for no writer. Used from several threads.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from alita_mcp.errors import LibraryError, ToolQuarantined
from alita_mcp.library.catalogue.daily import SEARCH_DAYS, USE_DAYS
from alita_mcp.library.catalogue.listing import CANDIDATES, MOST_USED, NAMES_LIKE
from alita_mcp.library.catalogue.schema import (
    APPROVAL,
    CHANGES_SO_FAR,
    ENTRIES,
    LAST_CALLS,
    NEXT_PAGE,
    STAMP,
)
from alita_mcp.library.catalogue.teams import hide_other_teams
from alita_mcp.library.catalogue.use import SearchCount, Use
from alita_mcp.library.catalogue.waiting import UNREVIEWED, WAITING, UnreviewedTool, WaitingVersion
from alita_mcp.library.rows import (
    Approval,
    CatalogueEntry,
    JournalRow,
    Origin,
    VersionRow,
)
from alita_mcp.machine import is_of_the_disk, unusable
from alita_mcp.owners import USER, Maker
from alita_mcp.values import Grants, Lock, Manifest

BUSY_SECONDS = 10.0
KEPT_ENTRIES = 1_024
PAGE = 200
HINT = (
    "Nothing was deleted. Restore it from a copy, or move it aside with its -wal and -shm files: alita then makes it "
    "anew from generated_tools, without approvals and usage."
)
_log = logging.getLogger(__name__)


class Changes(NamedTuple):
    """Counters of changes so far, which only grow."""

    standing: int
    """All about tools but their use."""
    listed: int
    """What decides about the lists that clients see."""


class CatalogueReader:
    """Reads the tools of one catalogue as they stand at that moment."""

    def __init__(
        self,
        path: Path,
        with_approval: Callable[[CatalogueEntry], CatalogueEntry],
        team: str | None = None,
    ) -> None:
        """Opens a catalogue that is there; `with_approval` says of an entry whether all that it asks for is granted.

        With a `team` (empty: none), only its tools are there, and those without a team.
        """
        self._path = path
        self._with_approval = with_approval
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[tuple[Any, ...], CatalogueEntry]] = OrderedDict()
        with translate_errors(path):
            # A connection that may not write leaves the index of the log behind when it is the last one to close: it
            # could not be made again on a full disk, where reading must go on.
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro",
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.row_factory = sqlite3.Row
            if team is not None:
                hide_other_teams(self._db, team, "tool", "listing")

    def of_team(self, team: str) -> CatalogueReader:
        """A reader of the tools that a team sees."""
        return CatalogueReader(self._path, self._with_approval, team)

    def close(self) -> None:
        """Closes the file; safe to call twice."""
        with self._lock, suppress(sqlite3.Error):
            self._db.close()

    def changes(self) -> Changes:
        """Counters of changes so far, by any process."""
        return Changes(*self._rows(CHANGES_SO_FAR)[0])

    def data_version(self) -> int:
        """Another number whenever anything was committed."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def entry(self, name: str) -> CatalogueEntry | None:
        """One tool as it stands, the same object as before when nothing changed; None where there is none.

        Raises:
            ToolQuarantined: its row is damaged.
        """
        if not name.isascii():
            return None
        stamp = tuple(self._rows(STAMP, name=name)[0])
        known_stamp, known = self._kept.get(name, (None, None))
        if known is None or stamp != known_stamp:
            rows = self._rows(f"{ENTRIES} WHERE t.name = :name", name=name)
            if not rows:
                return None
            fresh = _entry(rows[0])
            known = known if known == fresh else fresh
        with self._lock:
            self._kept[name] = (stamp, known)
            self._kept.move_to_end(name)
            if len(self._kept) > KEPT_ENTRIES:
                self._kept.popitem(last=False)
        return self._with_approval(known)

    def entries(self) -> Iterator[CatalogueEntry]:
        """All tools but the deleted ones, the oldest first, read page by page; damaged ones are logged, not given."""
        last = {"created_at": "", "name": ""}
        while page := self._rows(NEXT_PAGE, **last, limit=PAGE):
            last = {key: page[-1][key] for key in last}
            for row in page:
                with _skip_damaged():
                    yield self._with_approval(_entry(row))

    def some(self, names: Iterable[str]) -> dict[str, CatalogueEntry]:
        """Those of the named tools that are there and can be read."""
        found = {}
        for name in names:
            with _skip_damaged():
                entry = self.entry(name)
                if entry is not None:
                    found[name] = entry
        return found

    def candidates(self, most: int, newest: int, *, reviewed_only: bool = False) -> list[str]:
        """Names of few tools, with all among them that `Promotion` would choose."""
        return self._names(CANDIDATES, most=most, newest=newest, any_origin=int(not reviewed_only))

    def most_used(self, limit: int) -> list[str]:
        """Names of enabled tools: verified ones before others, then those lately made and most used."""
        return self._names(MOST_USED, limit=limit)

    def names(self, *, after: str = "", limit: int = -1, deleted: bool = False) -> list[str]:
        """Names of the tools in order, of `deleted` ones too where asked: `limit` of them after one."""
        query = (
            "SELECT name FROM listing WHERE (:deleted OR state != 'deleted') AND name > :after"
            " ORDER BY name LIMIT :limit"
        )
        return self._names(query, after=_plain(after), limit=limit, deleted=deleted)

    def names_like(self, name: str) -> list[str]:
        """Names of some hundred tools, with those that look like `name` among them."""
        said = _plain(name[:64]).lower()
        longest, other, *_ = *sorted(filter(None, said.split("_")), key=len, reverse=True), said, said
        return self._names(NAMES_LIKE, name=said, longest=longest, other=other)

    def counts(self) -> dict[str, int]:
        """Number of tools in each state, without deleted ones."""
        counted = self._rows("SELECT state, count(*) FROM listing WHERE state != 'deleted' GROUP BY state")
        return {row[0]: row[1] for row in counted}

    def sandboxes_of(self, name: str, version: int) -> tuple[str, ...]:
        """Kinds of sandbox in which a version passed its gates; none for what is unknown."""
        return tuple(self.evidence(name, version))

    def evidence(self, name: str, version: int) -> dict[str, str]:
        """Kinds of sandbox in which a version passed its gates, each with the lock of its own as JSON, or nothing."""
        query = (
            "SELECT sandbox, lock FROM evidence WHERE name = :name AND version = :version ORDER BY sandbox"
        )
        return {row["sandbox"]: row["lock"] for row in self._rows(query, name=name, version=version)}

    def lock_in(self, name: str, version: int, sandbox_kind: str) -> Lock | None:
        """The packages a version was proved with in a kind of sandbox, where they are not those of the version."""
        lock = self.evidence(name, version).get(sandbox_kind)
        return Lock.model_validate_json(lock) if lock else None

    def version_row(self, name: str, version: int) -> VersionRow | None:
        """The seal of a published version, and why it is quarantined if it is."""
        query = "SELECT seal, quarantined FROM version WHERE name = :name AND version = :version"
        rows = self._rows(query, name=name, version=version)
        return VersionRow(*rows[0]) if rows else None

    def last_calls(self, names: Sequence[str]) -> dict[str, JournalRow]:
        """The last call of each of the named tools of which the journal has one."""
        rows = self._rows(LAST_CALLS, names=json.dumps(names))
        return {row["name"]: journal_row(row) for row in rows}

    def approval(self, name: str, digest: str) -> Approval | None:
        """Approval of what a version asks for; None without one."""
        rows = self._rows(APPROVAL, name=name, digest=digest)
        if not rows:
            return None
        part = rows[0]["part"]
        return Approval(Grants.model_validate_json(part) if part else None)

    def last_approved_digest(self, name: str) -> str | None:
        """The digest of a tool that was approved last; None where none is."""
        query = "SELECT digest FROM approval WHERE name = :name ORDER BY approved_at DESC, rowid DESC LIMIT 1"
        return next(iter(self._names(query, name=name)), None)

    def origin(self, name: str, version: int) -> Origin:
        """Maker of a version, and whether a person reviewed exactly its present files; empty for an unknown one."""
        query = (
            "SELECT o.made_by, coalesce(m.owner, :user), o.reviewed = v.digest"
            " FROM origin o JOIN version v USING (name, version) LEFT JOIN maker m USING (name, version)"
            " WHERE name = :name AND version = :version"
        )
        rows = self._rows(query, name=name, version=version, user=USER)
        if not rows:
            return Origin()
        made_by, owner, reviewed = rows[0]
        return Origin(made_by=made_by, owner=owner, reviewed=bool(reviewed))

    def may_wait(self) -> Iterator[WaitingVersion]:
        """Versions of enabled tools that may lack a grant, current ones and later ones, the latest of a tool first."""
        for row in self._rows(WAITING, user=USER):
            with suppress(ValidationError):  # of a damaged row, which calls report
                yield WaitingVersion(
                    manifest=Manifest.model_validate_json(row["manifest"]),
                    current=row["current"],
                    made_by=Maker(row["made_by"], row["owner"]),
                    set_aside=row["set_aside"],
                )

    def unreviewed(self, limit: int = -1) -> tuple[int, list[UnreviewedTool]]:
        """How many tools no person has reviewed as they are now, and so many of them, the newest first."""
        rows = self._rows(UNREVIEWED, limit=limit)
        return (rows[0][-1] if rows else 0), [UnreviewedTool(*row[:-1]) for row in map(tuple, rows)]

    def daily_use(self, since: str, name: str = "") -> dict[str, Use]:
        """How a tool, else all but the starter tools, was used on each day from one on (`2026-11-26`), in order."""
        rows = self._rows(USE_DAYS, since=since, name=name)
        return {day: Use(calls, failures, code_bytes=size) for day, calls, failures, size in rows}

    def daily_searches(self, since: str) -> dict[str, SearchCount]:
        """Searches of each day from a day on, the first day first."""
        rows = self._rows(SEARCH_DAYS, since=since)
        return {day: SearchCount(searches, matched, called) for day, searches, matched, called in rows}

    def _names(self, query: str, **values: Any) -> list[str]:
        return [name for (name,) in self._rows(query, **values)]

    def _rows(self, query: str, **values: Any) -> list[sqlite3.Row]:
        with self._lock, translate_errors(self._path):
            return self._db.execute(query, values).fetchall()


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Makes errors of SQLite ours."""
    try:
        yield
    except sqlite3.Error as error:
        if is_of_the_disk(error):
            raise unusable(_find_unusable(path), error) from error
        hint = "Another process holds it; try again." if "locked" in str(error) else HINT
        raise LibraryError(f"The catalogue {path} cannot be used: {error}.", hint=hint) from error


def _find_unusable(path: Path) -> Path:
    """The file of SQLite that is none, or not this user's to read and write: the database, its log or its index."""
    for place in (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm", "-journal")):
        if os.path.lexists(place) and not (place.is_file() and os.access(place, os.R_OK | os.W_OK)):
            return place
    return path


@contextmanager
def _skip_damaged() -> Iterator[None]:
    """Goes on without a tool that is damaged, and says which it is."""
    try:
        yield
    except ToolQuarantined as damaged:
        _log.warning("%s", damaged)


def journal_row(row: sqlite3.Row) -> JournalRow:
    """A line of the journal as a value."""
    return JournalRow(**{**dict(row), "detail": json.loads(row["detail"])})


def _plain(name: str) -> str:
    return name.encode("ascii", "replace").decode()


def _entry(row: sqlite3.Row) -> CatalogueEntry:
    try:
        manifest = Manifest.model_validate_json(row["manifest"])
    except ValidationError as damaged:
        raise ToolQuarantined(
            f"{row['name']} is quarantined and will not run: its row in the catalogue cannot be read.",
            hint=HINT,
        ) from damaged
    is_quarantined = row["state"] == "enabled" and row["quarantined"] is not None
    return CatalogueEntry(
        manifest=manifest,
        state="quarantined" if is_quarantined else row["state"],
        pinned=bool(row["pinned"]),
        versions=tuple(sorted(map(int, row["versions"].split(",")))),
        sandboxes=tuple(sorted(filter(None, (row["sandboxes"] or "").split(",")))),
        approved=manifest.grants.is_pure or bool(row["approved"]),
        calls=row["calls"] or 0,
        failures=row["failures"] or 0,
        last_used=row["last_used"],
        created_at=row["created_at"],
    )
