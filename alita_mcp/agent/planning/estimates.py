"""Chances of single steps, inferred from the estimates of whole plans.

A plan's estimate e is taken for the product of its steps' chances. Plans that differ in a step tell what their author
thinks of it: the logarithms x(k) of the chances minimise ::

    sum over plans of (log e - sum over its steps of x(k))²  +  SHRINKAGE · sum over steps of (x(k) - x0(k))²

where x0(k) is the mean of log(e) / n over the plans that contain k, n their numbers of steps, and no x(k) is above 0:
ridge regression, by coordinate descent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from alita_mcp.agent.planning.plans import Plan, StepKey

SHRINKAGE = 0.3
LEAST = 0.01
"""An estimate below it counts as this one."""
_ROUNDS = 30


@dataclass(frozen=True)
class _Equation:
    keys: tuple[StepKey, ...]
    total: float
    """Logarithm of the estimate."""


def step_chances(plans: Sequence[Plan]) -> Mapping[StepKey, float]:
    """The chance of each step that the plans' estimates imply."""
    equations = [_equation(plan) for plan in plans if not plan.exchanged] or [
        _equation(plan) for plan in plans
    ]
    shares: dict[StepKey, list[float]] = {}
    for each in equations:
        for key in each.keys:
            shares.setdefault(key, []).append(each.total / len(each.keys))
    centre = {key: math.fsum(own) / len(own) for key, own in shares.items()}
    found = dict(centre)
    for _ in range(_ROUNDS):
        for key in found:
            own = [each for each in equations if key in each.keys]
            rest = math.fsum(each.total - math.fsum(found[k] for k in each.keys if k != key) for each in own)
            found[key] = min(0.0, (rest + SHRINKAGE * centre[key]) / (len(own) + SHRINKAGE))
    chances = {key: math.exp(value) for key, value in found.items()}
    for plan in plans:
        for step in plan.steps:
            chances.setdefault(step.key, max(LEAST, plan.estimate) ** (1 / len(plan.steps)))
    return chances


def _equation(plan: Plan) -> _Equation:
    keys = tuple(dict.fromkeys(step.key for step in plan.steps))
    return _Equation(keys=keys, total=math.log(max(LEAST, plan.estimate)))
