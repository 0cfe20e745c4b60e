"""Comparison of a run of code with a second one, under another clock and with other seeds."""

from __future__ import annotations

from typing import Any

from alita_mcp.runs.code_run import CodeRun
from alita_mcp.values import Value
from alita_mcp.verification.comparison import difference, same_result

OTHER_WORLD = {
    "hash_seed": 1_234_567,
    "random_seed": 7_654_321,
    "clock_offset_s": -200 * 86_400,
    "fresh": True,
}
"""What `Job` has for the second run."""
MAX_SHOWN = 300
"""Characters of each of two values around their difference."""


class Comparison(Value):
    """Result of comparing two runs."""

    agree: bool
    difference: str = ""
    """What differs first, and what was there in the first run."""
    other: str = ""
    """What was there in the second run."""


def compare_runs(one: CodeRun, other: CodeRun) -> Comparison:
    """Compares how two runs of the same code ended, what they gave, printed and left."""
    for what, first, second in zip(
        ("end", "result", "stdout", "files"), _parts(one), _parts(other), strict=True
    ):
        if not same_result(first, second):
            found = difference(first, second, MAX_SHOWN)
            return Comparison(agree=False, difference=f"{what}: {found.expected}", other=found.got)
    return Comparison(agree=True)


def _parts(run: CodeRun) -> list[Any]:
    files = [[file.name, file.data.decode("latin-1")] for file in run.files]
    return [run.error_type or run.status, run.result, run.stdout, files]
