"""Agents that are compared on the tasks of a scripted world.

All pay alike: a call of the model for each step (its arguments have to be written) and for each check, one for
each time that plans are asked for. What worked in a task is not done again. All have the same budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from alita_mcp.agent.planning.plans import Plan, PlanStep, StepKey, recombined
from alita_mcp.agent.planning.posteriors import (
    OutcomeRecord,
    blame,
    expectation,
    observed,
    record_key,
)
from alita_mcp.agent.planning.search import SearchConfig, Spent, Tried, choose
from alita_mcp.agent.values import TaskBudget
from benchmarks.planner.worlds import ROUNDS, Outcome, World

BUDGET = TaskBudget(steps=15, usd=1.0, seconds=600)
CALL = (0.01, 3.0)
"""USD and seconds of a model's call for a step or a check."""
PLANNING = (0.02, 8.0)
"""USD and seconds of a call for plans."""
MISSED = 0.5
"""Seconds until a tool that does not exist has failed."""


@dataclass
class Attempt:
    """One attempt at a task, and its outcome."""

    world: World
    task: int
    solved: bool = False
    failed_steps: int = 0
    steps: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    checks: int = 0
    asked: int = 0
    times: Counter[StepKey] = field(default_factory=Counter)
    outcomes: dict[StepKey, Outcome] = field(default_factory=dict)
    """The last outcome of each step that reported success."""

    def pays(self, call: tuple[float, float]) -> None:
        """Pays for a call of the model."""
        self.usd += call[0]
        self.seconds += call[1]

    def take(self, step: PlanStep) -> bool:
        """Takes a step; whether it reports success."""
        option = self.world.option_of(step)
        self.steps += 1
        self.pays(CALL)
        if option is None:
            self.seconds += MISSED
            self.failed_steps += 1
            return False
        outcome = self.world.outcome(self.task, option, self.times[step.key])
        self.times[step.key] += 1
        self.pays((option.usd, option.seconds))
        if outcome == "failed":
            self.failed_steps += 1
            return False
        self.outcomes[step.key] = outcome
        return True

    def check(self, steps: Sequence[PlanStep]) -> bool:
        """Whether the answer that rests on these steps is right; each that is not counts as a failed step."""
        self.checks += 1
        self.pays(CALL)
        self.solved = all(self.outcomes[step.key] == "right" for step in steps)
        self.failed_steps += not self.solved
        return self.solved

    def ask(self, avoid: Collection[StepKey] = ()) -> tuple[Plan, ...]:
        """Asks the model for more plans after a failure; none where it was asked often enough."""
        if self.asked == ROUNDS:
            return ()
        self.pays(PLANNING)
        self.asked += 1
        return self.world.plans(self.task, self.asked - 1, avoid)

    @property
    def over(self) -> bool:
        """Whether the budget is used up."""
        return self.steps >= BUDGET.steps or self.usd >= BUDGET.usd or self.seconds >= BUDGET.seconds


Agent = Callable[[World], list[Attempt]]


def react(world: World, retries: int = 1) -> list[Attempt]:
    """Plain ReAct: each need in order with the model's best way, once more after a failure, then the next best.

    After a failed check the option that the model trusted least is replaced.
    """
    return [_react(Attempt(world, task), retries) for task in range(len(world.tasks))]


def _react(attempt: Attempt, retries: int) -> Attempt:
    queues = _queues(attempt)
    taken: dict[int, PlanStep] = {}
    while _met(attempt, queues, taken, retries):
        if attempt.check(list(taken.values())) or attempt.over:
            break
        suspects = [need for need in taken if queues[need]]
        if not suspects:
            break
        del taken[min(suspects, key=lambda need: _belief(attempt, taken[need]))]
    return attempt


def _queues(attempt: Attempt) -> dict[int, list[PlanStep]]:
    """What the model would try for each need, in its order; where its first plan makes a tool up, that before."""
    world, task = attempt.world, attempt.task
    queues = {}
    for need, named in zip(world.tasks[task], world.plans(task)[0].steps, strict=True):
        ranked = sorted(world.options[need], key=lambda option: -world.believed(task, option))
        steps = [option.step for option in ranked]
        queues[need] = steps if named.known else [named, *steps]
    return queues


def _met(
    attempt: Attempt, queues: dict[int, list[PlanStep]], taken: dict[int, PlanStep], retries: int
) -> bool:
    """Takes steps until each need is met; whether it is."""
    for need, queue in queues.items():
        while need not in taken:
            if not queue:
                return False
            step = queue.pop(0)
            for _ in range(1 + retries * step.known):
                if attempt.over:
                    return False
                if attempt.take(step):
                    taken[need] = step
                    break
    return True


