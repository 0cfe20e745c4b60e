"""Words for results: equal behaviour has equal words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.verification.comparison.compare import raised

SIGNIFICANT_DIGITS = 9
"""Floats that agree so far are the same behaviour, as in every comparison of results."""
LONGEST = 200


def result_word(result: RunResult | None, errors: Collection[str] = ()) -> str:
    """A word for a result; an error's message does not count.

    `errors` are those that tests expect of this call: an error is told by which of them it satisfies, if any.
    """
    if result is None:
        return "not run"
    if met := sorted(name for name in errors if raised(name, result)):
        return f"raises {' '.join(met)}"
    if result.status == "error":
        return f"error {result.error_type.rsplit('.', 1)[-1]}"
    if not result.ok:
        return result.status
    text = rounded_json(result.value)
    return f"value {hashlib.sha256(text.encode()).hexdigest() if len(text) > LONGEST else text}"


def rounded_json(value: Any) -> str:
    """The value as JSON with sorted keys and floats as they compare: few digits, and whole ones as integers."""
    return json.dumps(_rounded(value), sort_keys=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        shortened = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return int(shortened) if shortened.is_integer() and abs(shortened) < 1e15 else shortened
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return value
