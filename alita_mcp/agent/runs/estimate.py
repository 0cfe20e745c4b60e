"""Estimate of a task's time and cost, from kept runs of similar tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from alita_mcp.agent.memory.likeness import task_similarity
from alita_mcp.agent.values import Estimate, RunSummary

FEWEST = 3
"""An estimate from fewer runs would be a guess."""
ALIKE = 0.5
MOST = 0.9


def estimate(task: str, past: Sequence[RunSummary]) -> Estimate | None:
    """Medians and upper ends of kept runs of similar tasks, else of all; None for fewer than three.

    Runs that were broken off from outside say nothing about what a task takes; those that used up their budget do.
    """
    whole = [
        run
        for run in past
        if run.status in ("finished", "stopped") and run.stopped not in ("cancelled", "model")
    ]
    nearest = [run for run in whole if task_similarity(task, run.task) >= ALIKE]
    taken = nearest if len(nearest) >= FEWEST else whole
    if len(taken) < FEWEST:
        return None
    costs = [run.cost for run in taken if run.cost is not None]
    known = len(costs) == len(taken)
    return Estimate(
        runs=len(taken),
        calls=median(run.calls for run in taken),
        tokens=median(run.tokens for run in taken),
        usd=median(costs) if known else None,
        seconds=median(run.seconds for run in taken),
        most_usd=upper_end(costs) if known else None,
        most_seconds=upper_end([run.seconds for run in taken]),
    )


def upper_end(numbers: Sequence[float], share: float = MOST) -> float:
    """The smallest of the numbers that is at least as large as `share` of them."""
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
