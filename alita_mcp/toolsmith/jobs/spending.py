"""Model spending by tool, summed from the journal's syntheses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from alita_mcp.values import Usage


@dataclass(frozen=True)
class Spending:
    """Cost of several syntheses: calls, tokens, dollars and seconds of models."""

    syntheses: int = 0
    model_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    """None where the price of one of them is not known."""
    model_seconds: float = 0.0

    def __add__(self, other: Spending) -> Spending:
        costs = (self.cost_usd, other.cost_usd)
        return Spending(
            syntheses=self.syntheses + other.syntheses,
            model_calls=self.model_calls + other.model_calls,
            tokens=self.tokens + other.tokens,
            cost_usd=None if costs[0] is None or costs[1] is None else costs[0] + costs[1],
            model_seconds=round(self.model_seconds + other.model_seconds, 3),
        )

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def spending_by_tool(rows: Iterable[Mapping[str, Any]]) -> dict[str, Spending]:
    """Sums by tool of journal rows with `name` and `detail`; an empty name stands for syntheses without a tool.

    What a tool cost includes the attempts that were made under its name and published nothing.
    """
    found: defaultdict[str, Spending] = defaultdict(Spending)
    for row in rows:
        spent = (row.get("detail") or {}).get("usage")
        if not spent:
            continue
        try:
            usage = Usage.model_validate(spent)
        except ValidationError:
            continue
        found[row.get("name") or ""] += Spending(
            syntheses=1,
            model_calls=usage.calls,
            tokens=usage.prompt_tokens + usage.completion_tokens,
            cost_usd=usage.cost_usd,
            model_seconds=usage.seconds,
        )
    return dict(found)
