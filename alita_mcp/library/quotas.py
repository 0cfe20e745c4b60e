"""Limits of each owner: calls a minute, counted by each server, and model tokens a day, counted for all servers.

The user has no limits.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, LiteralString

import anyio.to_thread

from alita_mcp.errors import LibraryError, QuotaSpent, UsageError
from alita_mcp.owners import USER
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

MINUTE_S = 60.0
_LEFT = """
SELECT ceil(extract(epoch FROM current_date + 1 - now()))::int AS seconds FROM spending
WHERE owner = %s AND day = current_date AND model_tokens >= %s
"""
_ADD = """
INSERT INTO spending AS s (owner, day, model_tokens) VALUES (%s, current_date, %s)
ON CONFLICT (owner, day) DO UPDATE SET model_tokens = s.model_tokens + excluded.model_tokens
RETURNING owner
"""
_log = logging.getLogger(__name__)


class Quotas:
    """What the owners of one server did lately, and what they may still do; a limit of 0 is none."""

    def __init__(self, settings: Settings, database: Database | None) -> None:
        """Raises UsageError where days are limited, and there is no database to count them in."""
        self._most_calls, self._most_tokens = settings.quota_calls, settings.quota_model_tokens
        self._database = database if self._most_tokens else None
        if self._most_tokens and database is None:
            raise UsageError(
                "ALITA_QUOTA_MODEL_TOKENS is counted in the database of a shared library.",
                hint="Set ALITA_LIBRARY, or unset it.",
            )
        self._ends_at = 0.0
        self._calls: Counter[str] = Counter()
        """By owner, of the minute that ends then."""

    def count_call(self, owner: str) -> None:
        """Counts a call; raises QuotaSpent where the owner made as many in this minute as it may."""
        if not self._most_calls or owner == USER:
            return
        if (now := time.monotonic()) >= self._ends_at:
            self._ends_at, self._calls = now + MINUTE_S, Counter()
        if self._calls[owner] >= self._most_calls:
            made = f"{self._most_calls:,} calls were made in this minute (ALITA_QUOTA_CALLS)."
            raise QuotaSpent(made, math.ceil(self._ends_at - now))
        self._calls[owner] += 1

    async def check_model_tokens(self, owner: str) -> None:
        """Checks that an owner may begin a synthesis or a task.

        Raises:
            QuotaSpent: its work used as many tokens of models today as it may.
            LibraryError: the database is away.
        """
        if owner == USER:
            return
        if row := await self._execute(_LEFT, (owner, self._most_tokens)):
            raise QuotaSpent("Today's model tokens are spent (ALITA_QUOTA_MODEL_TOKENS).", row["seconds"])

    async def add_model_tokens(self, owner: str, tokens: int) -> None:
        """Counts tokens of models that were used for an owner; where the database is away, the log says so."""
        try:
            await self._execute(_ADD, (owner, tokens))
        except LibraryError as failure:
            _log.warning("%s Not counted for %s: %s", failure, owner, tokens)

    async def _execute(self, query: LiteralString, values: Sequence[object]) -> Mapping[str, Any] | None:
        database = self._database
        if database is None:
            return None

        def execute() -> Mapping[str, Any] | None:
            with database.transaction() as connection:
                return connection.execute(query, values).fetchone()

        return await anyio.to_thread.run_sync(execute)
