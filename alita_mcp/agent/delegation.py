"""Delegation of a sub-task to a fresh agent, with its own limits and a typed result."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from alita_mcp.agent.actions.abilities import ActionResult
from alita_mcp.agent.react import Agent, Brief
from alita_mcp.agent.run import Run
from alita_mcp.errors import InvalidArguments
from alita_mcp.models.budget import Budget, Meter

MAX_DEPTH = 2
SHARE = 2
"""A part gets at most one of so many parts of what is left of each limit."""


class Delegation:
    """Delegates parts of one agent's task."""

    def __init__(self, run: Run, agent: str = "") -> None:
        self._run = run
        self._agent = agent
        self._numbers = itertools.count(1)

    async def __call__(self, said: dict[str, Any]) -> ActionResult:
        """A sub-task's result; raises InvalidArguments where the request does not fit."""
        task, wanted = said.get("task"), said.get("result_schema")
        references = said.get("references") or ()
        if not isinstance(task, str) or not task.strip():
            raise InvalidArguments("task is missing: what is the part to find out?")
        if wanted is not None and not (isinstance(wanted, dict) and wanted.get("type")):
            raise InvalidArguments("result_schema is to be a JSON Schema with a type.")
        number = next(self._numbers)
        agent = f"{self._agent}.{number}" if self._agent else str(number)
        part = self._part(agent, task, [str(each) for each in references])
        deeper = Delegation(part, agent) if agent.count(".") + 1 < MAX_DEPTH else None
        brief = Brief(task=task, agent=agent, wanted=wanted)
        ended = await Agent(part, brief, delegate=deeper).work()
        if ended.solved:
            return ActionResult(ok=True, value=ended.answer)
        why = ended.why or "It was not solved."
        return ActionResult(ok=False, value=ended.answer or None, error=f"The part was not solved: {why}")

    def _part(self, agent: str, task: str, references: list[str]) -> Run:
        outer = self._run
        budget = outer.request.budget
        tokens = budget.tokens and max(
            1, int(budget.tokens * (1 - min(1.0, outer.parts.meter.share_used))) // SHARE
        )
        meter = Meter(Budget(tokens=tokens), within=outer.parts.meter, work="part of the task")
        models, implementer = outer.parts.models_on(meter)
        parts = replace(outer.parts, models=models, implementer=implementer, meter=meter)
        return outer.part(agent, task, references, max(1, outer.steps_left // SHARE), parts)
