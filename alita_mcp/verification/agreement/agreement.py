"""Acceptance rule: the choice from a pass matrix, full agreement, and what a model's record proves.

Pure functions: nothing is run and nothing is asked here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from alita_mcp.values import Value

MAJORITY = 2
"""Fewer candidates than these cannot overrule a test: one opinion against another is no majority."""
HALF = 0.5
"""Where fewer of the tests hold, not the tests are in doubt but the candidates, or what was asked of both."""
NEARLY_ALL = 0.85
"""A candidate that passes so many of the tests of `ENOUGH_SUITES` suites is chosen, whatever the others did."""
ENOUGH_SUITES = 3
FEWEST_TESTS = 5
"""Candidates that pass fewer tests in all hardly had a chance to differ."""
WINDOW, ENOUGH = 5, 4
"""Of so many syntheses of a model before or after one, so many must agree fully."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Results of a candidate for every test of every suite."""

    outputs: tuple[str, ...]
    """What it gave for the call of each test, as JSON or a hash of it; empty when it cannot be loaded at all."""
    passes: tuple[bool, ...]
    """Whether it passes each test; empty as `outputs`."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Pass matrix of candidates against test suites whose authors did not see the candidates."""

    candidates: tuple[Candidate, ...]
    suites: tuple[frozenset[int], ...]
    """For each suite the numbers of its tests; suites may share tests, and one may be empty."""

    @property
    def tests(self) -> tuple[int, ...]:
        """Numbers of all tests of all suites, each once."""
        return tuple(sorted(frozenset[int]().union(*self.suites)))


class Decision(Value):
    """Decision of the acceptance rule."""

    chosen: int | None = None
    """Number of the chosen candidate; None when none is to be trusted at all."""
    agrees: bool = False
    """Whether all candidates, two at least, behave alike and pass every test."""
    alike: tuple[int, ...] = ()
    """Candidates that behave as the chosen one, or as the one that came nearest."""
    kept: tuple[int, ...] = ()
    """Tests that they pass."""
    dropped: tuple[int, ...] = ()
    """Tests that contradict them."""


def accept(matrix: Matrix) -> Decision:
    """The candidate to prove, from those that behave alike on every call.

    The most candidates times passed tests win (CodeT, arXiv 2207.10397); of those that pass nearly all, if any do.
    """
    tests = matrix.tests
    clusters: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, candidate in enumerate(matrix.candidates):
        if tests and candidate.outputs:
            clusters[tuple(candidate.outputs[test] for test in tests)].append(number)
    if not clusters:
        return Decision(dropped=tests)

    def passed(members: Sequence[int]) -> tuple[int, ...]:
        # calls that end alike may still pass unlike: a check can look at more than the word for a result
        return tuple(test for test in tests if all(matrix.candidates[each].passes[test] for each in members))

    def weight(members: Sequence[int]) -> tuple[int, int, int]:
        return len(members) * len(passed(members)), len(members), -members[0]

    suites = sum(1 for suite in matrix.suites if suite)
    most = len(tests) * (1 - NEARLY_ALL)
    nearly = [each for each in clusters.values() if len(tests) - len(passed(each)) <= most]
    reliable = nearly if suites >= ENOUGH_SUITES else []
    best = max(reliable or clusters.values(), key=weight)
    kept = passed(best)
    dropped = tuple(sorted(set(tests) - set(kept)))
    # chosen is (1) what nearly passes several suites, (2) a majority that passes half of the tests, and
    # (3) a lone candidate that no test contradicts
    standing = len(kept) >= HALF * len(tests) and (len(best) >= MAJORITY or not dropped)
    return Decision(
        chosen=best[0] if reliable or standing else None,
        agrees=MAJORITY <= len(best) == len(matrix.candidates) and not dropped and len(tests) >= FEWEST_TESTS,
        alike=tuple(best),
        kept=kept,
        dropped=dropped,
    )


def is_proven(agreed: Sequence[bool]) -> bool:
    """Whether a model's syntheses just before one, or just after it, prove its full agreement; nearest first."""
    return sum(agreed[:WINDOW]) >= ENOUGH
