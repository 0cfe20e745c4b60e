"""PUCT search over prefixes of plans, from chances and prices of their steps.

A state is the set of steps that worked and the set of those that failed, as bits: plans that share steps share states,
in whatever order they came to them. An action takes the next step of one or more plans. A simulation selects
(Rosin 2011, doi:10.1007/s10472-011-9258-6; Silver et al. 2017, Nature 550; constants of MuZero, Schrittwieser 2020)::

    argmax over a of  Q(s,a) + P(s,a) · sqrt(N(s)) / (1 + N(s,a)) · (c1 + log((N(s) + c2 + 1) / c2))

with Q scaled to 0..1 by the least and greatest one met, P the sum of the plans' priors. Whether the step works is drawn
from its chance. A new state is valued at the best plan that is left there, V of `search`, at least 0: one may stop.
Values go up as expectations, since the model of the steps is known exactly (MuZero averages samples)::

    Q(s,a) = -price(a) + p(a)·V(s + a worked) + (1 - p(a))·h·V(s + a failed),   V(s) = max(0, max over a of Q(s,a))

h is `after_failure`. In a simulation a failed step stays failed. Each action adds a step to one of the two sets, so
that all ends.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import Field

from alita_mcp.values import Value

State = tuple[int, int]
"""Bits of the steps that worked, bits of those that failed."""


class Constants(Value):
    """Constants of the selection; those of MuZero."""

    c1: float = Field(default=1.25, ge=0)
    c2: float = Field(default=19_652.0, gt=0)
    after_failure: float = Field(default=0.5, ge=0, le=1)
    """How much of the value after a failure is believed: a task on which a step failed is harder than it seemed."""


@dataclass(frozen=True)
class Forest:
    """Plans over their different steps; each step is a bit."""

    paths: tuple[tuple[int, ...], ...]
    """Of each plan: its steps in order, each once."""
    chances: Mapping[int, float]
    prices: Mapping[int, float]
    priors: tuple[float, ...]
    done: int
    """Steps that worked before."""
    trust: Mapping[int, float]
    """Of the steps in `done`: how probable it is that their results are right."""
    alive: tuple[bool, ...]

    def left(self, plan: int, done: int) -> tuple[int, ...]:
        """The steps that a plan has yet to take."""
        return tuple(bit for bit in self.paths[plan] if not bit & done)

    def follows(self, plan: int, failed: int) -> bool:
        """Whether a plan can still be followed."""
        return self.alive[plan] and not self.masks[plan] & failed

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """Bit masks of all steps of each plan."""
        return tuple(sum(path) for path in self.paths)

    def trusted(self, plan: int) -> float:
        """Probability that the finished steps that a plan uses are right."""
        return math.prod(self.trust[bit] for bit in self.paths[plan] if bit & self.done)

    def chance_of(self, plan: int) -> float:
        """Probability that a plan gives the right answer."""
        return self.trusted(plan) * math.prod(self.chances[bit] for bit in self.left(plan, self.done))

    def alone(self, plan: int, done: int) -> float:
        """Value of the rest of a plan, where a failure ends all and one may stop before."""
        value = self.trusted(plan)
        for bit in reversed(self.left(plan, done)):
            value = self.chances[bit] * max(0.0, value) - self.prices[bit]
        return value

    def dominates(self, one: int, other: int) -> bool:
        """Whether a plan is at least as probable and as cheap as another at every step, and once better."""
        mine, theirs = self.left(one, self.done), self.left(other, self.done)
        if len(mine) != len(theirs) or self.trusted(one) < self.trusted(other):
            return False
        pairs = list(zip(mine, theirs, strict=True))
        return all(
            self.chances[a] >= self.chances[b] and self.prices[a] <= self.prices[b] for a, b in pairs
        ) and (
            self.trusted(one) > self.trusted(other)
            or any(self.chances[a] > self.chances[b] or self.prices[a] < self.prices[b] for a, b in pairs)
        )


@dataclass
class _Node:
    """A state whose actions are known."""

    priors: dict[int, float]
    visits: int = 0
    taken: dict[int, int] = field(default_factory=dict)


class Tree:
    """State of one search."""

    def __init__(self, forest: Forest, constants: Constants, rng: random.Random) -> None:
        self._forest = forest
        self._constants = constants
        self._rng = rng
        self._nodes: dict[State, _Node] = {}
        self._values: dict[State, float] = {}
        self._alone: dict[tuple[int, int], float] = {}
        plans = [plan for plan in range(len(forest.paths)) if forest.follows(plan, 0)]
        self._roots = {plan: forest.left(plan, forest.done) for plan in plans}
        self._least, self._most = math.inf, -math.inf

    def search(self, simulations: int) -> list[int]:
        """Runs the simulations; returns how many began as each plan does."""
        visits = [0] * len(self._forest.paths)
        root: State = (self._forest.done, 0)
        if not self._expand(root).priors:
            return visits
        for _ in range(simulations):
            visits[self._simulate(root)] += 1
        return visits

    def value_of(self, plan: int, *, look_back: bool = True) -> float:
        """Value of following a plan, with a change to the best remaining plan where a step fails.

        Minus infinity for a plan that cannot be followed.
        """
        forest = self._forest
        if not forest.follows(plan, 0):
            return -math.inf
        if not look_back:
            return forest.alone(plan, forest.done)
        rest = forest.left(plan, forest.done)
        value, done = forest.trusted(plan), forest.done | sum(rest)
        for bit in reversed(rest):
            chance, done = forest.chances[bit], done & ~bit
            hoped = self._constants.after_failure * self._value((done, bit))
            value = chance * max(0.0, value) + (1 - chance) * hoped - forest.prices[bit]
        return value

    def _simulate(self, root: State) -> int:
        """One walk from the root to a new state, and its value back up; gives the plan that it began as."""
        state, path = root, list[tuple[State, int]]()
        while (node := self._nodes.get(state)) is not None and node.priors:
            action = self._select(state, node)
            node.visits += 1
            node.taken[action] = node.taken.get(action, 0) + 1
            path.append((state, action))
            worked = self._rng.random() < self._forest.chances[action]
            state = self._next(state, action, worked=worked)
        if node is None:
            self._expand(state)
        for passed, _ in reversed(path):
            self._back_up(passed)
        return self._began_as([action for passed, action in path if not passed[1]])

    def _began_as(self, actions: list[int]) -> int:
        """The most valuable of the plans that begin with such steps, the last of which may have failed."""
        begun = tuple(actions)
        fitting = [plan for plan, rest in self._roots.items() if rest[: len(begun)] == begun]
        if not fitting:  # the steps of two plans that share some, in another order than either has them
            return self._began_as(actions[:-1])
        done = self._forest.done
        return max(fitting, key=lambda plan: (self._rest(plan, done), -plan))

    def _next(self, state: State, action: int, *, worked: bool) -> State:
        done, failed = state
        return (done | action, failed) if worked else (done, failed | action)

    def _expand(self, state: State) -> _Node:
        """Makes a state's actions known; none where a plan is complete or none is left."""
        forest, (done, failed) = self._forest, state
        priors: dict[int, float] = {}
        for plan, prior in enumerate(forest.priors):
            if forest.follows(plan, failed):
                rest = forest.left(plan, done)
                if not rest:
                    priors = {}
                    break
                priors[rest[0]] = priors.get(rest[0], 0.0) + prior
        whole = math.fsum(priors.values())
        node = self._nodes[state] = _Node(priors={bit: prior / whole for bit, prior in priors.items()})
        if node.priors:
            self._back_up(state)
        return node

    def _select(self, state: State, node: _Node) -> int:
        constants = self._constants
        growth = constants.c1 + math.log((node.visits + constants.c2 + 1) / constants.c2)
        width = self._most - self._least

        def score(action: int) -> float:
            value = (self._quality(state, action) - self._least) / width if width > 0 else 0.0
            seen = node.taken.get(action, 0)
            return value + node.priors[action] * math.sqrt(node.visits) / (1 + seen) * growth

        return max(node.priors, key=score)

    def _quality(self, state: State, action: int) -> float:
        chance = self._forest.chances[action]
        worked = self._value(self._next(state, action, worked=True))
        failed = self._value(self._next(state, action, worked=False))
        hoped = self._constants.after_failure * failed
        return chance * worked + (1 - chance) * hoped - self._forest.prices[action]

    def _value(self, state: State) -> float:
        """V of a state; of one that was not expanded, the best plan that is left there."""
        if state not in self._values:
            done, failed = state
            plans = range(len(self._forest.paths))
            alone = (self._rest(plan, done) for plan in plans if self._forest.follows(plan, failed))
            self._values[state] = max(0.0, *alone, 0.0)
        return self._values[state]

    def _rest(self, plan: int, done: int) -> float:
        """V of the rest of a plan, computed once."""
        known = plan, done & self._forest.masks[plan]
        if known not in self._alone:
            self._alone[known] = self._forest.alone(plan, done)
        return self._alone[known]

    def _back_up(self, state: State) -> None:
        qualities = [self._quality(state, action) for action in self._nodes[state].priors]
        self._least = min(self._least, *qualities)
        self._most = max(self._most, *qualities)
        self._values[state] = max(0.0, *qualities)
