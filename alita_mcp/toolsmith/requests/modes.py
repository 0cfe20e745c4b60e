"""Modes of synthesis: how many suites and candidates each may draw at most."""

from __future__ import annotations

from typing import Literal

from alita_mcp.values import Value

Mode = Literal["quick", "standard", "thorough"]

CANDIDATE_TEMPERATURES = (0.2, 0.7, 1.0, 0.5, 0.9)
TESTER_TEMPERATURES = (0.3, 0.7, 0.9, 0.5, 1.0)
REPAIR_TEMPERATURE = 0.2


class Width(Value):
    """Number of candidates and of suites."""

    candidates: int = 0
    suites: int = 0


REPAIRS = 2
"""Of one candidate at most; more of them select for the suites' own errors."""
_FIRST = Width(candidates=2, suites=1)

ROUNDS: dict[Mode, tuple[Width, ...]] = {
    "quick": (Width(candidates=1, suites=1),),
    "standard": (_FIRST, Width(candidates=3, suites=3)),
    "thorough": (_FIRST, Width(candidates=3, suites=3), Width(candidates=5, suites=5)),
}
"""How many there are after each round; the next one is drawn only where the last one did not settle it."""


def seed(index: int, again: int = 0) -> int:
    """A seed for each draw, so that no two of one synthesis are the same request."""
    return 1 + again + 10 * index
