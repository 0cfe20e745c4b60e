"""What scripted models answer where a published tool is to be revised."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.toolsmith.requests.outcomes import Created
from tests.models.openai_server import Reply, Request
from tests.toolsmith.authors import Script, coded, module, suite_of
from tests.toolsmith.bench import Bench

FLAT = module('digits = "0" + str(max(number, 0))', "return sum(int(digit) for digit in digits)")
"""Right for numbers that are not negative; 0 for all others."""
OWN = suite_of((123, 6), (0, 0), (99, 18), (1000, 1), (5, 5))["tests"]
"""Examples of a caller's that say nothing of negative numbers."""
FAILING = suite_of((-45, 9))["tests"]
COMPLAINT = "For negative numbers the result is 0; the sign should not count."
NEGATIVE = suite_of((-1, 1), (-989, 26), (77, 14), (10, 1), (-100, 1), (4321, 10))
"""What a tester writes who knows the complaint."""


@dataclass
class Reviser(Script):
    """A script whose coder also revises."""

    revision: Any = ""
    revised: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        text = request.text
        if "Revise this published tool" in text and "It failed:" not in text:
            self.asked.append(("revise", request))
            said = self.revision(request) if callable(self.revision) else self.revision
            return coded(said) if said.startswith("def ") else said
        return super().__call__(request)


def with_rules(code: str, *rules: str) -> str:
    return json.dumps({"reasoning": "step by step", "code": code, "packages": [], "rules": list(rules)})


async def publish(made: Bench, code: str, tests: Sequence[Any] = OWN, **changes: Any) -> Created:
    outcome = await made.make(
        name="digit_sum", description="Adds up the digits.", code=code, tests=list(tests), **changes
    )
    assert isinstance(outcome, Created), outcome
    return outcome
