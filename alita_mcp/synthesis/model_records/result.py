"""Result of one model on one calibration task, and the counts over many."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from alita_mcp.values import Value
from alita_mcp.verification.agreement.record import Tally

MAX_TESTS_OF_A_TASK = 40
"""Two suites hold no more."""


class TaskResult(Value):
    """Result of one task: whether the module is right, how many tests are, and whether both agreed."""

    right: bool
    """The module passes all hidden examples; one that could not be read or run is wrong."""
    tests_right: int = Field(default=0, ge=0, le=MAX_TESTS_OF_A_TASK)
    """Blind tests that hold on the reference."""
    tests_wrong: int = Field(default=0, ge=0, le=MAX_TESTS_OF_A_TASK)
    agreed: bool = False
    """The module passes (nearly) all tests of its own model's suites: right, or misread in the same way."""


class Counts(Value):
    """Counts over the results of several tasks."""

    tasks: int
    candidates: Tally
    tests: Tally
    misread: Tally


def counted(results: Iterable[TaskResult]) -> Counts:
    """The counts of these results."""
    done = list(results)
    agreed = [result.right for result in done if result.agreed]
    right = sum(result.right for result in done)
    return Counts(
        tasks=len(done),
        candidates=Tally(right=right, wrong=len(done) - right),
        tests=Tally(
            right=sum(result.tests_right for result in done),
            wrong=sum(result.tests_wrong for result in done),
        ),
        misread=Tally(right=sum(agreed), wrong=len(agreed) - sum(agreed)),
    )
