"""Bearer tokens of clients: made and revoked at one server, known to all of a library at once.

Only digests are stored. Each server keeps those that count in memory: a request asks no database.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.owners import WORD, Principal, token_digest
from alita_mcp.postgres.database import Database

CHANNEL = "alita_token"
PREFIX = "alita_"
"""Begins every token, so that scanners of repositories find a lost one."""


def create_token(database: Database, name: str, team: str, subject: str, scopes: Collection[str]) -> str:
    """Makes a token of `TEAM/SUBJECT`; returns it, which nothing does again.

    Raises:
        UsageError: a word cannot be one, or there is a token of this name.
        LibraryError: the database is away or refuses.
    """
    for what, text in (("name", name), ("team", team), ("subject", subject)):
        if not WORD.fullmatch(text):
            raise UsageError(f"Invalid {what} {text[:100]!r}: expected {WORD.pattern}.")
    token = PREFIX + secrets.token_urlsafe(32)
    with database.transaction() as connection:
        made = connection.execute(
            """
            INSERT INTO token (name, owner, scopes, digest) VALUES (%s, %s, %s, %s)
            ON CONFLICT (name) DO NOTHING RETURNING name
            """,
            (name, f"{team}/{subject}", sorted(scopes), token_digest(token)),
        ).fetchone()
        if made is None:
            raise UsageError(f"There is a token {name!r}.", hint=f"`alita token revoke {name}` ends it.")
        database.notify(connection, CHANNEL)
    return token


def list_tokens(database: Database) -> list[dict[str, Any]]:
    """All tokens that were not revoked, the oldest first; raises as `create_token`."""
    with database.transaction() as connection:
        query = "SELECT name, owner, scopes, created_at FROM token ORDER BY created_at, name"
        return connection.execute(query).fetchall()


def revoke_token(database: Database, name: str) -> None:
    """Ends a token at all servers; raises UsageError where none has this name, else as `create_token`."""
    with database.transaction() as connection:
        if not connection.execute("DELETE FROM token WHERE name = %s", (name,)).rowcount:
            raise UsageError(f"There is no token {name[:64]!r}.", hint="`alita token list` shows all.")
        database.notify(connection, CHANNEL)


class TokenTable:
    """The tokens that count, as one server knows them; while the database is away, as it knew them last."""

    def __init__(self, url: str) -> None:
        """Nothing is read before `follow`."""
        self._database = Database(url)
        self._known: dict[str, Principal] = {}

    def follow(self) -> None:
        """Reads the tokens, now and whenever one was made or revoked, five seconds later at most. It blocks.

        Raises:
            LibraryError: the database is away; later the tokens are those that were known.
        """
        self._read_again()
        self._database.listen(CHANNEL, self._read_again)

    def find(self, digest: str) -> Principal | None:
        """Who has the token of a digest; None where none that counts has it."""
        return self._known.get(digest)

    def close(self) -> None:
        """Ends following, and closes all connections."""
        self._database.close()

    def _read_again(self, _notice: str | None = None) -> None:
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT owner, scopes, digest FROM token").fetchall()
        self._known = {
            row["digest"]: Principal(row["owner"], frozenset(row["scopes"]), row["digest"]) for row in rows
        }
