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


WIDTHS = (Width(candidates=2, suites=1), Width(candidates=3, suites=3), Width(candidates=5, suites=5))
"""After each round; the next one is drawn only where the last one did not settle it."""


class Plan(Value):
    """Limits of one mode."""

    candidates: int
    suites: int
    repairs: int = 2
    """More of them select for the suites' own errors."""

    @property
    def rounds(self) -> tuple[Width, ...]:
        """Numbers of candidates and suites after each round, few first."""
        cut = [
            Width(candidates=min(width.candidates, self.candidates), suites=min(width.suites, self.suites))
            for width in WIDTHS
        ]
        return tuple(dict.fromkeys(cut))


PLANS: dict[Mode, Plan] = {
    "quick": Plan(candidates=1, suites=1),
    "standard": Plan(candidates=3, suites=3),
    "thorough": Plan(candidates=5, suites=5),
}


def seed(index: int, again: int = 0) -> int:
    """A seed for each draw, so that no two of one synthesis are the same request."""
    return 1 + again + 10 * index
