"""Learned model of what actions lead to, and the value of a plan by it.

After MuZero (Schrittwieser et al. 2020, arXiv:1911.08265), with tables of counts in place of networks. A state is the
last action and whether it worked. Recorded runs teach two things: the chance that an action works after another one
(the dynamics), and what a run is worth from a state on (the value): 1 if it was solved, less `PRICE` for each further
step and `FAILURE` for each that fails. A plan is unrolled in the model and not in the world::

    V(i) = p·V(i + 1) + (1 - p)·(v(action i failed) - FAILURE) - PRICE,    V(end) = v(last action worked)

with p the chance of step i. Its author's estimate is the prior, which weighs less the more outcomes its least known
step has. Tools change: an outcome multiplies the weight of older ones by `KEPT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from alita_mcp.agent.planning.plans import Plan, PlanStep
from alita_mcp.values import Trust

PRICE = 0.01
"""Of one step, in solved tasks."""
FAILURE = 0.2
"""Of one that fails."""
KEPT = 0.9
PRESUMED_COUNT = 4.0
"""How many outcomes a presumption is worth."""
ESTIMATE_COUNT = 2.0
"""The same of an author's estimate."""
HERE = 3.0
"""How many outcomes of earlier runs one of this run is worth."""
PRESUMED_CHANCE = 0.8
PRESUMED_VALUES = {True: 0.7, False: 0.35}
"""Of a run after an action that worked, or failed."""
TRUSTED: dict[Trust, float] = {"verified": 0.9, "provisional": 0.75, "rejected": 0.2}
"""Chance presumed of a library tool by its trust."""
RETRY = 0.5
"""What is left of an estimate after a step of the plan has failed."""

Taken = tuple[str, bool]
"""An action that was taken, and whether it worked."""
START: Taken = ("", True)


class LearnedValues:
    """Chances of actions and values of states, from outcomes of runs, the oldest run first."""

    def __init__(self) -> None:
        self._presumed: dict[str, float] = {}
        self._missing: set[str] = set()
        self._outcomes: dict[tuple[str, ...], tuple[float, float]] = {}
        """Successes and failures, by action, and by the action before it and itself."""
        self._returns: dict[Taken, tuple[float, float]] = {}
        """Sum and number of what runs were worth from a state on."""

    def learn_run(self, actions: Sequence[Taken], solved: bool) -> None:
        """Learns of a run that has ended."""
        self.learn_actions(actions)
        worth = float(solved)
        for taken in reversed(actions):
            total, count = self._returns.get(taken, (0.0, 0.0))
            self._returns[taken] = (total * KEPT + worth, count * KEPT + 1)
            worth -= PRICE + FAILURE * (not taken[1])

    def learn_actions(self, actions: Iterable[Taken], weight: float = 1.0) -> None:
        """Learns which actions worked after which."""
        before = START[0]
        for action, ok in actions:
            for key in ((action,), (before, action)):
                good, bad = self._outcomes.get(key, (0.0, 0.0))
                self._outcomes[key] = (good * KEPT + weight * ok, bad * KEPT + weight * (not ok))
            before = action

    def presume_tool(self, name: str, trust: Trust, calls: int, failures: int) -> None:
        """Takes over what the library knows of a tool from the calls of all clients."""
        self._presumed[name] = TRUSTED[trust]
        if calls > sum(self._outcomes.get((name,), ())):
            most = 1 / (1 - KEPT)  # as much as outcomes of one action can weigh together
            share = min(1.0, most / calls)
            self._outcomes[name,] = ((calls - failures) * share, failures * share)

    def presume_missing(self, name: str) -> None:
        """Notes that no tool has this name."""
        self._missing.add(name)

    def count(self, action: str) -> float:
        """How many outcomes are known of an action."""
        return sum(self._outcomes.get((action,), ()))

    def chance(self, before: str, action: str) -> float:
        """The chance that an action works after another one: by the pair, else by the action, else presumed."""
        chance = self._presumed.get(action, PRESUMED_CHANCE)
        for key in ((action,), (before, action)):
            good, bad = self._outcomes.get(key, (0.0, 0.0))
            chance = (PRESUMED_COUNT * chance + good) / (PRESUMED_COUNT + good + bad)
        return chance

    def value(self, state: Taken) -> float:
        """What a run is worth from a state on, in solved tasks."""
        total, count = self._returns.get(state, (0.0, 0.0))
        return (PRESUMED_COUNT * PRESUMED_VALUES[state[1]] + total) / (PRESUMED_COUNT + count)

    def plan_value(self, plan: Plan, taken: Sequence[Taken] = ()) -> float:
        """What the rest of a plan is worth after the actions that were taken, in solved tasks.

        Nothing where a tool of it does not exist.
        """
        left = steps_left(plan, taken)
        if any(step.action in self._missing for step in left):
            return 0.0
        before = taken[-1][0] if taken else START[0]
        actions = [before, *(step.action for step in left)]
        value = self.value((actions[-1], True))
        for before, action in reversed(tuple(pairwise(actions))):
            chance = self.chance(before, action)
            value = chance * value + (1 - chance) * (self.value((action, False)) - FAILURE) - PRICE
        # What its author thought of it counts less once a step of it has failed here.
        failed = sum(not ok and any(step.action == action for step in left) for action, ok in taken)
        estimate = plan.estimate * RETRY**failed
        known = min((self.count(step.action) for step in left), default=0.0)
        return (known * value + ESTIMATE_COUNT * estimate) / (known + ESTIMATE_COUNT)

    def weakest(self, steps: Sequence[PlanStep]) -> PlanStep:
        """The step that is least likely to work."""
        return min(steps, key=lambda step: self.chance("", step.action))


def steps_left(plan: Plan, taken: Sequence[Taken]) -> tuple[PlanStep, ...]:
    """The steps of a plan that no action which worked has carried out yet."""
    left = list(plan.steps)
    for action, ok in taken:
        done = next((step for step in left if ok and step.action == action), None)
        if done is not None:
            left.remove(done)
    return tuple(left)
