"""Budget of a client's task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alita_mcp.agent.values import TaskBudget

if TYPE_CHECKING:
    from alita_mcp.settings import Settings


def task_budget(
    settings: Settings,
    *,
    steps: int | None = None,
    tokens: int | None = None,
    usd: float | None = None,
    seconds: float | None = None,
) -> TaskBudget:
    """The budget of a client's task: what it asks for, but never more than the settings allow; a limit of 0 is none."""

    def smaller(asked: float | None, limit: float) -> float:
        if asked is None:
            return limit
        return min(asked, limit) if limit else asked

    return TaskBudget(
        steps=min(steps or settings.limits.task_steps, settings.limits.task_steps),
        tokens=int(smaller(tokens, settings.limits.task_tokens)),
        usd=smaller(usd, settings.budget_usd),
        seconds=smaller(seconds, settings.limits.task_seconds),
    )
