"""Limits of each owner: calls a minute and jobs at once, counted by each server; syntheses and model tokens a day.

What costs money is counted in the database, for all servers of a library together. The user has no limits.
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
JOB_ENDS_S = 5
"""When a job is likely to have ended."""
MAX_OWNERS = 10_000
"""So many owners are remembered; a call of one that was silent longest counts as its first."""
_BEGIN = """
INSERT INTO spending AS s (owner, day, syntheses) VALUES (%(owner)s, current_date, %(syntheses)s)
ON CONFLICT (owner, day) DO UPDATE SET syntheses = s.syntheses + excluded.syntheses
WHERE s.syntheses + excluded.syntheses <= %(most)s AND s.model_tokens < %(most_tokens)s
RETURNING owner
"""
_TOMORROW = "SELECT ceil(extract(epoch FROM current_date + 1 - now()))::int AS seconds"
_ADD_TOKENS = """
INSERT INTO spending AS s (owner, day, model_tokens) VALUES (%s, current_date, %s)
ON CONFLICT (owner, day) DO UPDATE SET model_tokens = s.model_tokens + excluded.model_tokens
"""


class Quotas:
    """What the owners of one server did lately, and what they may still do; a limit of 0 is none."""

    def __init__(self, settings: Settings, database: Database | None) -> None:
        """Nothing is counted yet.

        Raises:
            UsageError: a day is limited, and there is no database to count in.
        """
        self._settings, self._database = settings, database
        self._counts_days = bool(settings.quota_syntheses or settings.quota_model_tokens)
        if self._counts_days and database is None:
            raise UsageError(
                "ALITA_QUOTA_SYNTHESES and ALITA_QUOTA_MODEL_TOKENS are counted in the database of a shared library.",
                hint="Set ALITA_LIBRARY, or unset them.",
            )
        self._calls: OrderedDict[str, deque[float]] = OrderedDict()

    def count_call(self, owner: str) -> None:
        """Counts a call.

        Raises:
            QuotaSpent: the owner made as many in the last minute as it may.
        """
        most = self._settings.quota_calls
        if not most or owner == USER:
            return
        now = time.monotonic()
        calls = self._calls.setdefault(owner, deque(maxlen=most))
        self._calls.move_to_end(owner)
        if len(self._calls) > MAX_OWNERS:
            self._calls.popitem(last=False)
        if len(calls) == most and now < calls[0] + MINUTE_S:
            again_s = math.ceil(calls[0] + MINUTE_S - now)
            raise QuotaSpent(f"{most:,} calls were made in the last minute (ALITA_QUOTA_CALLS).", again_s)
        calls.append(now)

    async def begin_job(self, owner: str, under_way: int, *, is_synthesis: bool) -> None:
        """Counts a synthesis or a task that is about to begin, of which so many are under way.

        Raises:
            QuotaSpent: the owner has as many under way as it may, or did as much today.
            LibraryError: the database is away.
        """
        if owner == USER:
            return
        settings, database = self._settings, self._database
        if 0 < settings.quota_jobs <= under_way:
            raise QuotaSpent(f"{under_way} of your jobs are under way (ALITA_QUOTA_JOBS).", JOB_ENDS_S)
        if not self._counts_days or database is None:
            return
        values = {
            "owner": owner, "syntheses": int(is_synthesis), "most": settings.quota_syntheses or 2**31 - 1,
            "most_tokens": settings.quota_model_tokens or 2**62,
        }  # fmt: skip

        def count() -> int | None:
            with database.transaction() as connection:
                if connection.execute(_BEGIN, values).fetchone() is not None:
                    return None
                row = connection.execute(_TOMORROW).fetchone()
                return row["seconds"] if row else 0

        again_s = await anyio.to_thread.run_sync(count)
        if again_s is not None:
            limits = "ALITA_QUOTA_SYNTHESES, ALITA_QUOTA_MODEL_TOKENS"
            raise QuotaSpent(f"Today's syntheses or model tokens are spent ({limits}).", again_s)

    async def add_model_tokens(self, owner: str, tokens: int) -> None:
        """Counts tokens of models that were used for an owner; raises LibraryError where the database is away."""
        database = self._database
        if database is None or not tokens or not self._settings.quota_model_tokens:
            return

        def add() -> None:
            with database.transaction() as connection:
                connection.execute(_ADD_TOKENS, (owner, tokens))

        await anyio.to_thread.run_sync(add)
