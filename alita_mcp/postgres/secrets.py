"""Secrets that servers of one library agree on: what the first one makes is everybody's."""

from __future__ import annotations

import secrets

from alita_mcp.postgres.database import Database


def ensure_secret(database: Database, name: str) -> str:
    """The secret of a name, 43 characters; made where there is none.

    Raises:
        LibraryError: the database is away or refuses.
    """
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO secret (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (name, secrets.token_urlsafe(32)),
        )
        row = connection.execute("SELECT value FROM secret WHERE name = %s", (name,)).fetchone()
    return str(row["value"]) if row else ""
