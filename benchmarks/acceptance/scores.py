"""Error rates of acceptance rules over many requests, with intervals."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import TypedDict

RESAMPLES = 1_000
_TAIL = 0.025


class Figures(TypedDict):
    """Shares: of the accepted ones the wrong, of all requests the accepted and the right; intervals by task."""

    accepted: int
    accept_rate: float
    false_accept_rate: float
    correct_per_request: float
    false_interval: tuple[float, float]
    correct_interval: tuple[float, float]


class Score:
    """Results of one rule, by task."""

    def __init__(self) -> None:
        self._tasks: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])

    def count(self, task_id: str, *, accepted: bool, correct: bool) -> None:
        """One request more."""
        task = self._tasks[task_id]
        task[0] += 1
        task[1] += accepted
        task[2] += accepted and correct

    def figures(self) -> Figures:
        """The shares, and where 95 % of them fall when tasks are drawn anew with putting back."""
        tasks = list(self._tasks.values())
        source = Random(0)
        drawn = [_shares(source.choices(tasks, k=len(tasks))) for _ in range(RESAMPLES if tasks else 0)]
        false, correct = (sorted(shares[part] for shares in drawn) for part in (1, 2))
        rates = _shares(tasks)
        return {
            "accepted": sum(task[1] for task in tasks),
            "accept_rate": round(rates[0], 4),
            "false_accept_rate": round(rates[1], 4),
            "correct_per_request": round(rates[2], 4),
            "false_interval": _middle(false),
            "correct_interval": _middle(correct),
        }


def _shares(tasks: list[list[int]]) -> tuple[float, float, float]:
    trials, accepted, correct = (sum(task[part] for task in tasks) for part in range(3))
    if not trials:
        return 0.0, 0.0, 0.0
    return accepted / trials, (accepted - correct) / accepted if accepted else 0.0, correct / trials


def _middle(ordered: list[float]) -> tuple[float, float]:
    if not ordered:
        return 0.0, 0.0
    last = len(ordered) - 1
    return round(ordered[round(_TAIL * last)], 4), round(ordered[round((1 - _TAIL) * last)], 4)
