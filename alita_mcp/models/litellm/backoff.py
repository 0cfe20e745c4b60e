"""Backoff between attempts: growing, jittered, and never less than the server asked for."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from alita_mcp.values import Value

MAX_PAUSE_S = 60.0
"""No server's word makes us wait longer than that at a time."""


class Patience(Value):
    """Limits on how often a failure that may pass is tried again."""

    attempts: int = 4
    first_pause_s: float = 1.0
    max_pause_s: float = MAX_PAUSE_S

    def pause(self, attempt: int, asked_s: float | None) -> float:
        """Seconds to wait after attempt number `attempt` (from 0) failed.

        Without a word from the server half of the pause is left to chance, so that many callers that failed
        together do not come back together; with one, chance only adds to it.
        """
        chance = random.random()  # noqa: S311 - spreads callers, guards nothing
        grown = self.first_pause_s * 2.0**attempt
        wanted = grown * (0.5 + chance / 2) if asked_s is None else asked_s + self.first_pause_s * chance / 4
        return min(wanted, self.max_pause_s)


def asked_pause(headers: Mapping[str, str] | None, now: datetime | None = None) -> float | None:
    """Seconds that `Retry-After` asks for, whether it says seconds or a date; None without a readable word."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        said = str((headers or {}).get(name) or "").strip()
        if (seconds := _number(said)) is not None:
            return seconds * unit_s
        if said and name == "retry-after" and (moment := _moment(said)):
            return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    return None


def _number(said: str) -> float | None:
    try:
        seconds = float(said)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _moment(said: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
