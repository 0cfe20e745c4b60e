"""The worlds of a rehearsal: a draft that varies in, the clock and the seed that its calls begin with out.

What a draft declares in `varies` is set, so that its results can be judged; all else is as in later calls.
"""

from __future__ import annotations

import time
from functools import cache

from alita_mcp.sandbox.workers.hash_seeds import hash_seed
from alita_mcp.values import Draft, Value

SECOND_CLOCK_OFFSET_S = 400 * 86_400 + 5 * 3_600 + 1_234
"""More than a year and some hours on: another year, month, weekday, hour and minute."""
OTHER_WORLDS = 3
"""In so many other worlds the examples of a draft that varies must hold as well."""


class World(Value):
    """What a call begins with; None: whatever it is."""

    moment: int | None = None
    """Seconds of the epoch."""
    seed: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether anything of it is set."""
        return self != World()


def world_of(draft: Draft, number: int = 0) -> World:
    """The world of a draft's rehearsals; others than the first have another moment and another seed."""
    whole = any_world(draft.code, number)
    return World(
        moment=whole.moment if "clock" in draft.varies else None,
        seed=whole.seed if "random" in draft.varies else None,
    )


def any_world(code: str, number: int = 0) -> World:
    """A world with all of it set; nobody outside this process can foresee its seed."""
    moment = _first_moment() + number * SECOND_CLOCK_OFFSET_S
    return World(moment=moment, seed=hash_seed(f"random numbers {number} {code}", 0))


@cache
def _first_moment() -> int:
    """The same for all rehearsals of this process, so that their workers can be shared."""
    return int(time.time())
