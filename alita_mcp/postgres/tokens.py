"""Bearer tokens of clients: made and revoked at one server, known to all of a library at once.

Only digests are stored. Each server keeps those that count in memory: a request asks no database.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from alita_mcp.errors import LibraryError, UsageError
from alita_mcp.owners import Principal
from alita_mcp.postgres.database import Database
from alita_mcp.postgres.migrations import migrate

CHANNEL = "alita_token"
PREFIX = "alita_"
"""Begins every token, so that scanners of repositories find a lost one."""
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of tokens and teams."""
SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")
NOTE_USE_EVERY_S = 60.0
"""The last use of a token is written so often at most."""

_log = logging.getLogger(__name__)


def create_token(
    database: Database, name: str, team: str, subject: str, scopes: Collection[str], days: int | None = None
) -> str:
    """Makes a token of `TEAM/SUBJECT`, which counts for so many days; returns it, which nothing does again.

    Raises:
        UsageError: a word cannot be one, or a token that counts has this name.
        LibraryError: the database is away or refuses.
    """
    for what, text, pattern in (("name", name, WORD), ("team", team, WORD), ("subject", subject, SUBJECT)):
        if not pattern.fullmatch(text):
            raise UsageError(f"Invalid {what} {text[:100]!r}: expected {pattern.pattern}.")
    token = PREFIX + secrets.token_urlsafe(32)
    with database.transaction() as connection:
        made = connection.execute(
            """
            INSERT INTO token (id, name, owner, scopes, digest, expires_at)
            VALUES (%s, %s, %s, %s, %s, now() + make_interval(days => %s))
            ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING RETURNING id
            """,
            (secrets.token_hex(8), name, f"{team}/{subject}", sorted(scopes), digest_of(token), days),
        ).fetchone()
        if made is None:
            raise UsageError(f"There is a token {name!r}.", hint=f"`alita token revoke {name}` ends it.")
        database.notify(connection, CHANNEL)
    return token


def list_tokens(database: Database) -> list[dict[str, Any]]:
    """All tokens, also those that count no longer, the oldest first; raises as `create_token`."""
    with database.transaction() as connection:
        return connection.execute(
            "SELECT id, name, owner, scopes, created_at, expires_at, revoked_at, last_used FROM token"
            " ORDER BY created_at, id"
        ).fetchall()


def revoke_token(database: Database, name: str) -> None:
    """Ends a token at all servers; raises UsageError where none that counts has this name, else as `create_token`."""
    with database.transaction() as connection:
        done = connection.execute(
            "UPDATE token SET revoked_at = now() WHERE name = %s AND revoked_at IS NULL RETURNING id", (name,)
        ).fetchone()
        if done is None:
            raise UsageError(
                f"There is no token {name[:64]!r} that counts.", hint="`alita token list` shows all."
            )
        database.notify(connection, CHANNEL)


def digest_of(token: str) -> bytes:
    """What is stored of a token; it is random, so that no salt is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class TokenTable:
    """The tokens that count, as one server knows them; while the database is away, as it knew them last."""

    def __init__(self, url: str) -> None:
        """Nothing is read before `follow`."""
        self._database = Database(url)
        self._known: dict[bytes, Principal] = {}
        self._by_id: dict[str, Principal] = {}
        self._used: dict[str, float] = {}
        """Ids of tokens that were used, with when their use is written next."""
        self._unwritten: set[str] = set()
        self._lock = threading.Lock()
        self.is_known = False
        """Whether the tokens were ever read."""

    def follow(self, on_end: Callable[[Sequence[str]], object]) -> None:
        """Reads the tokens, now and whenever one was made or revoked, five seconds later at most. It blocks.

        `on_end` hears in a thread the ids of tokens that count no longer.
        """
        self._read_again(on_end, None)
        self._database.listen(CHANNEL, partial(self._read_again, on_end))

    def find(self, digest: bytes) -> Principal | None:
        """Who has the token of a digest; None where none that counts has it."""
        principal = self._known.get(digest)
        if principal is None or not _counts(principal):
            return None
        now = time.monotonic()
        if now >= self._used.get(principal.id, 0.0):
            self._used[principal.id] = now + NOTE_USE_EVERY_S
            self._unwritten.add(principal.id)
        return principal

    def find_by_id(self, id_: str) -> Principal | None:
        """Who has the token of an id; None where it does not count."""
        principal = self._by_id.get(id_)
        return principal if principal is not None and _counts(principal) else None

    def close(self) -> None:
        """Ends following, and closes all connections."""
        self._database.close()

    def _read_again(self, on_end: Callable[[Sequence[str]], object], _notice: str | None) -> None:
        with self._lock:
            try:
                if not self.is_known:
                    migrate(self._database)
                used = [self._unwritten.pop() for _ in range(len(self._unwritten))]
                with self._database.transaction() as connection:
                    if used:
                        connection.execute("UPDATE token SET last_used = now() WHERE id = ANY(%s)", (used,))
                    rows = connection.execute(
                        "SELECT id, owner, scopes, digest, expires_at FROM token WHERE revoked_at IS NULL"
                    ).fetchall()
            except LibraryError as away:
                _log.warning("Cannot read the tokens: %s", away)
                return
            known = {
                bytes(row["digest"]): Principal(
                    row["owner"], frozenset(row["scopes"]), row["id"],
                    expires_at=row["expires_at"] and row["expires_at"].timestamp(),
                )
                for row in rows
            }  # fmt: skip
            by_id = {each.id: each for each in known.values()}
            ended = [id_ for id_ in self._by_id if id_ not in by_id]
            self._known, self._by_id, self.is_known = known, by_id, True
        if ended:
            on_end(ended)


def _counts(principal: Principal) -> bool:
    return principal.expires_at is None or time.time() < principal.expires_at
