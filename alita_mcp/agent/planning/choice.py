"""Choice of the plan to follow, from candidates and recorded outcomes, with a reason.

Chance of step k, where g is the mean over the plans with that step of e^(1/n), their estimate e shared by n steps::

    p(k) = (a + c·g) / (a + b + c)

Beta(a, b) is the step's posterior and c = `ESTIMATE_WEIGHT`: the model's estimate counts as c outcomes, so that the
weight shifts to what was recorded. Of a recipe's plan c is the recipe's own count of outcomes. A step that failed in
this run has p(k)·RETRY^failures. Value of a plan, in solved tasks, with the steps k1, k2, … that are left::

    V(k1, k2, …) = p(k1)·max(0, V(k2, …)) - price(k1) - (1 - p(k1))·FAILURE,   V() = 1
    price(k) = MONEY · usd(k) / budget.usd + TIME · seconds(k) / budget.seconds + STEP / budget.steps
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from alita_mcp.agent.planning.plans import Plan, PlanStep, StepKey
from alita_mcp.agent.planning.posteriors import OutcomeRecord, Records, expectation, recipe_key, record_key
from alita_mcp.agent.values import TaskBudget
from alita_mcp.values import Value

ESTIMATE_WEIGHT = 2.0
RETRY = 0.1
MONEY, TIME, STEP = 0.3, 0.15, 0.15
"""What the whole budget of money, of time and of steps is worth, in solved tasks."""
FAILURE = 0.1
"""What it is worth to avoid one failed step, beside what it costs."""
LEAST_VALUE = 0.02
"""Below it no plan is worth its cost while others can be asked for."""


class Spent(Value):
    """Budget that the run has used."""

    steps: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class Tried(Value):
    """A step that this run has taken."""

    step: PlanStep
    ok: bool
    doubt: float = Field(default=0.0, ge=0, le=1)
    """How probable it is that its result is wrong though it reported success, since a check failed (`blame`)."""


class Choice(Value):
    """The plan to follow now."""

    plan: Plan | None
    """None where none is worth its cost, so that others should be asked for."""
    left: tuple[int, ...]
    """The steps of the plan that are to be taken; the others worked before and are trusted."""
    values: tuple[float, ...]
    """Of each plan given, in solved tasks; minus infinity for one that cannot be followed any more."""
    chances: tuple[float, ...]
    """Of each plan given: how probable it is that all its steps work."""
    why: str
    """One sentence for a person."""


@dataclass(frozen=True)
class _Prospect:
    """What is expected of one step."""

    chance: float
    price: float
    cost_usd: float
    seconds: float
    trust: float | None
    """Probability that its result is right, where it worked before and is not taken again."""


def choose(
    plans: Sequence[Plan], records: Records, tried: Sequence[Tried] = (), budget: TaskBudget | None = None,
    spent: Spent | None = None, least_value: float = LEAST_VALUE,
) -> Choice:  # fmt: skip
    """The most valuable plan that fits what is left of the budget; deterministic.

    Args:
        plans: Candidates, the model's favourite first; a plan that is under way stays among them.
        records: Outcomes of earlier runs and of this one, by `record_key`.
        tried: The steps of this run, in order; those that worked are not taken (nor paid) again.
        budget: Of the whole task: the unit of costs.
        spent: What the run has used of it.
        least_value: What a plan must be worth; 0 once no others can be had.
    """
    budget, spent = budget or TaskBudget(), spent or Spent()
    prospects = _prospects(plans, records, tried, budget)
    values, chances, lefts = [], [], []
    for plan in plans:
        mine = {step.key: prospects[step.key] for step in plan.steps}
        left = [each for each in mine.values() if each.trust is None]
        trusted = math.prod(each.trust for each in mine.values() if each.trust is not None)
        value = trusted
        for each in reversed(left):
            value = each.chance * max(0.0, value) - each.price
        values.append(value if _fits(left, budget, spent) else -math.inf)
        chances.append(trusted * math.prod(each.chance for each in left))
        lefts.append(tuple(at for at, step in enumerate(plan.steps) if prospects[step.key].trust is None))
    best = max(range(len(plans)), key=lambda at: (round(values[at], 12), -at), default=None)
    # Case 1: none can be followed. Case 2: none is worth its cost. Case 3: the most valuable one.
    if best is None or values[best] == -math.inf:
        chosen, why = None, "No plan is left that fits the budget and has a step to take."
    elif values[best] < least_value:
        chosen = None
        why = f"No plan is worth its cost: the best has value {values[best]:.2f} and chance {chances[best]:.2f}."
    else:
        chosen = best
        weakest = min(plans[best].steps, key=lambda each: expectation(each, records).chance)
        record = records.get(record_key(weakest), OutcomeRecord())
        outcomes = "which has no recorded outcomes"
        if record.count:
            outcomes = f"which worked in {record.successes:.1f} of {record.count:.1f} recent outcomes"
        why = (
            f"Plan {best + 1} of {len(plans)}: value {values[best]:.2f}, chance {chances[best]:.2f} (its author said "
            f"{plans[best].estimate:.2f}). Its weakest step is {weakest.tool or weakest.way!r}, {outcomes}."
        )
    return Choice(
        plan=None if chosen is None else plans[chosen],
        left=() if chosen is None else lefts[chosen],
        values=tuple(values),
        chances=tuple(chances),
        why=why,
    )


def _prospects(
    plans: Sequence[Plan], records: Records, tried: Sequence[Tried], budget: TaskBudget
) -> Mapping[StepKey, _Prospect]:
    """Chance and price of each different step of the plans."""
    steps: dict[StepKey, PlanStep] = {}
    guesses: dict[StepKey, list[float]] = {}
    weights: dict[StepKey, float] = {}
    for plan in plans:
        recipe = records.get(recipe_key(plan.recipe)) if plan.recipe else None
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
    found: dict[StepKey, _Prospect] = {}
    for key, step in steps.items():
        expected, weight = expectation(step, records), weights[key]
        guess = math.fsum(guesses[key]) / len(guesses[key])
        chance = (expected.a + weight * guess) / (expected.a + expected.b + weight)
        chance *= RETRY ** (failures.get(key, 0) + doubts.get(key, 0.0))
        price = STEP / budget.steps + (1 - chance) * FAILURE
        price += MONEY * expected.cost_usd / budget.usd if budget.usd else 0.0
        price += TIME * expected.seconds / budget.seconds if budget.seconds else 0.0
        # A step that worked is trusted, unless it is doubted so much that taking it again is worth more.
        trusted = key in doubts and 1 - doubts[key] >= chance - price
        found[key] = _Prospect(
            chance, price, expected.cost_usd, expected.seconds, 1 - doubts[key] if trusted else None
        )
    return found


def _fits(left: Sequence[_Prospect], budget: TaskBudget, spent: Spent) -> bool:
    """Whether something of a plan is left to do, and the budget has room for it."""
    usd, seconds = sum(each.cost_usd for each in left), sum(each.seconds for each in left)
    return (
        0 < len(left) <= budget.steps - spent.steps
        and (not budget.usd or usd <= budget.usd - spent.usd)
        and (not budget.seconds or seconds <= budget.seconds - spent.seconds)
    )
