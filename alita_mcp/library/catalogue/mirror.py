"""Rows on their way between a shared library in PostgreSQL and its mirror, the catalogue's file of one server.

Both have the same tables. What one side has beyond the other's columns is left alone, so that servers of two versions
share a library.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alita_mcp.library.catalogue.daily import DAYS_KEPT, FIRST_DAY
from alita_mcp.library.catalogue.schema import OWNER

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
    "CREATE TABLE IF NOT EXISTS mirror (library TEXT NOT NULL, snapshot TEXT NOT NULL)",
    f"INSERT INTO mirror SELECT '', '{NOTHING}' WHERE NOT EXISTS (SELECT 1 FROM mirror)",  # noqa: S608 - of our own words
)
"""Whose mirror a catalogue is, and the snapshot up to which it has followed."""

_LAST = "(SELECT snapshot FROM last)"
_IS_UNSEEN = f"""
t.xid >= pg_snapshot_xmin({_LAST}) AND t.xid < (SELECT future FROM last) AND NOT pg_visible_in_snapshot(t.xid, {_LAST})
"""  # noqa: S608 - of our own words
_CHANGES = f"""
WITH database AS MATERIALIZED (
    SELECT concat_ws('/', l.id, s.system_identifier, c.timeline_id, d.oid) AS library
    FROM library l, pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database()
), last AS MATERIALIZED (
    SELECT %(snapshot)s::pg_snapshot AS snapshot, pg_snapshot_xmax(pg_current_snapshot()) AS future
    FROM database WHERE library = %(library)s
    UNION ALL SELECT '{NOTHING}', '{2**64 - 1}' FROM database WHERE library != %(library)s
), names AS MATERIALIZED (SELECT name FROM changed t WHERE {_IS_UNSEEN})
SELECT 'state' AS kind, json_build_array(library, pg_current_snapshot()::text) AS content FROM database
UNION ALL SELECT 'names', to_json(name) FROM names
{"".join(f"UNION ALL SELECT '{table}', row_to_json(t) FROM {table} t JOIN names USING (name) " for table in STANDING)}
{"".join(f"UNION ALL SELECT '{table}', row_to_json(t) FROM {table} t WHERE {_IS_UNSEEN} " for table in COUNTED)}
"""  # noqa: S608 - of our own words
"""One statement, so one snapshot: what it does not show yet, the next one asks for.

A mirror of another library gets all. So does one whose database came back from a dump, where transactions are counted
anew: rows that came with it may have numbers that are yet to come, and are not asked for again.
"""


_WORDS = {
    OWNER: """substring(detail FROM '"owner": "([^"]*)"')""",
    FIRST_DAY: f"to_char(now() - interval '{DAYS_KEPT} days', 'YYYY-MM-DD')",
    "json_each(": "json_array_elements_text(",
}
"""What SQLite calls otherwise than PostgreSQL."""


class Postgres:
    """A transaction of PostgreSQL that takes the statements of SQLite, with named values."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Mapping[str, Any] | None = None, /) -> Any:
        """Runs a statement."""
        return self._connection.execute(_translate(statement), clean_row(values or {}))

    def executemany(self, statement: str, rows: Iterable[Mapping[str, Any]], /) -> None:
        """Runs it with each of the rows."""
        self._connection.cursor().executemany(_translate(statement), list(map(clean_row, rows)))


def _translate(statement: str) -> str:
    for ours, theirs in _WORDS.items():
        statement = statement.replace(ours, theirs)
    return re.sub(r":(\w+)", r"%(\1)s", statement)


def clean_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as PostgreSQL takes it: it has no NUL in text."""
    return {
        column: value.replace("\0", "\ufffd") if isinstance(value, str) else value
        for column, value in row.items()
    }


def read_changes(connection: Connection, library: str = "", snapshot: str = NOTHING) -> dict[str, list[Any]]:
    """What was committed after a mirror's snapshot, or all where that is of another library.

    By table its rows; as `state` library and snapshot; as `names` the tools that stand otherwise, with all their rows.
    """
    found = defaultdict(list)
    for row in connection.execute(_CHANGES, {"library": library, "snapshot": snapshot}):
        found[row["kind"]].append(row["content"])
    return found


def take_in(db: sqlite3.Connection, connection: Connection) -> Mapping[str, Sequence[Any]]:
    """Brings a mirror to where its library is; returns what `read_changes` read."""
    known, last = db.execute("SELECT library, snapshot FROM mirror").fetchone()
    changes = read_changes(connection, known, last)
    ((library, snapshot),) = changes["state"]
    if library != known:
        for table in ("tool", *COUNTED):
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - of our own words
    elif changes.keys() == {"state"}:
        return changes
    for table in changes.keys() & KEYS.keys():
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        changes[table] = [{column: row[column] for column in columns} for row in changes[table]]
    put_tools(db, changes["names"], changes)
    for table in COUNTED:
        put_rows(db, table, changes[table])
    db.execute("UPDATE mirror SET library = ?, snapshot = ?", (library, snapshot))
    return changes


def put_rows(db: sqlite3.Connection | Postgres, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Enters rows in place of those with the same keys."""
    if not rows:
        return
    changes = ", ".join(f"{column} = excluded.{column}" for column in rows[0] if column not in KEYS[table])
    db.executemany(
        f"INSERT INTO {table} ({', '.join(rows[0])}) VALUES ({', '.join(f':{each}' for each in rows[0])})"  # noqa: S608
        f" ON CONFLICT ({', '.join(KEYS[table])}) DO {f'UPDATE SET {changes}' if changes else 'NOTHING'}",
        rows,
    )


def put_tools(
    db: sqlite3.Connection | Postgres, names: Sequence[str], rows: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Makes these the rows of these tools."""
    for table, key in STANDING.items():
        whole_key = " || ' ' || ".join(key)
        kept = [" ".join(str(row[column]) for column in key) for row in rows.get(table, ())]
        db.execute(
            f"DELETE FROM {table} WHERE name IN (SELECT value FROM json_each(:names))"  # noqa: S608 - of our own words
            f" AND {whole_key} NOT IN (SELECT value FROM json_each(:kept))",
            {"names": json.dumps(names), "kept": json.dumps(kept)},
        )
        put_rows(db, table, rows.get(table, ()))


def send_tools(db: sqlite3.Connection, postgres: Postgres, names: Sequence[str]) -> None:
    """Makes the rows of these tools in PostgreSQL those of the mirror."""
    query = "SELECT * FROM {} WHERE name IN (SELECT value FROM json_each(?))"
    rows = {
        table: list(map(dict, db.execute(query.format(table), (json.dumps(names),)))) for table in STANDING
    }
    put_tools(postgres, names, rows)
    postgres.executemany(
        "INSERT INTO changed (name) VALUES (:name) ON CONFLICT (name) DO UPDATE SET xid = pg_current_xact_id()",
        [{"name": name} for name in names],
    )
