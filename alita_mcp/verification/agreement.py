"""Which of several independently written candidates to trust: a pass matrix in, a decision out. Nothing runs here.

Candidates that behave alike on every call of the pooled tests form a cluster; the cluster with the largest
size x tests passed is looked at (CodeT, arXiv 2207.10397). Whether its answer is good enough is a matter of how many
candidates agree, how many of the tests it passes, and how many of them were written alike, word for word.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from alita_mcp.syntax import module_of
from alita_mcp.values import Trust, Value


@dataclass(frozen=True, slots=True)
class Candidate:
    """One program that was run once against every test of every suite."""

    text: str
    """Its source; compared without comments, docstrings and layout."""
    outputs: tuple[str, ...]
    """What it gave for the call of each test, as JSON or a hash of it; empty when it cannot be loaded at all."""
    passes: tuple[bool, ...]
    """Whether it passes each test; empty as `outputs`."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Candidates against the tests of suites that were written blind to them."""

    candidates: tuple[Candidate, ...]
    suites: tuple[frozenset[int], ...]
    """For each suite the numbers of its tests; suites may share tests, and one may be empty."""

    @property
    def tests(self) -> tuple[int, ...]:
        """Numbers of all tests of all suites, each once."""
        return tuple(sorted(frozenset[int]().union(*self.suites)))


class Thresholds(Value):
    """What the winning cluster must show for a level of trust."""

    share: float = Field(ge=0, le=1)
    """At least this share of the candidates behaves alike."""
    passed: float = Field(ge=0, le=1)
    """At least this share of the pooled tests passes."""
    alike: int = Field(ge=1)
    """At least so many candidates have the same text."""


VERIFIED = Thresholds(share=0.65, passed=0.5, alike=3)
"""Fitted on stored candidates of 81 tasks; the same numbers hold from 5 to 30 candidates (docs/benchmarks.md)."""
PROVISIONAL = Thresholds(share=0.5, passed=0.3, alike=1)


class Decision(Value):
    """What the matrix says."""

    trust: Trust
    chosen: int | None
    """Number of the chosen candidate; None when none is to be trusted at all."""
    share: float = 0.0
    """Of the candidates, those in the winning cluster."""
    passed: float = 0.0
    """Of the pooled tests, those that the winning cluster passes."""
    alike: int = 0
    """Candidates of the winning cluster whose text is the chosen one's."""
    probability: float = 0.0
    """That the chosen candidate is right, as far as the matrix and the record say."""
    kept: tuple[int, ...] = ()
    """Tests that the winning cluster passes."""
    dropped: tuple[int, ...] = ()
    """Tests that contradict the winning cluster."""


@dataclass(frozen=True, slots=True)
class _Cluster:
    members: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def weight(self) -> tuple[int, int, int]:
        return len(self.members) * len(self.kept), len(self.members), -self.members[0]


def accept(
    matrix: Matrix, *, verified: Thresholds = VERIFIED, provisional: Thresholds = PROVISIONAL
) -> Decision:
    """The candidate to publish and how far to trust it; a pure function of the matrix."""
    tests = matrix.tests
    clusters = _clusters(matrix, tests)
    if not clusters:
        return Decision(trust="rejected", chosen=None, dropped=tests)
    best = max(clusters, key=lambda cluster: cluster.weight)
    chosen, alike = most_typical(matrix.candidates, best.members)
    shares = len(best.members) / len(matrix.candidates), len(best.kept) / len(tests)
    trust: Trust = "rejected"
    if _meets(verified, *shares, alike):
        trust = "verified"
    elif _meets(provisional, *shares, alike):
        trust = "provisional"
    return Decision(
        trust=trust,
        chosen=None if trust == "rejected" else chosen,
        share=shares[0],
        passed=shares[1],
        alike=alike,
        kept=best.kept,
        dropped=tuple(sorted(set(tests) - set(best.kept))),
    )


def most_typical(candidates: Sequence[Candidate], members: Sequence[int]) -> tuple[int, int]:
    """The member whose text is met most often, and how often; between equals the one of middling length.

    Members behave alike on the tests only. On inputs that no test has, the text that several wrote is right more
    often than the first one (91 % against 85 % at 20 candidates), and very short or long ones are right less often.
    """
    texts = {member: normal_form(candidates[member].text) for member in members}
    counts = Counter(texts.values())
    middle = sorted(map(len, texts.values()))[len(texts) // 2]

    def rank(member: int) -> tuple[int, int, int]:
        return -counts[texts[member]], abs(len(texts[member]) - middle), member

    chosen = min(members, key=rank)
    return chosen, counts[texts[chosen]]


def normal_form(text: str) -> str:
    """The program without comments, docstrings and layout; the text itself where it does not parse."""
    try:
        tree = module_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) and _has_docstring(node.body):
            del node.body[0]
    return ast.dump(tree)


def _has_docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def _clusters(matrix: Matrix, tests: tuple[int, ...]) -> list[_Cluster]:
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, candidate in enumerate(matrix.candidates):
        if candidate.outputs and tests:
            groups[tuple(candidate.outputs[test] for test in tests)].append(number)
    return [
        _Cluster(tuple(members), tuple(test for test in tests if matrix.candidates[members[0]].passes[test]))
        for members in groups.values()
    ]


def _meets(thresholds: Thresholds, share: float, passed: float, alike: int) -> bool:
    return share >= thresholds.share and passed >= thresholds.passed and alike >= thresholds.alike
