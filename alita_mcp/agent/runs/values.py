"""Summary of a run, for listings."""

from __future__ import annotations

from typing import Literal

from alita_mcp.agent.values import Stopped
from alita_mcp.values import Value

RunStatus = Literal["running", "finished", "stopped", "died"]
"""`stopped`: by its budget, a person or for want of a model; `died`: its process ended first."""


class RunSummary(Value):
    """One run in a line."""

    run: str
    task: str
    at: str
    """When it began: ISO 8601, UTC."""
    status: RunStatus
    solved: bool = False
    stopped: Stopped = ""
    answer: str = ""
    """Its beginning."""
    steps: int = 0
    tools_made: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    calls: int = 0
    """Of models."""
    tokens: int = 0
    cost: float | None = None
    """USD; None where the price of a model is not known, or the run has not ended."""
    seconds: float = 0.0
