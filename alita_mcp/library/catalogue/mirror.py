"""Rows on their way between a shared library in PostgreSQL and its mirror, the catalogue's file of one server.

Both have the same tables. What one side has beyond the other's columns is left alone, so that servers of two versions
share a library.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Connection

STANDING: Mapping[str, tuple[str, ...]] = {
    "tool": ("name",),
    "version": ("name", "version"),
    "evidence": ("name", "version", "sandbox"),
    "approval": ("name", "digest"),
    "approval_part": ("name", "digest"),
    "decided": ("name", "what"),
    "origin": ("name", "version"),
    "maker": ("name", "version"),
}
"""Tables of how tools stand, with their keys, each after those that it refers to; a changed tool's rows go together."""
COUNTED: Mapping[str, tuple[str, ...]] = {
    "usage": ("name",),
    "daily_use": ("day", "name"),
    "daily_search": ("day",),
    "journal": ("id",),
}
"""Tables that any server adds to at any time, with their keys; a row has the transaction that changed it."""
KEYS: Mapping[str, tuple[str, ...]] = {**STANDING, **COUNTED}
NOTHING = "1:1:"
"""The snapshot that shows nothing."""

MIRROR = (
    "CREATE TABLE IF NOT EXISTS mirror (library TEXT NOT NULL, era TEXT NOT NULL, snapshot TEXT NOT NULL)",
    f"INSERT INTO mirror SELECT '', '', '{NOTHING}' WHERE NOT EXISTS (SELECT 1 FROM mirror)",  # noqa: S608 - ours
)
"""Whose mirror a catalogue is; `era` changes where the numbers of transactions may have begun anew."""

_LAST = "%(last)s::pg_snapshot"
_UNSEEN = f"t.xid >= pg_snapshot_xmin({_LAST}) AND NOT pg_visible_in_snapshot(t.xid, {_LAST})"
_CHANGES = f"""
WITH names AS MATERIALIZED (SELECT name FROM changed t WHERE {_UNSEEN})
SELECT 'mirror' AS kind, json_build_object(
    'library', (SELECT id FROM library), 'snapshot', pg_current_snapshot()::text, 'era',
    (SELECT system_identifier FROM pg_control_system()) || '/' || (SELECT timeline_id FROM pg_control_checkpoint())
) AS content
UNION ALL SELECT 'changed', to_json(name) FROM names
{"".join(f"UNION ALL SELECT '{table}', row_to_json(t) FROM {table} t JOIN names USING (name) " for table in STANDING)}
{"".join(f"UNION ALL SELECT '{table}', row_to_json(t) FROM {table} t WHERE {_UNSEEN} " for table in COUNTED)}
"""  # noqa: S608 - of our own words
"""One statement, so one snapshot: what it does not show yet, the next one asks for."""


class MirrorState(NamedTuple):
    """Up to where a mirror has followed its library."""

    library: str
    era: str
    snapshot: str


class Changes(NamedTuple):
    """What a library has that a mirror lacks."""

    state: MirrorState
    """The mirror's, once it has taken them in."""
    names: Sequence[str]
    """The tools that stand otherwise; all rows of theirs are here."""
    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    """Table → rows."""
    is_whole: bool = False
    """Whether this is all that the library has."""


def read_state(db: sqlite3.Connection) -> MirrorState | None:
    """The state of a mirror; None for a catalogue that is none."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'mirror'").fetchone():
        return None
    return MirrorState(*db.execute("SELECT library, era, snapshot FROM mirror").fetchone())


def read_changes(connection: Connection, last: MirrorState) -> Changes:
    """What was committed after a mirror's snapshot, or all where that says nothing about this library any more."""
    changes = _read_changes(connection, last.snapshot)
    if changes.state.era == last.era:
        return changes
    if last.snapshot != NOTHING:
        changes = _read_changes(connection, NOTHING)
    return changes._replace(is_whole=True)


def _read_changes(connection: Connection, snapshot: str) -> Changes:
    found: dict[str, list[Any]] = defaultdict(list)
    for row in connection.execute(_CHANGES, {"last": snapshot}):
        found[row["kind"]].append(row["content"])
    (state,) = found.pop("mirror")
    return Changes(MirrorState(**state), found.pop("changed", []), found)


