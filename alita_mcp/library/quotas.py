"""Limits of each owner: calls a minute, counted by each server, and model tokens a day, counted for all servers.

The user has no limits.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import anyio.to_thread

from alita_mcp.errors import QuotaSpent, UsageError
from alita_mcp.owners import USER
from alita_mcp.settings import Settings

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database

MINUTE_S = 60.0
MAX_OWNERS = 10_000
"""So many owners are remembered; a call of one that was silent longest counts as its first."""
_LEFT = """
SELECT ceil(extract(epoch FROM current_date + 1 - now()))::int AS seconds FROM spending
WHERE owner = %s AND day = current_date AND model_tokens >= %s
"""
_ADD = """
INSERT INTO spending AS s (owner, day, model_tokens) VALUES (%s, current_date, %s)
ON CONFLICT (owner, day) DO UPDATE SET model_tokens = s.model_tokens + excluded.model_tokens
"""


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
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def count_call(self, owner: str) -> None:
        """Counts a call; raises QuotaSpent where the owner made as many in the last minute as it may."""
        if not self._most_calls or owner == USER:
            return
        now = time.monotonic()
        calls = self._calls.setdefault(owner, deque(maxlen=self._most_calls))
        self._calls.move_to_end(owner)
        if len(self._calls) > MAX_OWNERS:
            self._calls.popitem(last=False)
        if len(calls) == self._most_calls and now < calls[0] + MINUTE_S:
            again_s = math.ceil(calls[0] + MINUTE_S - now)
            raise QuotaSpent(
                f"{len(calls):,} calls were made in the last minute (ALITA_QUOTA_CALLS).", again_s
            )
        calls.append(now)

    async def check_model_tokens(self, owner: str) -> None:
        """Checks that an owner may begin a synthesis or a task.

        Raises:
            QuotaSpent: its work used as many tokens of models today as it may.
            LibraryError: the database is away.
        """
        database = self._database
        if database is None or owner == USER:
            return

        def read() -> int:
            with database.transaction() as connection:
                row = connection.execute(_LEFT, (owner, self._most_tokens)).fetchone()
                return int(row["seconds"]) if row else 0

        if again_s := await anyio.to_thread.run_sync(read):
            raise QuotaSpent("Today's model tokens are spent (ALITA_QUOTA_MODEL_TOKENS).", again_s)

    async def add_model_tokens(self, owner: str, tokens: int) -> None:
        """Counts tokens of models that were used for an owner; raises LibraryError where the database is away."""
        database = self._database
        if database is None or not tokens:
            return

        def add() -> None:
            with database.transaction() as connection:
                connection.execute(_ADD, (owner, tokens))

        await anyio.to_thread.run_sync(add)
