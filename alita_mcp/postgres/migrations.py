"""Migrations of a shared library: numbered SQL files, applied in order, only forward.

Servers of an older version go on while a newer one migrates, so a migration only adds. One that older servers cannot
work with says so in its first line: `-- readable from N`, where N is the newest number that a server must know.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

from psycopg.sql import SQL

from alita_mcp.errors import LibraryError
from alita_mcp.postgres.database import SCHEMA, Connection, Database

LOCK = 0x0A117A
"""Key of the advisory lock that one server holds while it migrates."""
_READABLE_FROM = re.compile(r"-- readable from (\d+)")


class Migration(NamedTuple):
    """One file."""

    number: int
    name: str
    sql: str

    @property
    def readable_from(self) -> int:
        """The newest number that a server must know to work with the schema after it; 0: any."""
        said = _READABLE_FROM.match(self.sql)
        return int(said[1]) if said else 0


def read_migrations() -> list[Migration]:
    """The migrations of this version, in order."""
    found = [
        Migration(
            int(place.name[:4]),
            place.name.removesuffix(".sql"),
            place.read_text(encoding="utf-8"),
        )
        for place in files("alita_mcp.postgres").joinpath("migrations").iterdir()
        if re.fullmatch(r"\d{4}_\w+\.sql", place.name)
    ]
    return sorted(found)


def migrate(database: Database) -> None:
    """Brings a database to the schema of this version; one of a newer version is left as it is.

    Raises:
        LibraryError: the database is away or refuses, or only a newer version can work with its schema.
    """
    known = read_migrations()
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        applied = _applied(connection)
        _refuse_newer(applied, max((each.number for each in known), default=0))
        for migration in known:
            if migration.number not in applied:
                connection.execute(SQL(migration.sql))  # a file of the package
                connection.execute(
                    "INSERT INTO migration (number, name, readable_from) VALUES (%s, %s, %s)",
                    (migration.number, migration.name, migration.readable_from),
                )


def _applied(connection: Connection) -> dict[int, int]:
    """Number → `readable_from` of what was applied; makes schema and table where there are none."""
    row = connection.execute("SELECT to_regclass(%s) AS known", (f"{SCHEMA}.migration",)).fetchone()
    if row is None or row["known"] is None:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        connection.execute(
            """
            CREATE TABLE migration (
                number integer PRIMARY KEY,
                name text NOT NULL,
                readable_from integer NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            )
            """
        )
    rows = connection.execute("SELECT number, readable_from FROM migration")
    return {row["number"]: row["readable_from"] for row in rows}


def _refuse_newer(applied: dict[int, int], newest_known: int) -> None:
    least = max(applied.values(), default=0)
    if least > newest_known:
        raise LibraryError(
            f"The library's schema is number {max(applied)}; this version knows {newest_known} and needs {least}.",
            hint="Upgrade alita-mcp-server. Nothing was changed.",
        )
