"""Finished runs as the manager hands them over, for tests."""

from __future__ import annotations

from typing import Any

from alita_mcp.agent.interface import FinishedRun, Program

SUM = "What is the sum of amount in sales.csv?"
SUM_AGAIN = "Add up the `price` column of orders.csv"
CODE = """import csv

# blanks count as nothing
with open("sales.csv") as file:
    total = sum(float(row["amount"] or 0) for row in csv.DictReader(file))
{"sum": total}
"""


def summed(run: str = "r1", task: str = SUM, *, code: str = CODE, **fields: Any) -> FinishedRun:
    """A run that summed a column."""
    arguments, result = fields.pop("arguments", {}), fields.pop("result", {"sum": 12})
    said: dict[str, Any] = {
        "run": run, "task": task, "at": "2025-06-01T10:00:00+00:00",
        "programs": (Program(code=code, arguments=arguments, result={"result": result}),),
    }  # fmt: skip
    return FinishedRun(**{**said, **fields})
