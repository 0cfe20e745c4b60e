"""Candidate plans, parsed and checked from a model's or a recipe's proposals."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from alita_mcp.agent.values import Way
from alita_mcp.values import Value

MAX_PLANS = 8
MAX_STEPS = 12
_LONGEST_TEXT = 300
_WAYS = ("reuse", "compose", "run_once", "build", "research")

PlanWay = Way | Literal["research"]
"""How a step is done: one of the four ways to meet a need, or looking something up."""
StepKey = tuple[str, str, str]
"""Way, tool and need: steps of different plans with one key are the same step."""


class PlanStep(Value):
    """One step of a plan."""

    need: str = Field(min_length=1, max_length=_LONGEST_TEXT)
    """What the step is to find out or to make."""
    way: PlanWay
    tool: str = ""
    """The library's tool that it calls; empty where there is none yet."""
    reason: str = ""
    """Why this way."""
    after: tuple[int, ...] = ()
    """Steps, counted from 0, whose results it needs; only earlier ones."""
    known: bool = True
    """Whether `tool` exists; a model names tools that do not."""

    @property
    def key(self) -> StepKey:
        """Key of a step, equal for the same step of another plan regardless of case and spaces."""
        return self.way, self.tool, " ".join(self.need.casefold().split())


class Plan(Value):
    """Steps that are to solve a task."""

    steps: tuple[PlanStep, ...] = Field(min_length=1, max_length=MAX_STEPS)
    estimate: float = Field(default=0.5, ge=0, le=1)
    """How probable its author takes its success to be."""
    origin: Literal["model", "recipe"] = "model"
    note: str = ""
    """What its author says of it, and what was repaired."""
    recipe: str = ""
    """Id of the recipe that it was made of."""

    @model_validator(mode="after")
    def _needs_earlier_steps_only(self) -> Plan:
        for at, step in enumerate(self.steps):
            if any(not 0 <= other < at for other in step.after):
                raise ValueError(f"step {at} comes after {step.after}, not all of them earlier steps")
        return self


def _way(said: Any) -> Any:
    return said.strip().casefold().replace("-", "_").replace(" ", "_") if isinstance(said, str) else said


def _share(said: Any) -> float:
    """A probability, however it was written: 0.7, "0.7", "70 %", 70; a half where it cannot be read."""
    text = str(said).strip().replace(",", ".")
    try:
        number = float(text.rstrip("% "))
    except ValueError:
        return 0.5
    share = number / 100 if text.endswith("%") or number > 1 else number
    return min(1.0, max(0.0, share)) if math.isfinite(share) else 0.5


def _words(said: Any) -> Any:
    """A text on one line, cut; nothing for null."""
    if said is None:
        return ""
    if not isinstance(said, str):
        return said
    sound = said.encode("utf-8", "replace").decode()  # JSON may hold half of a surrogate pair
    return " ".join(sound.split())[:_LONGEST_TEXT].strip()


def _numbers(said: Any) -> list[int]:
    """Whole numbers of a list, or the one number that was given in place of it."""
    given = said if isinstance(said, list) else [said]
    return [each for each in given if isinstance(each, int) and not isinstance(each, bool)]


_Text = Annotated[str, BeforeValidator(_words)]


class StepAnswer(BaseModel):
    """A step as a model writes it; numbers of steps begin with 1."""

    model_config = ConfigDict(extra="ignore")

    need: Annotated[str, BeforeValidator(_words), Field(min_length=1)]
    way: Annotated[PlanWay, BeforeValidator(_way)]
    tool: _Text = ""
    reason: _Text = ""
    after: Annotated[list[int], BeforeValidator(_numbers)] = Field(default_factory=list)


class PlanAnswer(BaseModel):
    """A plan as a model writes it."""

    model_config = ConfigDict(extra="ignore")

    steps: list[StepAnswer] = Field(min_length=1)
    estimate: Annotated[float, BeforeValidator(_share)] = 0.5
    note: _Text = ""


class PlansAnswer(BaseModel):
    """The candidate plans as a model writes them, the most promising first: what `ask_model` reads."""

    model_config = ConfigDict(extra="ignore")

    plans: list[PlanAnswer] = Field(min_length=1)


PLANS_SHAPE = f"""\
{{"plans": [{{"steps": [{{"need": "what this step finds out or makes", "way": "{"|".join(_WAYS)}", \
"tool": "name of a tool that you were shown, or empty", "reason": "why this way", "after": [1]}}], \
"estimate": 0.7, "note": "one sentence"}}]}}
The most promising plan first, at most {MAX_PLANS} plans of at most {MAX_STEPS} steps. Steps are numbered from 1; \
`after` lists those whose results a step needs, so that the others may run side by side. Use the same words for the \
same step in every plan. `estimate` is the probability, 0 to 1, that the plan gives the right answer."""
"""The JSON that a prompt asks for, with what its fields mean."""


def plans_from(answer: PlansAnswer, tools: Collection[str], limit: int = MAX_PLANS) -> tuple[Plan, ...]:
    """The plans of an answer in its order, each once; unknown tools are marked.

    What is too long is cut: plans after `limit`, steps after `MAX_STEPS`. References to steps that are not earlier ones
    are dropped.
    """
    found: dict[tuple[StepKey, ...], Plan] = {}
    for each in answer.plans:
        plan = _plan(each, tools)
        found.setdefault(tuple(step.key for step in plan.steps), plan)
    return tuple(found.values())[: max(0, min(limit, MAX_PLANS))]


def _plan(answer: PlanAnswer, tools: Collection[str]) -> Plan:
    notes = [answer.note]
    if len(answer.steps) > MAX_STEPS:
        notes.append(f"{len(answer.steps) - MAX_STEPS} steps after the first {MAX_STEPS} were dropped")
    steps = tuple(
        PlanStep(
            **{
                **dict(step),
                "after": tuple(sorted({number - 1 for number in step.after if 0 < number <= at})),
            },
            known=not step.tool or step.tool in tools,
        )
        for at, step in enumerate(answer.steps[:MAX_STEPS])
    )
    return Plan(steps=steps, estimate=answer.estimate, note="; ".join(filter(None, notes)))


AGENT_TOOLS: Mapping[str, PlanWay] = {
    "run_code": "run_once",
    "synthesize_tool": "build",
    "build_tool": "build",
    "research_web": "research",
    "read_page": "research",
}
"""What a run calls that is no tool of the library, and the way that it stands for."""
