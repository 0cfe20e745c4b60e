"""Runs and facts as the manager hands them over, for tests."""

from __future__ import annotations

from typing import Any

from alita_mcp.agent.interface import Episode, Fact, RecipeStep
from alita_mcp.research.values import Source

SUM = "What is the sum of amount in sales.csv?"
SUM_AGAIN = "Add up the `price` column of orders.csv"


def summed(run: str = "r1", task: str = SUM, **fields: Any) -> Episode:
    """A run that summed a column."""
    step = RecipeStep(tool="sum_column", need="add up", arguments={"path": "sales.csv", "column": "amount"})
    told: dict[str, Any] = {
        "run": run, "task": task, "solved": True, "answer": "12", "at": "2025-06-01T10:00:00+00:00", "steps": (step,),
        "tools_used": ("sum_column",), "calls": 3, "seconds": 4.0,
    }  # fmt: skip
    return Episode(**{**told, **fields})


def stated(
    text: str,
    subject: str = "population of Lyon",
    url: str = "https://example.org/lyon",
    at: str = "2025-01-01",
) -> Fact:
    """A fact that a page states."""
    return Fact(text=text, subject=subject, source=Source(url=url, retrieved_at=at))