def _belief(attempt: Attempt, step: PlanStep) -> float:
    option = attempt.world.option_of(step)
    return attempt.world.believed(attempt.task, option) if option else 0.0


def best_of_k(world: World, retries: int = 0) -> list[Attempt]:
    """The plan with the best estimate; after a failure the best one without the failed steps; then more plans."""
    return [_best_of_k(Attempt(world, task), retries) for task in range(len(world.tasks))]


def _best_of_k(attempt: Attempt, retries: int) -> Attempt:
    plans: list[Plan] = []
    failed: set[StepKey] = set()
    suspects: set[StepKey] = set()
    while not attempt.over:
        plans = [plan for plan in plans if not failed & {step.key for step in plan.steps}]
        if not plans:
            plans = list(attempt.ask(failed | suspects))
            if not plans:
                break
            continue
        plan = max(plans, key=lambda each: each.estimate)
        broken = _followed(attempt, plan, retries)
        if broken is not None:
            failed.add(broken.key)
        elif attempt.over or attempt.check(plan.steps):
            break
        else:
            plans.remove(plan)
            suspects.add(min(plan.steps, key=lambda step: _belief(attempt, step)).key)
    return attempt


def _followed(attempt: Attempt, plan: Plan, retries: int) -> PlanStep | None:
    """Takes what is left of a plan; the step that failed."""
    for step in plan.steps:
        if step.key not in attempt.outcomes:
            for again in range(1 + retries * step.known):
                if attempt.over:
                    return None
                if attempt.take(step):
                    break
                if again == retries * step.known:
                    return step
    return None


def searching(config: SearchConfig) -> Agent:
    """The planner with such settings; its records last as long as the world."""

    def agent(world: World) -> list[Attempt]:
        records = {
            record_key(option.step): OutcomeRecord(trust=option.trust)
            for options in world.options
            for option in options
            if option.step.tool
        }
        return [_Searching(Attempt(world, task), config, records).run() for task in range(len(world.tasks))]

    return agent


@dataclass
class _Searching:
    """One task of the planner."""

    attempt: Attempt
    config: SearchConfig
    records: dict[str, OutcomeRecord]
    tried: list[Tried] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    paid: dict[StepKey, tuple[float, float]] = field(default_factory=dict)

    def run(self) -> Attempt:
        attempt = self.attempt
        self.plans.extend(attempt.ask())
        while not attempt.over:
            spent = Spent(steps=attempt.steps, usd=attempt.usd, seconds=attempt.seconds)
            least = self.config.least_value if attempt.asked < ROUNDS else 0.0
            config = self.config.model_copy(update={"spent": spent, "least_value": least})
            plans = recombined(self.plans, [each.step.key for each in self.tried if not each.ok])
            choice = choose(plans, self.records, self.tried, config, seed=attempt.world.seed)
            if choice.plan is None:
                more = attempt.ask({each.step.key for each in self.tried if not each.ok or each.doubt >= 0.5})
                if not more:
                    break
                self._add(more)
            elif self._follow([choice.plan.steps[at] for at in choice.left]) and (
                attempt.over or self._checked(choice.plan)
            ):
                break
        return attempt

    def _add(self, more: Sequence[Plan]) -> None:
        known = {tuple(step.key for step in plan.steps) for plan in self.plans}
        self.plans += [plan for plan in more if tuple(step.key for step in plan.steps) not in known]

    def _follow(self, steps: Sequence[PlanStep]) -> bool:
        for step in steps:
            if self.attempt.over:
                return True
            before = self.attempt.usd, self.attempt.seconds
            ok = self.attempt.take(step)
            self.tried.append(Tried(step=step, ok=ok))
            self.paid[step.key] = self.attempt.usd - before[0], self.attempt.seconds - before[1]
            if not ok:
                self._record(step, 0.0)
                return False
        return True

    def _checked(self, plan: Plan) -> bool:
        if self.attempt.check(plan.steps):
            for step in plan.steps:
                self._record(step, 1.0)
            return True
        shares = blame([expectation(step, self.records).chance.mean for step in plan.steps])
        for step, share in zip(plan.steps, shares, strict=True):
            self.tried.append(Tried(step=step, ok=True, doubt=share))
            self._record(step, 1 - share)
        return False

    def _record(self, step: PlanStep, worked: float) -> None:
        key = record_key(step)
        usd, seconds = self.paid.get(step.key, (0.0, 0.0))
        self.records[key] = observed(
            self.records.get(key, OutcomeRecord()), worked, cost_usd=usd, seconds=seconds
        )
