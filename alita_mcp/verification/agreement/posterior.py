"""Bayesian posterior that a cluster of candidates is right, from its size, likeness and passed tests.

One latent-class model over the whole matrix. One cluster is right, or none is. Candidates are right with a
probability that varies from task to task (beta-binomial); wrong ones fall into clusters as in a Chinese restaurant
process. Tests of one suite share their author, so a suite is a beta-binomial draw too and counts for less than its
tests. What no test sees and what all misread alike bounds what agreement proves (docs/decisions/0045).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma, log
from typing import NamedTuple

from alita_mcp.verification.agreement.record import Record, Tally

_MOST = 1e9
"""Counts above this say no more."""
_NEVER = 1e-3
"""No share is held to be nearer to 0 or 1 than this."""
_FAR = 700.0
"""Logarithms of ratios are cut here, below what `exp` can take."""


class Constants(NamedTuple):
    """Constants of the posterior. The first three were fitted, by task (docs/benchmarks.md); the others are round."""

    variety: float = 10.0
    """Wrong candidates: the larger, the more rarely two make the same mistake (1 in `variety` + 1)."""
    unnoticed: float = 0.8
    """How much mistakes on inputs that no test has weigh with bad coders and bad testers."""
    likeness: float = 2.0
    """Power of the number of candidates with the same text, by which these mistakes become rarer."""
    spread: float = 2.0
    """Pseudo-candidates in the beta distribution of a task's difficulty."""
    suite: float = 2.0
    """Pseudo-tests in the beta distribution of a suite's reliability: the smaller, the more alike its tests err."""
    caught: float = 0.5
    """A wrong candidate passes this share of what a right one passes."""
    covered: float = 0.08
    """Share of wrong candidates whose mistake no suite at all can see."""
    tolerated: float = 0.16
    """Of the tests and candidates that are usually right, so many may contradict what is verified."""
    refuted: float = 0.46
    """So many of the tests may contradict what is not rejected."""


CONSTANTS = Constants()
PRIOR = Record(
    candidates=Tally(right=4, wrong=1), tests=Tally(right=9.3, wrong=0.7), misread=Tally(right=32, wrong=1)
)
"""What is presumed of a model of which nothing is known; what is known is counted on top of it."""
BELOW_VERIFIED = 0.9499
BELOW_PROVISIONAL = 0.4999


class Beliefs(NamedTuple):
    """Expected rates of the models that wrote the candidates and the suites."""

    candidate: float
    """Share of the candidates that is right."""
    test: float
    """Share of the tests that holds."""
    misread: float
    """Share of the tasks in which all who agree misread the request alike."""


class Group(NamedTuple):
    """Cluster of candidates that behave alike on every test."""

    size: int
    alike: int
    """Of them, those that have the same text as its most typical one."""
    suites: tuple[tuple[int, int], ...]
    """For each suite that has tests: how many of them pass, of how many."""

    @property
    def contradicted(self) -> float:
        """Share of failing tests; a test counts once in each suite that has it."""
        passed, total = sum(passes for passes, _ in self.suites), sum(count for _, count in self.suites)
        return 1 - passed / total if total else 0.0


def beliefs_of(record: Record | None, constants: Constants = CONSTANTS) -> Beliefs:
    """Posterior means of the presumed and counted rates.

    Of the tasks in which a model's module and suites agreed and were wrong, as many as the coincidence of separate
    mistakes explains are no shared misreading.
    """
    if record is None:
        return Beliefs(_mean(PRIOR.candidates), _mean(PRIOR.tests), 1 - _mean(PRIOR.misread))
    candidate, test = (
        _mean(PRIOR.candidates + _cut(record.candidates)),
        _mean(PRIOR.tests + _cut(record.tests)),
    )
    lone = Group(size=1, alike=1, suites=((8, 8), (8, 8)))
    coincidence = 1 - probabilities(1, [lone], Beliefs(candidate, test, 0.0), constants)[0]
    seen = _cut(record.misread)
    explained = min(seen.wrong, coincidence * seen.total)
    shared = Tally(right=seen.right + explained, wrong=seen.wrong - explained)
    return Beliefs(candidate, test, 1 - _mean(PRIOR.misread + shared))


def probabilities(
    drawn: int, groups: Sequence[Group], beliefs: Beliefs, constants: Constants = CONSTANTS
) -> tuple[float, ...]:
    """For each group the probability that its most typical candidate is right; `drawn` counts all candidates."""
    weights = [_weight(drawn, group, groups, beliefs, constants) for group in groups]
    none = _beta_binomial(0, drawn, beliefs.candidate, constants.spread) + _partition(
        [group.size for group in groups], constants.variety
    )
    largest = max([*weights, none])
    total = sum(exp(weight - largest) for weight in (*weights, none))
    found = []
    for group, weight in zip(groups, weights, strict=True):
        share = exp(weight - largest)
        careless = (1 - beliefs.candidate) * (1 - beliefs.test)
        unseen = constants.unnoticed * careless / group.alike**constants.likeness
        right = (1 - beliefs.misread) * share / (total + unseen * share)
        bound = min(
            _bound(group.contradicted, beliefs.test, constants.tolerated, constants.refuted),
            _bound(1 - group.size / drawn, beliefs.candidate, constants.tolerated),
        )
        found.append(min(right, bound))
    return tuple(found)


def _weight(
    drawn: int, group: Group, groups: Sequence[Group], beliefs: Beliefs, constants: Constants
) -> float:
    """Logarithm of how well the matrix fits this group being right, up to what all groups share."""
    others = [each.size for each in groups if each is not group]
    ratio = sum(
        _beta_binomial(passes, count, beliefs.test, constants.suite)
        - _beta_binomial(passes, count, beliefs.test * constants.caught, constants.suite)
        for passes, count in group.suites
    )
    seen = -log(constants.covered + (1 - constants.covered) * exp(min(_FAR, -ratio)))
    size = _beta_binomial(group.size, drawn, beliefs.candidate, constants.spread)
    return size + _partition(others, constants.variety) + seen


def _bound(against: float, usual: float, tolerated: float, refuted: float = 1.0) -> float:
    """The most that is believed where a larger share speaks against it than usually errs.

    `usual` is the share that is usually right; the excess over what errs is counted in shares of it.
    """
    beyond = (against - (1 - usual)) / usual
    if beyond > refuted:
        return BELOW_PROVISIONAL
    return BELOW_VERIFIED if beyond > tolerated else 1.0


def _beta_binomial(hits: int, count: int, mean: float, weight: float) -> float:
    """Logarithm of the chance of these hits in this order, their rate being beta-distributed."""
    hit, miss = weight * mean, weight * (1 - mean)
    return _log_beta(hit + hits, miss + count - hits) - _log_beta(hit, miss)


def _log_beta(one: float, other: float) -> float:
    return lgamma(one) + lgamma(other) - lgamma(one + other)


def _partition(sizes: Sequence[int], variety: float) -> float:
    """Logarithm of the chance that wrong candidates fall into groups of these sizes."""
    ways = sum(lgamma(size) for size in sizes) + len(sizes) * log(variety)
    return ways + lgamma(variety) - lgamma(variety + sum(sizes))


def _mean(tally: Tally) -> float:
    return min(max(tally.right / tally.total, _NEVER), 1 - _NEVER)


def _cut(tally: Tally) -> Tally:
    return Tally(right=min(tally.right, _MOST), wrong=min(tally.wrong, _MOST))
