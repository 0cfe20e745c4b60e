"""Choice of the plan to follow, from candidates and recorded outcomes, with a reason; pure, without I/O.

The chance that a step works is Beta(a, b) distributed: a = s + n·m, b = f + n·(1 - m), where s and f are its recorded
successes and failures, m the mean presumed before there are any, and n = `PRESUMED_COUNT`. An author's estimate e of a
plan counts as c more outcomes, shared by its steps, so that its weight shifts to what was recorded::

    p = (a + c·g) / (a + b + c),   g = mean of e^(1/steps) over the plans with that step

Of a recipe's plan c is the recipe's own count of outcomes, else `ESTIMATE_WEIGHT`. A step that failed in this run has
p·RETRY^failures. A plan is worth the chance that all of its remaining steps work, less `PRICE` for each of them.
Tools change: each outcome multiplies the weight of older ones by `KEPT` (discounted Thompson sampling: Raj and Kalyani
2017, arXiv:1707.09727).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pydantic import Field

from alita_mcp.agent.planning.plans import Plan, PlanStep, PlanWay, StepKey
from alita_mcp.values import Trust, Value

ESTIMATE_WEIGHT = 2.0
RETRY = 0.1
PRICE = 0.0025
"""Of one step, in solved tasks: of two plans that are as likely to work, the shorter one is better."""
LEAST_VALUE = 0.1
"""Below it no plan is worth following while others can be asked for."""
KEPT = 0.8
"""Weight of an outcome once a newer one of the same tool is known."""
PRESUMED_COUNT = 4.0
"""How many outcomes a presumption is worth."""
WAYS: Mapping[PlanWay, float] = {
    "reuse": 0.75,
    "compose": 0.7,
    "run_once": 0.7,
    "research": 0.7,
    "build": 0.6,
}
"""Chance presumed of a step by its way."""
TRUSTED: Mapping[Trust, float] = {"verified": 0.9, "provisional": 0.75, "rejected": 0.2}
"""Chance presumed of a tool by its trust."""
MISSING_CHANCE = 0.02
"""Chance presumed of a step whose tool does not exist."""


class OutcomeRecord(Value):
    """Recorded outcomes of a tool, a way or a recipe; discounted."""

    successes: float = Field(default=0.0, ge=0)
    failures: float = Field(default=0.0, ge=0)
    trust: Trust | None = None
    """Of a tool: what its verification gave; None where there was none."""

    @property
    def count(self) -> float:
        """Number of outcomes that the record is worth."""
        return self.successes + self.failures


Records = Mapping[str, OutcomeRecord]
"""By `tool:NAME`, `way:WAY` where a step calls no tool of the library, and `recipe:ID`."""


class Tried(Value):
    """A step that this run has taken."""

    step: PlanStep
    ok: bool
    doubt: float = Field(default=0.0, ge=0, le=1)
    """How probable it is that its result is wrong though it reported success, since a check failed (`blame`)."""


class Choice(Value):
    """The plan to follow now."""

    plan: Plan | None
    """None where none is worth following, so that others should be asked for."""
    left: tuple[int, ...]
    """The steps of the plan that are to be taken; the others worked before and are trusted."""
    values: tuple[float, ...]
    """Of each plan given, in solved tasks; minus infinity for one that cannot be followed any more."""
    why: str
    """One sentence for a person."""


def choose(
    plans: Sequence[Plan], records: Records, tried: Sequence[Tried] = (), steps_left: int = 60,
    least_value: float = LEAST_VALUE,
) -> Choice:  # fmt: skip
    """The most valuable plan that fits the steps that are left; deterministic.

    Args:
        plans: Candidates, the model's favourite first; a plan that is under way stays among them.
        records: Outcomes of earlier runs and of this one.
        tried: The steps of this run, in order; those that worked are not taken again.
        steps_left: Of the run's budget.
        least_value: What a plan must be worth; 0 once no others can be had.
    """
    chances, trusted = _chances(plans, records, tried)
    values, lefts = [], []
    for plan in plans:
        left = tuple(at for at, step in enumerate(plan.steps) if step.key not in trusted)
        keys = {step.key for step in plan.steps}
        value = math.prod(trusted.get(key, chances[key]) for key in keys) - PRICE * len(left)
        values.append(value if 0 < len(left) <= steps_left else -math.inf)
        lefts.append(left)
    best = max(range(len(plans)), key=lambda at: (round(values[at], 12), -at), default=None)
    # Case 1: none can be followed. Case 2: none is worth it. Case 3: the most valuable one.
    if best is None or values[best] == -math.inf:
        why = "No plan is left that fits the budget and has a step to take."
        return Choice(plan=None, left=(), values=tuple(values), why=why)
    if values[best] < least_value:
        why = f"No plan is worth following: the best has value {values[best]:.2f}."
        return Choice(plan=None, left=(), values=tuple(values), why=why)
    plan = plans[best]
    weakest = min(plan.steps, key=lambda step: chances[step.key])
    record = records.get(_record_key(weakest), OutcomeRecord())
    outcomes = "which has no recorded outcomes"
    if record.count:
        outcomes = f"which worked in {record.successes:.1f} of {record.count:.1f} recent outcomes"
    why = (
        f"Plan {best + 1} of {len(plans)}: value {values[best]:.2f} (its author said {plan.estimate:.2f}). "
        f"Its weakest step is {weakest.tool or weakest.way!r}, {outcomes}."
    )
    return Choice(plan=plan, left=lefts[best], values=tuple(values), why=why)


def _chances(
    plans: Sequence[Plan], records: Records, tried: Sequence[Tried]
) -> tuple[dict[StepKey, float], dict[StepKey, float]]:
    """The chance of each different step of the plans, and how surely those that worked and are trusted did."""
    steps: dict[StepKey, PlanStep] = {}
    guesses: dict[StepKey, list[float]] = {}
    weights: dict[StepKey, float] = {}
    for plan in plans:
        recipe = records.get(f"recipe:{plan.recipe}") if plan.recipe else None
        for step in plan.steps:
            steps.setdefault(step.key, step)
            guesses.setdefault(step.key, []).append(plan.estimate ** (1 / len(plan.steps)))
            weight = max(ESTIMATE_WEIGHT, recipe.count if recipe else 0.0)
            weights[step.key] = max(weights.get(step.key, 0.0), weight)
    # How often each step failed, and the doubt of those whose last attempt worked.
    failures: dict[StepKey, int] = {}
    doubts: dict[StepKey, float] = {}
    for each in tried:
        key = each.step.key
        if each.ok:
            doubts[key] = 1 - (1 - doubts.get(key, 0.0)) * (1 - each.doubt) if each.doubt else 0.0
        else:
            failures[key] = failures.get(key, 0) + 1
            doubts.pop(key, None)
    chances: dict[StepKey, float] = {}
    trusted: dict[StepKey, float] = {}
    for key, step in steps.items():
        a, b = posterior(step, records)
        guess = math.fsum(guesses[key]) / len(guesses[key])
        chance = (a + weights[key] * guess) / (a + b + weights[key])
        chances[key] = chance * RETRY ** (failures.get(key, 0) + doubts.get(key, 0.0))
        # A step that worked is trusted, unless it is doubted so much that taking it again is worth more.
        if key in doubts and 1 - doubts[key] >= chances[key] - PRICE:
            trusted[key] = 1 - doubts[key]
    return chances, trusted


def posterior(step: PlanStep, records: Records) -> tuple[float, float]:
    """Successes and failures of a step, presumed and recorded: its chance is distributed as Beta(a, b)."""
    record = records.get(_record_key(step), OutcomeRecord())
    mean = TRUSTED[record.trust] if step.tool and record.trust else WAYS[step.way]
    mean = MISSING_CHANCE if step.tool and not step.known else mean
    return PRESUMED_COUNT * mean + record.successes, PRESUMED_COUNT * (1 - mean) + record.failures


def blame(steps: Sequence[PlanStep], records: Records) -> tuple[float, ...]:
    """Probability of each step to be wrong, where all reported success and the whole is wrong.

    Bayes, with independent steps: (1 - p) / (1 - product of all p). The shares sum to 1 or more: several may be wrong.
    """
    means = [a / (a + b) for a, b in (posterior(step, records) for step in steps)]
    whole = 1 - math.prod(means)
    return tuple(min(1.0, (1 - mean) / whole) for mean in means)


def _record_key(step: PlanStep) -> str:
    return f"tool:{step.tool}" if step.tool else f"way:{step.way}"