def take_in(db: sqlite3.Connection, changes: Changes) -> None:
    """Brings a mirror to where its library is; rows that are equal are not touched, so that nobody is told of them."""
    names: Collection[str] = changes.names
    if changes.is_whole:
        names = {*names, *(name for (name,) in db.execute("SELECT name FROM tool"))}
        for table in ("daily_use", "daily_search", "journal"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - of our own words
    for table in KEYS:
        put_rows(db, table, changes.rows.get(table, ()))
    for table, key in STANDING.items() if names else ():
        columns = ", ".join(key)
        there = db.execute(
            f"SELECT {columns} FROM {table} WHERE name IN (SELECT value FROM json_each(?))",  # noqa: S608 - ours
            (json.dumps(sorted(names)),),
        )
        gone = {tuple(row) for row in there}
        gone -= {tuple(row[column] for column in key) for row in changes.rows.get(table, ())}
        places = ", ".join("?" for _ in key)
        db.executemany(f"DELETE FROM {table} WHERE ({columns}) = ({places})", sorted(gone))  # noqa: S608 - ours
    db.execute("UPDATE mirror SET library = ?, era = ?, snapshot = ?", changes.state)


def put_rows(db: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Enters rows in place of those with the same keys."""
    if not rows:
        return
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] in rows[0]]
    db.executemany(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(f':{each}' for each in columns)})"  # noqa: S608
        f" {_on_conflict(table, columns, 'IS NOT')}",
        rows,
    )


def send_tools(db: sqlite3.Connection, connection: Connection, names: Sequence[str]) -> None:
    """Makes the rows of these tools in PostgreSQL those of the mirror."""
    for table in STANDING:
        found = db.execute(
            f"SELECT * FROM {table} WHERE name IN (SELECT value FROM json_each(?))",  # noqa: S608 - of our own words
            (json.dumps(names),),
        )
        send_rows(connection, table, [column for column, *_ in found.description], map(dict, found), names)
    connection.execute(
        "INSERT INTO changed (name) SELECT unnest(%s::text[])"
        " ON CONFLICT (name) DO UPDATE SET xid = pg_current_xact_id()",
        (list(names),),
    )


def send_rows(
    connection: Connection,
    table: str,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    names: Sequence[str] = (),
) -> None:
    """Enters rows in a table of PostgreSQL in place of those with the same keys; drops other ones of these tools."""
    key = KEYS[table]
    is_same = " AND ".join(f"o.{column} = t.{column}" for column in key)
    gone = f"""
    , gone AS (
        DELETE FROM {table} t
        WHERE t.name = ANY(%(names)s) AND NOT EXISTS (SELECT 1 FROM ours o WHERE {is_same})
    )
    """  # noqa: S608 - of our own words
    connection.execute(
        f"""
        WITH ours AS (SELECT * FROM json_populate_recordset(NULL::{table}, %(rows)s::json)) {gone if names else ""}
        INSERT INTO {table} ({", ".join(columns)}) SELECT {", ".join(columns)} FROM ours
        {_on_conflict(table, columns, "IS DISTINCT FROM")}
        """,  # noqa: S608 - of our own words
        {"rows": json.dumps(clean_rows(rows)), "names": list(names)},
    )


def send_journal(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Enters lines of the journal in PostgreSQL; returns them with their ids there."""
    columns = "time, event, name, version, detail"
    return connection.execute(
        f"INSERT INTO journal ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::journal, %s::json)"  # noqa: S608
        f" RETURNING id, {columns}",
        (json.dumps(clean_rows(rows)),),
    ).fetchall()


def clean_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as PostgreSQL takes them: it has no NUL in text."""
    return [
        {
            column: value.replace("\0", "\ufffd") if isinstance(value, str) else value
            for column, value in row.items()
        }
        for row in rows
    ]


def _on_conflict(table: str, columns: Sequence[str], differs: str) -> str:
    """The clause that changes the row of the same key only where it differs."""
    key = KEYS[table]
    others = [column for column in columns if column not in key]
    if not others:
        return f"ON CONFLICT ({', '.join(key)}) DO NOTHING"
    changes = ", ".join(f"{column} = excluded.{column}" for column in others)
    is_other = " OR ".join(f"{table}.{column} {differs} excluded.{column}" for column in others)
    return f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes} WHERE {is_other}"
