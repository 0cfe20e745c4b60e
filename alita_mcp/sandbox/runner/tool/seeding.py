"""Seeded random numbers for `random`, `secrets`, `uuid4` and `os.urandom`, so that a call can be repeated."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any


def draw_from(seed: int) -> Callable[[], None]:
    """Seeds all sources of randomness for the rest of this process; the function that is returned seeds them anew.

    `random.Random(seed)` is what the functions of `random` draw from; a generator without a seed gets one from it.
    """
    import random  # takes its time, and few calls need it

    source = random.Random(seed)  # noqa: S311 - to be foreseen is the point
    set_seed = random.Random.seed

    def bytes_of(size: int, _flags: int = 0) -> bytes:
        return source.randbytes(size)

    def seed_generator(generator: random.Random, a: Any = None, version: int = 2) -> None:
        set_seed(generator, source.getrandbits(64) if a is None else a, version)

    def restart() -> None:
        set_seed(source, seed)
        random.seed(seed)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(seed)

    random.Random.seed = seed_generator  # type: ignore[method-assign, assignment]
    vars(random)["_urandom"] = bytes_of
    for name in ("urandom", "getrandom"):
        setattr(os, name, bytes_of)
    return restart
