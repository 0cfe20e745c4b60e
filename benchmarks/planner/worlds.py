"""Scripted worlds by seed: tasks, the true quality of each way to do a step, and a model's estimate of it.

Draws are made from names, not one after the other: whatever an agent does, the same step of the same task turns out the
same at the same attempt, and the model proposes the same plans.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from alita_mcp.agent.planning.plans import Plan, PlanStep, PlanWay, StepKey
from alita_mcp.values import Trust

Outcome = Literal["right", "wrong", "failed"]
"""`wrong` reports success, and only the check finds it out."""

NEEDS = 8
TASKS = 20
PLANS = 4
"""Candidates that the model gives at once."""
ROUNDS = 3
"""How often it may be asked."""
PERSISTS = 0.7
"""How often an outcome is that of the task: trying again changes nothing."""
HALLUCINATED = 0.05
"""Share of the steps of plans whose tool does not exist."""
TEMPERATURE = 0.1
"""How much plans after the first leave what the model thinks best."""
_BY_WAY: dict[PlanWay, tuple[float, float, float, float, float, float]] = {
    "reuse": (2.0, 0.8, 0.005, 0.06, 2, 12),
    "run_once": (3.0, 1.3, 0.02, 0.06, 5, 15),
    "research": (2.5, 1.2, 0.03, 0.1, 15, 40),
    "build": (4.0, 1.5, 0.12, 0.35, 60, 120),
}
"""Of each way: a and b of the Beta draw of how often it works; least and most USD; least and most seconds."""


@dataclass(frozen=True)
class Option:
    """One way to meet a need, as it really is."""

    need: int
    step: PlanStep
    works: float
    """How often it does not fail."""
    lies: float
    """How often what it gives is wrong when it did not fail."""
    usd: float
    seconds: float
    trust: Trust | None
    changes_at: int
    """Task from which on it is another; after the last where it never is."""
    works_then: float
    lies_then: float

    def right(self, task: int) -> float:
        """Probability of a right result."""
        if task >= self.changes_at:
            return self.works_then * (1 - self.lies_then)
        return self.works * (1 - self.lies)


@dataclass(frozen=True)
class World:
    """Needs, options and tasks of one seed."""

    seed: int
    noise: float
    """Standard deviation of what the model takes an option's chance to be, around what it was at the beginning."""

    def draw(self, *names: object) -> random.Random:
        """Random numbers that belong to something with a name."""
        text = "|".join(map(str, (self.seed, *names)))
        return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))

    @cached_property
    def options(self) -> tuple[tuple[Option, ...], ...]:
        """By need."""
        return tuple(
            tuple(self._option(need, way, at) for at, way in enumerate(self._ways(need)))
            for need in range(NEEDS)
        )

    @cached_property
    def _beliefs(self) -> dict[tuple[int, StepKey], float]:
        """What `believed` has drawn."""
        return {}

    @cached_property
    def tasks(self) -> tuple[tuple[int, ...], ...]:
        """The needs of each task."""
        return tuple(
            tuple(rng.sample(range(NEEDS), rng.randint(2, 4)))
            for rng in (self.draw("task", at) for at in range(TASKS))
        )

    def outcome(self, task: int, option: Option, attempt: int) -> Outcome:
        """The outcome of an option in a task, at the given attempt from 0."""
        lasting = self.draw("outcome", task, *option.step.key)
        rng = lasting
        if attempt and lasting.random() >= PERSISTS:
            rng = self.draw("outcome", task, *option.step.key, attempt)
        elif not attempt:
            lasting.random()
        changed = task >= option.changes_at
        if rng.random() >= (option.works_then if changed else option.works):
            return "failed"
        return "wrong" if rng.random() < (option.lies_then if changed else option.lies) else "right"

    def believed(self, task: int, option: Option) -> float:
        """The chance that the model gives an option in a task: its mistakes are mostly the same in each."""
        named = task, option.step.key
        if named not in self._beliefs:
            lasting = self.draw("belief", *option.step.key).gauss(0, self.noise)
            passing = self.draw("belief", task, *option.step.key).gauss(0, self.noise / 3)
            self._beliefs[named] = min(0.98, max(0.02, option.right(0) + lasting + passing))
        return self._beliefs[named]

    def plans(self, task: int, asked: int = 0, avoid: Collection[StepKey] = ()) -> tuple[Plan, ...]:
        """The model's plans, its favourite first, when it is asked for the nth time (from 0).

        It is told what went wrong, and proposes it again only where it knows nothing else.
        """
        rng = self.draw("plans", task, asked)
        found: dict[tuple[StepKey, ...], Plan] = {}
        for at in range(PLANS):
            steps: list[PlanStep] = []
            chance = 1.0
            for need in self.tasks[task]:
                option = self._chosen(task, need, rng, avoid, best=at == 0)
                chance *= self.believed(task, option)
                after = (len(steps) - 1,) if steps else ()
                steps.append(self._named(option, rng).model_copy(update={"after": after}))
            estimate = min(0.98, max(0.02, chance + rng.gauss(0, self.noise / 3)))
            plan = Plan(steps=tuple(steps), estimate=estimate)
            found.setdefault(tuple(step.key for step in steps), plan)
        first, *others = found.values()
        return (first, *sorted(others, key=lambda plan: -plan.estimate))

    def first_is_right(self, task: int) -> bool:
        """Whether every step of the model's first plan is right at the first attempt."""
        steps = self.plans(task)[0].steps
        options = [self.option_of(step) for step in steps]
        return all(option is not None and self.outcome(task, option, 0) == "right" for option in options)

    def option_of(self, step: PlanStep) -> Option | None:
        """The option of a plan's step; None for one whose tool does not exist."""
        return self._by_key.get(step.key)

    @cached_property
    def _by_key(self) -> dict[StepKey, Option]:
        return {option.step.key: option for options in self.options for option in options}

    def _chosen(
        self, task: int, need: int, rng: random.Random, avoid: Collection[StepKey], *, best: bool
    ) -> Option:
        known = self.options[need]
        options = [option for option in known if option.step.key not in avoid] or known
        if best:
            return max(options, key=lambda option: self.believed(task, option))
        weights = [math.exp(self.believed(task, option) / TEMPERATURE) for option in options]
        return rng.choices(options, weights)[0]

    def _named(self, option: Option, rng: random.Random) -> PlanStep:
        if option.step.tool and rng.random() < HALLUCINATED:
            return option.step.model_copy(update={"tool": f"{option.step.tool}_pro", "known": False})
        return option.step

    def _ways(self, need: int) -> list[PlanWay]:
        rng = self.draw("ways", need)
        reuse: list[PlanWay] = ["reuse"] * rng.randint(1, 3)
        research: list[PlanWay] = ["research"] * rng.randint(0, 1)
        return [*reuse, "run_once", "build", *research]

    def _option(self, need: int, way: PlanWay, at: int) -> Option:
        rng = self.draw("option", need, at)
        a, b, least_usd, most_usd, least_seconds, most_seconds = _BY_WAY[way]
        works, then = rng.betavariate(a, b), rng.betavariate(a, b)
        lies = rng.betavariate(1, 9)
        trust: Trust | None = None
        if way == "reuse":
            trust = "verified" if works * (1 - lies) + rng.gauss(0, 0.2) > 0.7 else "provisional"
        changes = way in ("reuse", "research") and rng.random() < 0.3
        return Option(
            need=need, works=works, lies=lies, trust=trust, works_then=then, lies_then=rng.betavariate(1, 6),
            step=PlanStep(need=f"need {need}", way=way, tool=f"tool_{need}_{at}" if way == "reuse" else ""),
            usd=rng.uniform(least_usd, most_usd), seconds=rng.uniform(least_seconds, most_seconds),
            changes_at=rng.randrange(3, TASKS - 3) if changes else TASKS,
        )  # fmt: skip
