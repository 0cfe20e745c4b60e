"""Detector of suites that a function with a constant result would pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.values import Check, Example, Schema
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.examples.clock_and_seed import ClockAndSeed
from alita_mcp.verification.examples.conditions import NOTHING_PINNED, evaluate
from alita_mcp.verification.findings import brief, failed

CONSTANTS: tuple[Any, ...] = (None, 0, "", [], {}, True)


async def constant_stub_checks(
    examples: Sequence[Example], input_schema: Schema, sandbox: Sandbox, pinned: ClockAndSeed = NOTHING_PINNED
) -> list[Check]:
    """Fails when a constant, or a function that always raises, satisfies every example.

    A constant passes examples with `expected` only when all expect the same, and never one with `raises`: no
    code has to run to know that. `check` expressions are tried on constants in the sandbox, without the tool.
    A tool without parameters may well be constant and is not held to this, and of one that varies each single result
    may be right: that it is not constant its rehearsals show. What a check admits is looked at all the same.
    """
    if not input_schema["properties"] and not pinned.is_set:
        return []
    by_result = [example for example in examples if example.raises is None]
    if not by_result:
        message = "every example raises, so a function that always raises passes them"
        return [failed("examples", message, "Add examples with results.")]
    conditions = [example for example in by_result if example.check is not None]
    candidates = _candidates([example for example in by_result if example.check is None])
    verdicts = await evaluate(sandbox, [(each, [*CONSTANTS, *candidates]) for each in conditions], pinned)
    for example, held_by in zip(conditions, verdicts, strict=True):
        if all(held is True for held in held_by[: len(CONSTANTS)]):
            message = f"the check `{example.check}` holds for None, 0, an empty text and an empty list alike"
            return [failed("examples", message, "Say in the check what makes a result right.")]
    if len(by_result) < len(examples) or pinned.is_set:
        return []  # no constant raises
    for index, candidate in enumerate(candidates, len(CONSTANTS)):
        if all(held_by[index] is True for held_by in verdicts):
            return [constant_passes(candidate, len(examples))]
    return []


def _candidates(values: Sequence[Example]) -> list[Any]:
    """Constants that satisfy all examples with `expected`."""
    if not values:
        return list(CONSTANTS)
    first = values[0].expected
    return [first] if all(same_result(first, each.expected, each.exact) for each in values) else []


def constant_passes(constant: Any, count: int) -> Check:
    """The failure of a suite that one constant satisfies."""
    which = "the only example" if count == 1 else f"all {count} examples"
    message = f"a function that always returns {brief(constant)} passes {which}, so nothing is proved"
    return failed("examples", message, "Add an example with another result.")
