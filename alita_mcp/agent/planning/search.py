"""Plan search: chooses the plan to follow from candidates and recorded outcomes, with a reason.

The search is that of MuZero (Schrittwieser et al. 2020, Nature 588, arXiv:1911.08265): plans are searched with values
that were learned, not with a simulator of the world. Here the learned model is the Beta posterior of each step, of
recorded outcomes (`posteriors`); `tree` searches what may come of each step, and which plan is left when one fails.

Chance of step k, where g is the one that the candidates' estimates imply (`estimates`)::

    p(k) = (a + c·g) / (a + b + c)

Beta(a, b) is the step's posterior and c = `estimate_weight`: the model's estimate counts as c outcomes, so that the
weight shifts to what was recorded. Of a recipe's plan c is the recipe's own count of outcomes. A step that failed in
this run has p(k)·retry^failures. Value of a plan, in solved tasks, with the steps k1, k2, … that are left::

    V(k1, k2, …) = p(k1)·max(0, V(k2, …)) - price(k1) - (1 - p(k1))·failure,   V() = 1
    price(k) = money · usd(k) / budget.usd + time · added seconds(k) / budget.seconds + step / budget.steps

The tree adds to it what the other plans are worth where a step fails. With `learned` off, p(k) is g alone and prices
are those presumed of the ways: the ablation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence

from pydantic import Field

from alita_mcp.agent.planning.dag import added_seconds
from alita_mcp.agent.planning.estimates import step_chances
from alita_mcp.agent.planning.plans import Plan, PlanStep, StepKey
from alita_mcp.agent.planning.posteriors import (
    MISSING_CHANCE,
    Expectation,
    OutcomeRecord,
    Records,
    expectation,
    recipe_key,
    record_key,
)
from alita_mcp.agent.planning.tree import Constants, Forest, Tree
from alita_mcp.agent.values import TaskBudget
from alita_mcp.values import Value


class Spent(Value):
    """Budget that the run has used."""

    steps: int = 0
    usd: float = 0.0
    seconds: float = 0.0


class SearchConfig(Value):
    """Settings of the plan search."""

    budget: TaskBudget = TaskBudget()
    """Of the whole task: the unit of costs."""
    spent: Spent = Spent()
    """Plans that do not fit into what is left of the budget are not chosen."""
    simulations: int = Field(default=64, ge=0, le=10_000)
    """0: plans are compared by V alone, what follows a failure does not count."""
    learned: bool = True
    """Whether records count; off for comparison."""
    estimate_weight: float = Field(default=2.0, ge=0)
    """How many outcomes the model's estimate is worth."""
    retry: float = Field(default=0.1, ge=0, lt=1)
    """By what the chance of a step is multiplied for each time that it failed in this run."""
    money: float = Field(default=0.3, ge=0)
    """What the whole budget of money is worth, in solved tasks; so `time` and `step`."""
    time: float = Field(default=0.15, ge=0)
    step: float = Field(default=0.15, ge=0)
    failure: float = Field(default=0.1, ge=0)
    """What it is worth to avoid one failed step, beside what it costs."""
    least_value: float = Field(default=0.02, ge=0)
    """Below it no plan is worth its cost, and more are asked for; 0 once no more can be had."""
    constants: Constants = Constants()


class Tried(Value):
    """A step that this run has taken."""

    step: PlanStep
    ok: bool
    doubt: float = Field(default=0.0, ge=0, le=1)
    """How probable it is that its result is wrong though it reported success, since a check failed (`blame`)."""


class Choice(Value):
    """Result of the plan search."""

    plan: Plan | None
    """None where none is worth its cost."""
    index: int | None
    """Its place among the plans that were given."""
    left: tuple[int, ...]
    """The steps of the plan that are to be taken; the others worked before and are trusted."""
    values: tuple[float, ...]
    """Of each plan given, in solved tasks; minus infinity for one that cannot be followed any more."""
    chances: tuple[float, ...]
    """Of each plan given: how probable it is that all its steps work."""
    visits: tuple[int, ...]
    """How many simulations began as each plan does; their sum is `simulations` where any plan can be followed."""
    ask_for_more_plans: bool
    why: str
    """One sentence for a person."""


