"""Posterior chance, cost and time of a step, from counts of its successes and failures.

The chance that a step works is Beta(a, b) distributed: a = s + n·m, b = f + n·(1 - m), where s and f are recorded
successes and failures, m the mean presumed before there are any, and n how many outcomes that presumption is worth.
Tools change: each new outcome multiplies the weight of the older ones by `KEPT`, so that a record never counts
for more than 1 / (1 - KEPT) outcomes (discounted Thompson sampling: Raj and Kalyani 2017, arXiv:1707.09727).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from alita_mcp.agent.interface import Episode, Recipe
from alita_mcp.agent.planning.plans import AGENT_TOOLS, PlanStep, PlanWay
from alita_mcp.values import Trust, Value

KEPT = 0.8
"""Weight of an outcome once a newer one of the same tool is known."""


class OutcomeRecord(Value):
    """Recorded outcomes of a tool, a way or a recipe."""

    successes: float = Field(default=0.0, ge=0)
    """Discounted; a share of one where it is not sure what failed."""
    failures: float = Field(default=0.0, ge=0)
    cost_usd: float = Field(default=0.0, ge=0)
    """Of one outcome, on average."""
    seconds: float = Field(default=0.0, ge=0)
    """Of one outcome, on average."""
    trust: Trust | None = None
    """Of a tool: what its verification gave; None where there was none."""

    @property
    def count(self) -> float:
        """Number of outcomes that the record is worth."""
        return self.successes + self.failures


Records = Mapping[str, OutcomeRecord]
"""By `record_key`."""


class Presumed(NamedTuple):
    """Prior of a step before outcomes are known."""

    chance: float
    cost_usd: float
    seconds: float


WAYS: Mapping[PlanWay, Presumed] = {
    "reuse": Presumed(chance=0.75, cost_usd=0.01, seconds=4),
    "compose": Presumed(chance=0.7, cost_usd=0.02, seconds=8),
    "run_once": Presumed(chance=0.7, cost_usd=0.02, seconds=8),
    "research": Presumed(chance=0.7, cost_usd=0.03, seconds=20),
    "build": Presumed(chance=0.6, cost_usd=0.15, seconds=90),
}
"""Our presumptions of the ways; records take their place."""
TRUSTED: Mapping[Trust, float] = {"verified": 0.9, "provisional": 0.75, "rejected": 0.2}
"""Chance presumed of a tool by its trust."""
MISSING_CHANCE = 0.02
"""Chance presumed of a step whose tool does not exist."""
PRESUMED_COUNT = 4.0
"""How many outcomes a presumption is worth."""


class Expectation(Value):
    """Expected chance, cost and time of one step; the chance is Beta(a, b) distributed."""

    a: float = Field(gt=0)
    b: float = Field(gt=0)
    cost_usd: float
    seconds: float

    @property
    def chance(self) -> float:
        """The mean of the distribution."""
        return self.a / (self.a + self.b)


def record_key(step: PlanStep) -> str:
    """Key of a step's outcomes: `tool:NAME`, or `way:WAY` where it calls no tool of the library."""
    return f"tool:{step.tool}" if step.tool else f"way:{step.way}"


def recipe_key(recipe: str) -> str:
    """Key of a recipe's outcomes."""
    return f"recipe:{recipe}"


def expectation(step: PlanStep, records: Records) -> Expectation:
    """Expected chance, cost and time of a step, from its prior and its recorded outcomes."""
    record = records.get(record_key(step), OutcomeRecord())
    presumed = WAYS[step.way]
    if step.tool and not step.known:
        mean = MISSING_CHANCE
    else:
        mean = TRUSTED[record.trust] if step.tool and record.trust else presumed.chance
    known = record.count / (PRESUMED_COUNT + record.count)
    return Expectation(
        a=PRESUMED_COUNT * mean + record.successes,
        b=PRESUMED_COUNT * (1 - mean) + record.failures,
        cost_usd=(1 - known) * presumed.cost_usd + known * record.cost_usd,
        seconds=(1 - known) * presumed.seconds + known * record.seconds,
    )


def add_outcome(
    record: OutcomeRecord, worked: float, *, cost_usd: float = 0.0, seconds: float = 0.0
) -> OutcomeRecord:
    """The record with one more outcome.

    Args:
        record: What was known.
        worked: 1 where it worked, 0 where it failed, a share where a failure is not known to be its own.
        cost_usd: What it cost.
        seconds: How long it took.
    """
    old = record.count * KEPT
    share = min(1.0, max(0.0, worked))
    return OutcomeRecord(
        successes=record.successes * KEPT + share,
        failures=record.failures * KEPT + 1 - share,
        cost_usd=(old * record.cost_usd + cost_usd) / (old + 1),
        seconds=(old * record.seconds + seconds) / (old + 1),
        trust=record.trust,
    )


def blame(chances: Sequence[float]) -> tuple[float, ...]:
    """Probability of each step to be wrong, where all reported success and the whole is wrong.

    Bayes, with independent steps: (1 - p) / (1 - product of all p). The shares sum to 1 or more: several may be wrong.
    """
    wrong = [1 - min(1.0, max(0.0, chance)) for chance in chances]
    whole = 1 - math.prod(1 - each for each in wrong)
    if whole <= 0:
        return tuple(1 / len(chances) for _ in chances)
    return tuple(min(1.0, each / whole) for each in wrong)


def records_of(episodes: Sequence[Episode], recipes: Sequence[Recipe] = ()) -> dict[str, OutcomeRecord]:
    """Records of tools, ways and recipes from the memory; a run's cost is divided among its steps."""
    found: dict[str, OutcomeRecord] = {}
    for episode in sorted(episodes, key=lambda each: each.at):
        worked = [step.tool for step in episode.steps]
        parts = max(1, len(worked) + len(episode.failed))
        for tool, share in [(tool, 0.0) for tool in episode.failed] + [(tool, 1.0) for tool in worked]:
            key = f"way:{AGENT_TOOLS[tool]}" if tool in AGENT_TOOLS else f"tool:{tool}"
            found[key] = add_outcome(
                found.get(key, OutcomeRecord()), share,
                cost_usd=(episode.cost_usd or 0.0) / parts, seconds=episode.seconds / parts,
            )  # fmt: skip
    for recipe in recipes:
        found[recipe_key(recipe.id)] = OutcomeRecord(
            successes=recipe.successes,
            failures=recipe.failures,
            cost_usd=recipe.cost_usd,
            seconds=recipe.seconds,
        )
    return found
