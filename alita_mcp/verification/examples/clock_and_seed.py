"""The pinned clock and random seed of rehearsed calls.

What a draft declares in `varies` is pinned, so that its results can be judged; all else is as in later calls.
"""

from __future__ import annotations

import time
from functools import cache

from alita_mcp.sandbox.workers.hash_seeds import hash_seed
from alita_mcp.values import Draft, Value

SECOND_CLOCK_OFFSET_S = 400 * 86_400 + 5 * 3_600 + 1_234
"""More than a year and some hours on: another year, month, weekday, hour and minute."""
OTHER_REHEARSALS = 3
"""Further rehearsals, each with another clock and seed, in which the examples of a draft that varies must hold."""


class ClockAndSeed(Value):
    """The clock and the random seed that a call begins with; None: not pinned."""

    moment: int | None = None
    """Seconds of the epoch."""
    seed: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether the clock or the seed is pinned."""
        return self != ClockAndSeed()


def clock_and_seed_of(draft: Draft, number: int = 0) -> ClockAndSeed:
    """The pinned clock and seed of a draft's rehearsals; each `number` has another moment and another seed."""
    whole = pinned_clock_and_seed(draft.code, number)
    return ClockAndSeed(
        moment=whole.moment if "clock" in draft.varies else None,
        seed=whole.seed if "random" in draft.varies else None,
    )


def pinned_clock_and_seed(code: str, number: int = 0) -> ClockAndSeed:
    """A pinned clock and a pinned seed; the seed cannot be foreseen outside this process."""
    moment = _first_moment() + number * SECOND_CLOCK_OFFSET_S
    return ClockAndSeed(moment=moment, seed=hash_seed(f"random numbers {number} {code}", 0))


@cache
def _first_moment() -> int:
    """The start of the rehearsals' clock; one for this process, so that workers can be shared."""
    return int(time.time())
