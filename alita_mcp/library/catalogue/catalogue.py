"""Catalogue file in SQLite, which says what versions count, in what state they are, and what ever happened.

The library's truth; the files of `results` and `runs.rows` may be lost, this one may not.
One connection, guarded by a lock, so that worker threads may share it.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from alita_mcp.errors import LibraryError, NameTaken, ToolUnavailable
from alita_mcp.library.catalogue.daily import COUNT_DAY, COUNT_SEARCHES, DAILY_TABLES, TRIM_DAYS
from alita_mcp.library.catalogue.listing import LISTING
from alita_mcp.library.catalogue.mirror import Postgres
from alita_mcp.library.catalogue.reader import BUSY_SECONDS, journal_row, translate_errors
from alita_mcp.library.catalogue.schema import (
    ADDED_TABLES,
    CHANGES,
    CLAIMABLE,
    COUNT_CALLS,
    DECISIONS,
    JOURNAL,
    MIGRATIONS,
    PUBLISH,
    RAISE,
    RESTORE,
    SKIP_CHANGES,
    TABLES,
    TOUCHED,
    TRIM_CALLS,
)
from alita_mcp.library.catalogue.search_tables import follow, prepare, rebuild
from alita_mcp.library.catalogue.use import CALLS_KEPT, CallRow, SearchCount, Use
from alita_mcp.library.clock import now
from alita_mcp.library.decisions import HOME_FORMAT, MAX_NUMBER, Decisions, refuse_newer_home
from alita_mcp.library.disk import OnStep, no_step, sync_folder
from alita_mcp.library.rows import Claim, JournalRow
from alita_mcp.machine import unusable
from alita_mcp.owners import UNKNOWN_MAKER, Maker
from alita_mcp.values import Manifest

TRIM_EVERY = 500
"""So many rows of calls may be there beyond `CALLS_KEPT` before the oldest go."""
MAX_JOURNAL_NAME = 100
"""Refused names are journalled too, and may be anything."""


class Catalogue:
    """SQLite file of one library; every change is one transaction."""

    _mirror: Sequence[str] = ()
    """Statements that make it the mirror of another catalogue."""

    def __init__(self, path: Path, on_step: OnStep = no_step) -> None:
        """Opens the file, making it when there is none.

        Raises:
            LibraryError: it is damaged, locked for too long, or written by a newer alita.
        """
        self.path = path
        self._on_step = on_step
        self._lock = threading.RLock()
        with translate_errors(self.path):
            self._db = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        with translate_errors(self.path):
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA foreign_keys = ON")
        with self._transaction(durable=False) as db:
            found = db.execute("PRAGMA user_version").fetchone()[0]
            refuse_newer_home(self.path.parent, found)
            is_mirror = bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'mirror'").fetchone())
            if found and is_mirror != bool(self._mirror):
                raise LibraryError(
                    f"{self.path.parent} holds {'a copy of a shared' if is_mirror else 'another'} library.",
                    hint="Change ALITA_LIBRARY, or ALITA_HOME to another folder; see `alita library copy --help`.",
                )
            if not found:
                for statement in filter(str.strip, TABLES.split(";")):
                    db.execute(statement)
            elif found < HOME_FORMAT:
                self._back_up(found)
            migrations = chain(*(MIGRATIONS[number] for number in range((found or 1) + 1, HOME_FORMAT + 1)))
            for statement in (*ADDED_TABLES, *DAILY_TABLES, *migrations, *TOUCHED, *LISTING, *self._mirror):
                db.execute(statement)
            prepare(db)
            if found != HOME_FORMAT:  # the same number would be written again, which a full disk refuses
                db.execute(f"PRAGMA user_version = {HOME_FORMAT}")

    def _back_up(self, number: int) -> None:
        """Copies a catalogue of an earlier format to `library.sqlite3.format-N`, of which the last is kept."""
        copy = self.path.with_name(f"{self.path.name}.format-{number}")
        unfinished = copy.with_name(f"{copy.name}.part")
        try:
            unfinished.unlink(missing_ok=True)
            with closing(sqlite3.connect(self.path)) as old, closing(sqlite3.connect(unfinished)) as new:
                old.backup(new)
            unfinished.replace(copy)
            sync_folder(copy.parent)
        except OSError as error:
            raise unusable(copy, error) from error
        self._on_step("backed up")

    def close(self) -> None:
        """Closes the file; safe to call twice. The log is empty afterwards unless another process uses it."""
        with self._lock, suppress(sqlite3.Error):
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with self._lock, suppress(sqlite3.Error):
            self._db.close()

    def catch_up(self) -> None:
        """Takes in what other servers committed up to now; those of this home need nothing for it."""

    def follow(self, callback: Callable[[], Any]) -> None:
        """Calls back in another thread after taking in what another server committed."""

    def list_known_versions(self) -> set[tuple[str, int]]:
        """Name and version of every row and of every claim, whose folders must stay."""
        rows = self._rows("SELECT name, version FROM version UNION SELECT name, version FROM claim")
        return {(row["name"], row["version"]) for row in rows}

    def has_tools_besides(self, event: str) -> bool:
        """Whether there is a tool, deleted or not, whose journal has no such event."""
        query = "SELECT 1 FROM tool WHERE name NOT IN (SELECT name FROM journal WHERE event = ?) LIMIT 1"
        return bool(self._rows(query, event))

    def claim(self, claim: Claim, digest: str | None = None) -> bool:
        """Reserves a version of a name for one publisher; False while another one holds the name.

        Without `digest` it is the next version, with it the published one of that digest.

        Raises:
            NameTaken: the newest version is not the one before the claimed one, or the digest is another by now.
            ToolUnavailable: the tool is deleted.
        """
        with self._transaction() as db:
            latest, state, found = db.execute(CLAIMABLE, claim.model_dump()).fetchone()
            if state == "deleted":
                raise ToolUnavailable(
                    f"{claim.name} was deleted.", hint="Enable it to get it back, or choose another name."
                )
            if digest is not None and found != digest:
                raise NameTaken(
                    f"{claim.name} v{claim.version} is not what it was a moment ago.",
                    hint="Look at it again.",
                )
            if digest is None and (latest or 0) != claim.version - 1:
                raise NameTaken(
                    f"{claim.name} is at v{latest or 0} already, not at v{claim.version - 1}.",
                    hint="Look at the published version; update it, or choose another name.",
                )
            values = (claim.name, claim.version, claim.owner)
            return db.execute("INSERT OR IGNORE INTO claim VALUES (?, ?, ?)", values).rowcount > 0

    @contextmanager
    def hold_decisions(self, number: int) -> Iterator[list[Decisions]]:
        """What people decided about the tools that changed after a change; nobody decides while the block runs."""
        with self._transaction():
            yield [Decisions.model_validate_json(row[0]) for row in self._rows(DECISIONS, number)]

    def take_in(
        self,
        versions: Iterable[tuple[Manifest, str, str]],
        decisions: Iterable[Decisions],
        number: int,
        report: str,
    ) -> None:
        """Enters versions, none of them proved, and the decisions that lie beside them; all in one transaction.

        Each has its seal, and why it is quarantined, if it is. Changes from now on have numbers behind `number`.
        """
        with self._transaction() as db:
            db.execute(SKIP_CHANGES, {"number": min(number, MAX_NUMBER // 2)})
            for manifest, seal, damage in versions:
                _enter(db, manifest, seal, event="adopted", takes_over=not damage)
                if damage:
                    values = {"name": manifest.name, "version": manifest.version, "reason": damage}
                    db.execute(CHANGES["quarantined"][0], values)
            for decided in decisions:
                values = {**decided.model_dump(), "reviewed": json.dumps(decided.reviewed), "now": now()}
                for statement in RESTORE:
                    db.execute(statement, values)
            if report:
                _journal(db, "rebuilt", None, None, {"report": report})
            _journal(db, "created", None, None, {})
            self._on_step("taken in")

    def claims(self) -> list[Claim]:
        """Every publishing under way, of live and of dead processes."""
        return [Claim(**row) for row in self._rows("SELECT name, version, owner FROM claim")]

    def release(self, claim: Claim) -> None:
        """Gives up a claim."""
        with self._transaction() as db:
            db.execute("DELETE FROM claim WHERE name = ? AND owner = ?", (claim.name, claim.owner))

    def publish(
        self,
        *versions: tuple[Manifest, str, str],
        event: str = "published",
        takes_over: bool = True,
        made_by: Maker = UNKNOWN_MAKER,
    ) -> None:
        """Enters versions whose files are in place, with their seals and kinds of sandbox; ends their claims.

        All in one transaction. One becomes the current one if it is the first, or if `takes_over` says so, its trust
        is no lower than that of the current one and no person chose that one. Where the event is `raised` it is there
        and gets other evidence. No kind of sandbox, an empty one, leaves it without evidence.
        """
        with self._transaction() as db:
            for manifest, seal, sandbox in versions:
                _enter(db, manifest, seal, sandbox, event, takes_over=takes_over, made_by=made_by)
            self._on_step("row written")

    def change(self, event: str, name: str, version: int | None = None, **detail: Any) -> bool:
        """Carries out one of `CHANGES` and journals it; False when it changed nothing.

        `by` says who approves: a person (the default) or the policy, which changes no version that a person chose.
        """
        values = {
            "name": name,
            "version": version,
            "now": now(),
            "by": "person",
            "seen": None,
            "once": False,
            **detail,
        }
        with self._transaction() as db:
            first, *others = CHANGES[event]
            changed = db.execute(first, values).rowcount > 0
            if changed:
                for statement in others:
                    db.execute(statement, values)
                _journal(db, event, name, version, detail)
        return changed

    def record_calls(
        self,
        rows: Sequence[CallRow],
        uses: Mapping[str, Use],
        searches: Iterable[tuple[str, SearchCount]] = (),
    ) -> None:
        """Journals calls and counts each tool's use and the searches of each day, in one transaction.

        Unknown tools are journalled only.
        """
        # in the order of their keys, so that no two servers wait for one another
        counts = [{"name": name, **asdict(use)} for name, use in sorted(uses.items())]
        days = [{"day": day, **asdict(count)} for day, count in sorted(searches)]
        lines = [_journal_line(row.event, row.name, row.version, row.detail, row.time) for row in rows]
        with self._addition() as db:
            db.executemany(COUNT_CALLS, counts)
            db.executemany(COUNT_DAY, counts)
            db.executemany(COUNT_SEARCHES, days)
            db.executemany(JOURNAL, lines)
            self._trim(db, len(lines))

    def record(self, event: str, name: str | None, version: int | None, detail: Mapping[str, Any]) -> None:
        """Journals an event that changes nothing else."""
        with self._addition() as db:
            _journal(db, event, name, version, detail)

    def journal(self, limit: int, event: str | None = None) -> list[JournalRow]:
        """The newest events first."""
        newest = f"SELECT * FROM journal {'WHERE event = ?' if event else ''} ORDER BY id DESC LIMIT ?"  # noqa: S608
        return [journal_row(row) for row in self._rows(newest, *([event] if event else ()), limit)]

    def list_tombstones_before(self, moment: str) -> list[tuple[str, tuple[int, ...]]]:
        """Names and versions of tools whose tombstone is older than `moment`."""
        rows = self._rows(
            "SELECT v.name, v.version FROM listing l JOIN tool t USING (name) JOIN version v USING (name)"
            " WHERE l.state = 'deleted' AND t.deleted_at < ?",
            moment,
        )
        names = sorted({row["name"] for row in rows})
        return [(name, tuple(row["version"] for row in rows if row["name"] == name)) for name in names]

    def purge(self, name: str) -> None:
        """Forgets a deleted tool; its journal stays."""
        with self._transaction() as db:
            db.execute("DELETE FROM tool WHERE name = ? AND state = 'deleted'", (name,))
            _journal(db, "purged", name, None, {})

    def reindex(self) -> int:
        """Makes the search index anew; returns how many tools can be found."""
        with self._transaction(durable=False) as db:
            return rebuild(db)

    def _rows(self, query: str, *values: str | int) -> list[sqlite3.Row]:
        with self._lock, translate_errors(self.path):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _addition(self) -> Iterator[sqlite3.Connection | Postgres]:
        """One transaction that adds to the journal and to the counts of use."""
        with self._transaction(durable=False) as db:
            yield db

    def _trim(self, db: sqlite3.Connection | Postgres, added: int) -> None:
        """Drops the oldest lines about calls and the oldest days, each time that many lines were added."""
        last = db.execute("SELECT coalesce(max(id), 0) AS id FROM journal").fetchone()["id"]
        if last // TRIM_EVERY > (last - added) // TRIM_EVERY:
            for statement in (TRIM_CALLS, *TRIM_DAYS):
                db.execute(statement, {"kept": CALLS_KEPT})

    @contextmanager
    def _transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction that changes the library; a durable one survives a power cut once it is committed."""
        with self._lock, translate_errors(self.path):
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                follow(self._db)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _enter(
    db: sqlite3.Connection,
    manifest: Manifest,
    seal: str,
    sandbox: str = "",
    event: str = "published",
    *,
    takes_over: bool = True,
    made_by: Maker = UNKNOWN_MAKER,
) -> None:
    values = {
        "name": manifest.name, "version": manifest.version, "manifest": manifest.model_dump_json(),
        "digest": manifest.digest, "seal": seal, "sandbox": sandbox, "now": now(),
        "takes_over": takes_over, "verified": manifest.trust == "verified",
        "made_by": made_by.name, "owner": made_by.owner, "event": event,
    }  # fmt: skip
    for statement in RAISE if event == "raised" else PUBLISH:
        db.execute(statement, values)
    detail = {"digest": manifest.digest, "trust": manifest.trust, "sandbox": sandbox}
    _journal(db, event, manifest.name, manifest.version, detail)


def _journal_line(
    event: str,
    name: str | None,
    version: int | None,
    detail: Mapping[str, Any],
    time: str = "",
) -> dict[str, Any]:
    """A line of the journal as its columns hold it; `time`: other than now."""
    named = name and name[:MAX_JOURNAL_NAME].encode("utf-8", "replace").decode()
    text = json.dumps(detail, default=str)
    return {"time": time or now(), "event": event, "name": named, "version": version, "detail": text}


def _journal(db: sqlite3.Connection | Postgres, *line: Any) -> None:
    db.execute(JOURNAL, _journal_line(*line))
