"""Keeps to a plan: what is recalled in, the plan as the model reads it and the tools that it names out."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.agent.interface import Recalled
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Step


class PlanKeeper:
    """The plans of one run."""

    def __init__(self, run: Run, recalled: Recalled) -> None:
        self._run = run
        self._recalled = recalled
        self._tried: list[Step] = []
        self.told = ""
        """The plan as the model reads it; empty without one."""
        self.tools: tuple[str, ...] = ()
        """Tools of the library that the plan names."""

    async def begin(self) -> None:
        """Begins with the recipes that are known."""
        recipes = [recipe for recipe, _ in self._recalled.recipes]
        self.tools = tuple(dict.fromkeys(step.tool for recipe in recipes for step in recipe.steps))

    async def after(self, steps: Sequence[Step]) -> str:
        """Takes in steps that were taken; what the model is told where the plan changed, else an empty text."""
        self._tried += steps
        return ""
