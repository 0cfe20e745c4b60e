"""Backoff between attempts: growing, jittered, and never less than the server asked for."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from alita_mcp.values import Value

MAX_PAUSE_S = 60.0
"""No server makes us wait longer at a time."""


class Patience(Value):
    """How often, and after which pauses, a failure that may pass is tried again."""

    attempts: int = 4
    first_pause_s: float = 1.0
    max_pause_s: float = MAX_PAUSE_S

    def pause(self, attempt: int, asked_s: float | None) -> float:
        """Seconds to wait after attempt number `attempt` (from 0) failed; `asked_s` is what the server asked for."""
        # Jitter keeps many callers that failed together from coming back together: half of our own pause is left to
        # chance, and a pause that the server asked for is only lengthened.
        chance = random.random()  # noqa: S311 - spreads callers, guards nothing
        grown = self.first_pause_s * 2.0**attempt
        wanted = grown * (0.5 + chance / 2) if asked_s is None else asked_s + self.first_pause_s * chance / 4
        return min(wanted, self.max_pause_s)


def retry_after_seconds(headers: Mapping[str, str] | None) -> float | None:
    """Seconds that `Retry-After` asks for; None without a number of them."""
    try:
        seconds = float((headers or {}).get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
