"""Plans that a model writes beside its calls, a line for each step."""

from __future__ import annotations

import re

from pydantic import Field

from alita_mcp.values import Value

MAX_PLANS = 4
MAX_STEPS = 12
LONG = 6
"""A task of more steps is long: its first turn offers several plans."""
_MAX_NEED = 200
_HEADING = re.compile(r"\W{0,6}plan\s+(?:[a-z]|\d)\b(?:\D{0,20}(\d{1,3})\s{0,2}%)?", re.IGNORECASE)
_STEP = re.compile(r"\s{0,8}(?:[-*]|\d{1,2}[.)])\s{0,4}[`*]{0,3}([a-z]\w{1,63})\b[`*]{0,3}\W{0,4}(.*)")


class PlanStep(Value):
    """One step of a plan."""

    action: str
    """The tool that it calls."""
    need: str = ""
    """What it is to find out or to make."""


class Plan(Value):
    """Steps that are to solve a task."""

    steps: tuple[PlanStep, ...] = Field(min_length=1, max_length=MAX_STEPS)
    estimate: float = Field(default=0.5, ge=0, le=1)
    """How probable its author takes its success to be."""


def read_plans(text: str, known: frozenset[str]) -> tuple[Plan, ...]:
    """The plans in the text of a turn, each once; none where it has none.

    A line is a step where it begins with a `known` action, or with a word that can only be meant as a tool (`get_x`).
    What is too long is cut.
    """
    plans: list[Plan] = []
    steps: list[PlanStep] = []
    estimate = 0.5

    def close() -> None:
        if steps and all(plan.steps != tuple(steps) for plan in plans):
            plans.append(Plan(steps=tuple(steps[:MAX_STEPS]), estimate=estimate))
        steps.clear()

    for line in text.splitlines():
        if heading := _HEADING.match(line):
            close()
            estimate = min(100, int(heading[1] or 50)) / 100
        elif (step := _STEP.match(line)) and (step[1] in known or "_" in step[1]):
            steps.append(PlanStep(action=step[1], need=step[2].strip()[:_MAX_NEED]))
    close()
    return tuple(plans[:MAX_PLANS])
