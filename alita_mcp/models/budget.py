"""Budget of one piece of work in calls, tokens, money and seconds, and the meter that ends the work at a limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import anyio

from alita_mcp.errors import BudgetSpent
from alita_mcp.models.interface import Completion, LanguageModel, Message
from alita_mcp.settings import Settings
from alita_mcp.values import Usage, Value

__all__ = ["Budget", "BudgetSpent", "Meter", "MeteredModel", "synthesis_budget"]

Limit = Literal["", "calls", "tokens", "money", "seconds"]


class Budget(Value):
    """Limits of one piece of work; 0 lifts one."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    """Counts only answers whose price is known."""
    seconds: float = 0.0
    """From the start of the work, whatever else it does meanwhile."""


def synthesis_budget(settings: Settings) -> Budget:
    """The limits of one synthesis."""
    limits = settings.limits
    return Budget(
        calls=limits.synthesis_calls,
        tokens=limits.synthesis_tokens,
        usd=settings.budget_usd,
        seconds=limits.synthesis_seconds,
    )


class Meter:
    """Counts what one piece of work uses.

    Concurrent calls are all let in before the first of them has reported its tokens: tokens and money can be overdrawn
    by the calls under way, calls and seconds cannot.
    """

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        *,
        within: Meter | None = None,
        work: str = "synthesis",
    ) -> None:
        """Nothing is used yet.

        Args:
            budget: The limits.
            clock: Seconds.
            within: The meter of the work that this is a part of; it counts too, and its limits hold too.
            work: What the work is called in errors.
        """
        self._budget = budget
        self._within = within
        self._work = work
        self._clock = clock
        self._started = clock()
        self.usage = Usage()
        """So far."""
        self._known_usd = 0.0

    @property
    def seconds_left(self) -> float:
        """Seconds that a call may still take."""
        outer = self._within.seconds_left if self._within is not None else math.inf
        own = self._budget.seconds - (self._clock() - self._started)
        return min(outer, own) if self._budget.seconds else outer

    @property
    def share_used(self) -> float:
        """Used share of the limit that is nearest to its end: 1 where it is reached."""
        return max((used / limit for used, limit in self._limits().values() if limit), default=0.0)

    @property
    def limit_reached(self) -> Limit:
        """The limit that is reached; empty where none is."""
        return next((name for name, (used, limit) in self._limits().items() if limit and used >= limit), "")

    def _limits(self) -> dict[Limit, tuple[float, float]]:
        """What is used of each limit, and the limit; the first that is reached is reported."""
        used, budget = self.usage, self._budget
        return {
            "seconds": (self._clock() - self._started, budget.seconds),
            "money": (self._known_usd, budget.usd),
            "tokens": (used.tokens, budget.tokens),
            "calls": (used.calls, budget.calls),
        }

    def begin_call(self) -> None:
        """Counts a call that is about to be made.

        Raises:
            BudgetSpent: it may not be made; says which limit is reached.
        """
        if limit := self.limit_reached:
            raise self._budget_error(limit)
        if self._within is not None:
            self._within.begin_call()
        self.usage = sum_usages(self.usage, Usage(calls=1))

    def add_seconds(self, seconds: float) -> None:
        """Counts the time of a call, whatever its outcome."""
        if self._within is not None:
            self._within.add_seconds(seconds)
        self.usage = sum_usages(self.usage, Usage(seconds=seconds))

    def add_answer(self, answer: Completion) -> None:
        """Counts the tokens and the cost of an answer."""
        if self._within is not None:
            self._within.add_answer(answer)
        self._known_usd += answer.cost_usd or 0.0
        used = answer.model_dump(include={"prompt_tokens", "completion_tokens", "cost_usd"})
        self.usage = sum_usages(self.usage, Usage.model_validate(used))

    def time_error(self) -> BudgetSpent:
        """The error for work that has no seconds left."""
        if self._within is not None and self._within.seconds_left <= 0:
            return self._within.time_error()
        return self._budget_error("seconds")

    def _budget_error(self, limit: Limit) -> BudgetSpent:
        used, most = self._limits()[limit]
        spent = {
            "calls": f"{most} model calls",
            "tokens": f"{most} tokens ({used} used)",
            "money": f"{most:g} USD ({used:.4f} used)",
            "seconds": f"{most:g} seconds",
        }[limit]
        hint = "Raise ALITA_BUDGET_USD; 0 lifts the limit." if limit == "money" else "Split the work."
        return BudgetSpent(f"The budget of this {self._work} is spent: {spent}.", hint=hint)


def sum_usages(*parts: Usage) -> Usage:
    """The sum; its cost is unknown where that of one part is."""
    costs = [part.cost_usd for part in parts if part.cost_usd is not None]
    return Usage(
        calls=sum(part.calls for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        cost_usd=sum(costs) if len(costs) == len(parts) else None,
        seconds=sum(part.seconds for part in parts),
    )


class MeteredModel:
    """Model that asks another model on a meter's account, a bounded number of calls at a time."""

    def __init__(self, model: LanguageModel, meter: Meter, limiter: anyio.CapacityLimiter) -> None:
        self.name = model.name
        self._model = model
        self._meter = meter
        self._limiter = limiter

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """One completion.

        Raises:
            BudgetSpent: the work may make no more calls, or ran out of time while it waited.
            ModelError: the model did not answer.
        """
        with anyio.move_on_after(self._meter.seconds_left):
            async with self._limiter:
                self._meter.begin_call()
                started = time.monotonic()
                try:
                    answer = await self._model.complete(messages, **options)
                finally:
                    self._meter.add_seconds(time.monotonic() - started)
            self._meter.add_answer(answer)
            return answer
        raise self._meter.time_error()