def choose(
    plans: Sequence[Plan], records: Records, tried: Sequence[Tried] = (), config: SearchConfig | None = None,
    seed: int = 0,
) -> Choice:  # fmt: skip
    """The plan to follow now; deterministic.

    Args:
        plans: Candidates, the model's favourite first; a plan that is under way stays among them.
        records: Outcomes of earlier runs and of this one, by `record_key`.
        tried: The steps of this run, in order; those that worked are not taken (nor paid) again.
        config: The budget, and how to search.
        seed: Of the simulations.
    """
    config = config or SearchConfig()
    forest = plant(plans, records, tried, config)
    tree = Tree(forest, config.constants, random.Random(seed))  # noqa: S311 - a search, not a secret
    visits = tree.search(config.simulations)
    values = tuple(tree.value_of(at, look_back=config.simulations > 0) for at in range(len(plans)))
    best = _best(forest, values, visits)
    chosen = best if best is not None and values[best] >= config.least_value else None
    chances = tuple(forest.chance_of(at) for at in range(len(plans)))
    return Choice(
        plan=None if chosen is None else plans[chosen],
        index=chosen,
        left=_left(plans, forest, chosen),
        values=values,
        chances=chances,
        visits=tuple(visits),
        ask_for_more_plans=chosen is None,
        why=_why(plans, best, values, chances, records, asks=chosen is None),
    )


def plant(plans: Sequence[Plan], records: Records, tried: Sequence[Tried], config: SearchConfig) -> Forest:
    """The search forest: each different step once, with its chance and price, and the plans over them."""
    steps: dict[StepKey, PlanStep] = {}
    for plan in plans:
        for step in plan.steps:
            steps.setdefault(step.key, step)
    expected = {key: expectation(step, records if config.learned else {}) for key, step in steps.items()}
    estimated, weights = step_chances(plans), _weights(plans, records, config)
    failures, doubts = _tried(tried)
    bits = {key: 1 << at for at, key in enumerate(steps)}
    added = _added(plans, expected)
    chances: dict[int, float] = {}
    prices: dict[int, float] = {}
    trust: dict[int, float] = {}
    for key, bit in bits.items():
        chance = _chance(
            steps[key], expected[key], estimated[key], weights[key] if config.learned else math.inf
        )
        chances[bit] = chance * config.retry ** (failures.get(key, 0) + doubts.get(key, 0.0))
        prices[bit] = _price(expected[key].cost_usd, added[key], config) + (1 - chances[bit]) * config.failure
        if key in doubts and 1 - doubts[key] >= chances[bit] - prices[bit]:
            trust[bit] = 1 - doubts[key]
    done = [key for key, bit in bits.items() if bit in trust]
    return Forest(
        paths=tuple(tuple(dict.fromkeys(bits[step.key] for step in plan.steps)) for plan in plans),
        chances=chances,
        prices=prices,
        priors=_priors(plans),
        done=sum(trust),
        trust=trust,
        alive=tuple(_fits(plan, done, expected, config) for plan in plans),
    )


def _weights(plans: Sequence[Plan], records: Records, config: SearchConfig) -> dict[StepKey, float]:
    """How many outcomes the estimates are worth, by step."""
    found: dict[StepKey, float] = {}
    for plan in plans:
        recipe = records.get(recipe_key(plan.recipe)) if plan.recipe and config.learned else None
        weight = max(config.estimate_weight, recipe.count if recipe else 0.0)
        for step in plan.steps:
            found[step.key] = max(found.get(step.key, 0.0), weight)
    return found


def _chance(step: PlanStep, expected: Expectation, estimated: float, weight: float) -> float:
    """The posterior's mean with the estimate as so many more outcomes; the estimate alone where it weighs all."""
    if math.isinf(weight):
        return min(estimated, MISSING_CHANCE) if step.tool and not step.known else estimated
    own = expected.chance
    return (own.a + weight * estimated) / (own.a + own.b + weight)


