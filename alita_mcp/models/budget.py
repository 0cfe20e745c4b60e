"""Budget of one piece of work in calls, tokens, money and seconds, and the meter that ends the work at a limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

from alita_mcp.errors import BudgetSpent
from alita_mcp.models.interface import Completion
from alita_mcp.settings import Settings
from alita_mcp.values import Usage, Value

__all__ = ["Budget", "BudgetSpent", "Meter"]

_Limit = Literal["", "calls", "tokens", "money", "seconds"]


class Budget(Value):
    """Limits of one piece of work; 0 lifts one."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    """Counts only answers whose price is known."""
    seconds: float = 0.0
    """From the start of the work, whatever else it does meanwhile."""


def budget_of(settings: Settings) -> Budget:
    """The limits of one synthesis."""
    return Budget(
        calls=settings.budget_calls,
        tokens=settings.budget_tokens,
        usd=settings.budget_usd,
        seconds=settings.budget_seconds,
    )


class Meter:
    """Counts what one piece of work uses, by role.

    Calls that run at once are all let in before the first of them has reported its tokens: tokens and money can be
    overdrawn by the calls that were under way, calls and seconds cannot.
    """

    def __init__(
        self,
        budget: Budget,
        clock: Callable[[], float] = time.monotonic,
        *,
        within: Meter | None = None,
        named: tuple[str, str] = ("synthesis", "ALITA_BUDGET"),
    ) -> None:
        """Nothing is used yet.

        Args:
            budget: The limits.
            clock: Seconds.
            within: The meter of the work that this is a part of; it counts too, and its limits hold too.
            named: What the work is called in errors, and what its settings begin with.
        """
        self._budget = budget
        self._within = within
        self._named = named
        self._clock = clock
        self._started = clock()
        self._by_role: dict[str, Usage] = {}
        self._known_usd = 0.0

    @property
    def usage(self) -> Usage:
        """All that was used so far."""
        return _total(*self._by_role.values()).model_copy(update={"by_role": dict(self._by_role)})

    @property
    def seconds_left(self) -> float:
        """Seconds that a call may still take."""
        outer = self._within.seconds_left if self._within is not None else math.inf
        if not self._budget.seconds:
            return outer
        return min(outer, self._budget.seconds - (self._clock() - self._started))

    @property
    def share_used(self) -> float:
        """Used share of the limit that is nearest to its end: 1 where it is reached."""
        return max((used / limit for used, limit in self._limits().values() if limit), default=0.0)

    @property
    def reached(self) -> _Limit:
        """The limit that is reached; empty where none is."""
        return next((name for name, (used, limit) in self._limits().items() if limit and used >= limit), "")

    def _limits(self) -> dict[_Limit, tuple[float, float]]:
        """What is used of each limit, and the limit; the first that is reached is reported."""
        used, budget = self.usage, self._budget
        return {
            "seconds": (self._clock() - self._started, budget.seconds),
            "money": (self._known_usd, budget.usd),
            "tokens": (used.prompt_tokens + used.completion_tokens, budget.tokens),
            "calls": (used.calls, budget.calls),
        }

    def begin(self, role: str) -> None:
        """Counts a call that is about to be made.

        Raises:
            BudgetSpent: it may not be made; says which limit is reached.
        """
        used, budget, (_, setting) = self.usage, self._budget, self._named
        tokens = used.prompt_tokens + used.completion_tokens
        if budget.calls and used.calls >= budget.calls:
            raise self._spent(f"{budget.calls} calls of models", f"{setting}_CALLS")
        if budget.tokens and tokens >= budget.tokens:
            raise self._spent(f"{budget.tokens} tokens ({tokens} used)", f"{setting}_TOKENS")
        if budget.usd and self._known_usd >= budget.usd:
            raise self._spent(f"{budget.usd:g} USD ({self._known_usd:.4f} used)", f"{setting}_USD")
        if self.seconds_left <= 0:
            raise self.out_of_time()
        if self._within is not None:
            self._within.begin(role)
        self._add(role, Usage(calls=1))

    def out_of_time(self) -> BudgetSpent:
        """The error for work that has no seconds left."""
        if self._within is not None and self._within.seconds_left <= 0:
            return self._within.out_of_time()
        return self._spent(f"{self._budget.seconds:g} seconds", f"{self._named[1]}_SECONDS")

    def waited(self, role: str, seconds: float) -> None:
        """Counts the time of a call, whatever became of it."""
        if self._within is not None:
            self._within.waited(role, seconds)
        self._add(role, Usage(seconds=seconds))

    def refused(self, role: str) -> None:
        """Takes back a call that was refused as it stood: the model was not asked."""
        self._add(role, Usage(calls=-1))

    def note(self, role: str, answer: Completion) -> None:
        """Counts an answer; one that was kept from before was no call and cost nothing."""
        if self._within is not None:
            self._within.note(role, answer)
        if answer.cached:
            self._add(role, Usage(calls=-1, cached=1))
            return
        self._known_usd += answer.cost_usd or 0.0
        self._add(
            role,
            Usage(
                prompt_tokens=answer.prompt_tokens,
                completion_tokens=answer.completion_tokens,
                cost_usd=answer.cost_usd,
            ),
        )

    def _add(self, role: str, more: Usage) -> None:
        self._by_role[role] = _total(self._by_role.get(role, Usage()), more)

    def _spent(self, limit: str, setting: str) -> BudgetSpent:
        return BudgetSpent(
            f"The budget of this {self._named[0]} is spent: {limit}.",
            hint=f"Raise {setting}; 0 lifts the limit.",
        )


def _total(*parts: Usage) -> Usage:
    costs = [part.cost_usd for part in parts if part.cost_usd is not None]
    return Usage(
        calls=sum(part.calls for part in parts),
        cached=sum(part.cached for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        cost_usd=sum(costs) if len(costs) == len(parts) else None,
        seconds=sum(part.seconds for part in parts),
    )
