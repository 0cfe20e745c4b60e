"""Migrations of a shared library: numbered SQL files, applied in order, only forward.

Servers of an older version go on while a newer one migrates, so a migration only adds. One that older servers cannot
work with says so in its first line: `-- readable from N`, where N is the newest number that a server must know.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

from alita_mcp.errors import LibraryError

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.rows import DictRow

SCHEMA = "alita"
LOCK = 0x0A117A
"""Key of the advisory lock that one server holds while it migrates."""


def read_migrations() -> dict[int, str]:
    """Number → SQL of the migrations of this version, in order."""
    places = files("alita_mcp.postgres").joinpath("migrations").iterdir()
    found = {place.name: place for place in places if re.fullmatch(r"\d{4}_\w+\.sql", place.name)}
    return {int(name[:4]): found[name].read_text(encoding="utf-8") for name in sorted(found)}


def migrate(connection: Connection[DictRow]) -> None:
    """Brings a database to the schema of this version; one of a newer version is left as it is.

    Raises:
        LibraryError: only a newer version can work with its schema.
    """
    known = read_migrations()
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    row = connection.execute("SELECT to_regclass(%s) AS found", (f"{SCHEMA}.migration",)).fetchone()
    if row is None or row["found"] is None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(
            "CREATE TABLE migration (number integer PRIMARY KEY, readable_from integer NOT NULL)"
        )
    rows = connection.execute("SELECT number, readable_from FROM migration")
    applied = {row["number"]: row["readable_from"] for row in rows}
    newest, needed = max(known), max(applied.values(), default=0)
    if needed > newest:
        raise LibraryError(
            f"The library's schema is number {max(applied)}; this version knows {newest} and needs {needed}.",
            hint="Upgrade alita-mcp-server. Nothing was changed.",
        )
    for number, sql in known.items():
        if number not in applied:
            connection.execute(sql.encode())  # a file of the package
            said = re.match(r"-- readable from (\d+)", sql)
            connection.execute("INSERT INTO migration VALUES (%s, %s)", (number, int(said[1]) if said else 0))