def _tried(tried: Sequence[Tried]) -> tuple[dict[StepKey, int], dict[StepKey, float]]:
    """How often each step failed, and the doubt of those whose last attempt worked."""
    failures: dict[StepKey, int] = {}
    doubts: dict[StepKey, float] = {}
    for each in tried:
        key = each.step.key
        if each.ok:
            doubts[key] = 1 - (1 - doubts.get(key, 0.0)) * (1 - each.doubt) if each.doubt else 0.0
        else:
            failures[key] = failures.get(key, 0) + 1
            doubts.pop(key, None)
    return failures, doubts


def _added(plans: Sequence[Plan], expected: dict[StepKey, Expectation]) -> dict[StepKey, float]:
    """Seconds by which each step delays a plan, in the plan where it delays least."""
    found: dict[StepKey, float] = {}
    for plan in plans:
        own = [expected[step.key].seconds for step in plan.steps]
        added = added_seconds([step.after for step in plan.steps], own)
        for step, seconds in zip(plan.steps, added, strict=True):
            found[step.key] = min(found.get(step.key, seconds), seconds)
    return found


def _price(cost_usd: float, seconds: float, config: SearchConfig) -> float:
    budget = config.budget
    price = config.step / budget.steps
    if budget.usd:
        price += config.money * cost_usd / budget.usd
    if budget.seconds:
        price += config.time * seconds / budget.seconds
    return price


def _fits(
    plan: Plan, done: Collection[StepKey], expected: Mapping[StepKey, Expectation], config: SearchConfig
) -> bool:
    """Whether something of a plan is left to do, and the budget has room for it."""
    rest = {step.key for step in plan.steps} - set(done)
    own = [expected[step.key].seconds if step.key in rest else 0.0 for step in plan.steps]
    seconds = sum(added_seconds([step.after for step in plan.steps], own))
    budget, spent = config.budget, config.spent
    return (
        0 < len(rest) <= budget.steps - spent.steps
        and (not budget.usd or sum(expected[key].cost_usd for key in rest) <= budget.usd - spent.usd)
        and (not budget.seconds or seconds <= budget.seconds - spent.seconds)
    )


def _priors(plans: Sequence[Plan]) -> tuple[float, ...]:
    """The model's ranking and estimates as probabilities: e(i) / (rank of i), normalised."""
    raw = [max(plan.estimate, 0.01) / (at + 1) for at, plan in enumerate(plans)]
    whole = math.fsum(raw)
    return tuple(each / whole for each in raw)


def _best(forest: Forest, values: Sequence[float], visits: Sequence[int]) -> int | None:
    """The most valuable of the plans that no other one dominates; ties go to visits, then to the model's order."""
    alive = [at for at in range(len(values)) if values[at] > -math.inf]
    open_ = [at for at in alive if not any(forest.dominates(other, at) for other in alive)]
    return max(open_, key=lambda at: (round(values[at], 12), visits[at], -at), default=None)


def _left(plans: Sequence[Plan], forest: Forest, chosen: int | None) -> tuple[int, ...]:
    if chosen is None:
        return ()
    bits = dict(
        zip(dict.fromkeys(step.key for step in plans[chosen].steps), forest.paths[chosen], strict=True)
    )
    return tuple(at for at, step in enumerate(plans[chosen].steps) if not bits[step.key] & forest.done)


def _why(
    plans: Sequence[Plan], best: int | None, values: Sequence[float], chances: Sequence[float],
    records: Records, *, asks: bool,
) -> str:  # fmt: skip
    if best is None:
        return "No plan is left that fits the budget and has a step to take."
    if asks:
        return f"No plan is worth its cost: the best one's value is {values[best]:.2f}, its chance {chances[best]:.2f}."
    weakest = min(plans[best].steps, key=lambda step: expectation(step, records).chance.mean)
    record = records.get(record_key(weakest), OutcomeRecord())
    outcomes = (
        f"which worked in {record.successes:.1f} of {record.count:.1f} recent outcomes"
        if record.count
        else "of which no outcome is recorded"
    )
    return (
        f"Plan {best + 1} of {len(plans)}: value {values[best]:.2f}, chance {chances[best]:.2f} (its author said "
        f"{plans[best].estimate:.2f}); its weakest step is {weakest.tool or weakest.way!r}, {outcomes}."
    )
