"""Acceptance rule: picks the candidate to trust from a pass matrix, without running any code.

Candidates that behave alike on every call of the pooled tests form a cluster (CodeT, arXiv 2207.10397). How
probable it is that a cluster is right depends on the models that wrote it and the tests too (`posterior`).
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from alita_mcp.syntax import module_of
from alita_mcp.values import Trust, Value
from alita_mcp.verification.agreement.posterior import CONSTANTS, Constants, Group, beliefs_of, probabilities
from alita_mcp.verification.agreement.record import Record

_ROUNDING = 1e-9
_DOCUMENTED = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program's text and its results for every test of every suite."""

    text: str
    """Its source; compared without comments, docstrings and layout."""
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


VERIFIED = 0.95
"""From this probability on the choice is verified."""
PROVISIONAL = 0.5
"""Below this probability nothing is chosen."""
PASSING = 0.9
"""A candidate that passes so many of the tests of `BLIND` suites is not refused, whatever the others did."""
BLIND = 3


class Decision(Value):
    """Decision of the acceptance rule."""

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
    """Candidates that behave alike, and how probable it is that the chosen one of them is right."""

    members: tuple[int, ...]
    kept: tuple[int, ...]
    chosen: int
    group: Group
    probability: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether nearly all tests of several suites pass."""
        return len(self.group.suites) >= BLIND and self.group.contradicted <= 1 - PASSING + _ROUNDING


def accept(matrix: Matrix, record: Record | None = None, constants: Constants = CONSTANTS) -> Decision:
    """The candidate to publish and its trust; a pure function of the matrix and the models' records.

    A cluster that passes nearly all tests of several suites goes before larger ones that pass fewer.
    """
    tests = matrix.tests
    clusters = _clusters(matrix, tests)
    if not clusters:
        return Decision(trust="rejected", chosen=None, dropped=tests)
    groups, beliefs = [cluster.group for cluster in clusters], beliefs_of(record, constants)
    found = probabilities(len(matrix.candidates), groups, beliefs, constants)
    clusters = [replace(each, probability=p) for each, p in zip(clusters, found, strict=True)]
    best = max(
        [cluster for cluster in clusters if cluster.passes] or clusters,
        key=lambda each: (each.probability, len(each.members), len(each.kept), -each.members[0]),
    )
    probability = max(best.probability, PROVISIONAL) if best.passes else best.probability
    trust = _trust(probability)
    return Decision(
        trust=trust,
        chosen=None if trust == "rejected" else best.chosen,
        share=len(best.members) / len(matrix.candidates),
        passed=len(best.kept) / len(tests),
        alike=best.group.alike,
        probability=probability,
        kept=best.kept,
        dropped=tuple(sorted(set(tests) - set(best.kept))),
    )


def most_typical(candidates: Sequence[Candidate], members: Sequence[int]) -> tuple[int, int]:
    """The cluster member whose normalised text occurs most often, and how often; ties by middling length.

    Members behave alike on the tests only. On inputs that no test has, the text that several wrote is right more
    often than the first one (91 % against 85 % at 20 candidates), and very short or long ones are right less often.
    """
    forms = {text: normal_form(text) for text in {candidates[member].text for member in members}}
    texts = {member: forms[candidates[member].text] for member in members}
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
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)


def _clusters(matrix: Matrix, tests: tuple[int, ...]) -> list[_Cluster]:
    groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, candidate in enumerate(matrix.candidates):
        if tests and tests[0] >= 0 and tests[-1] < min(len(candidate.outputs), len(candidate.passes)):
            groups[tuple(candidate.outputs[test] for test in tests)].append(number)
    return [_cluster(matrix, tests, members) for members in groups.values()]


def _cluster(matrix: Matrix, tests: tuple[int, ...], members: list[int]) -> _Cluster:
    kept = frozenset(
        test for test in tests if all(matrix.candidates[number].passes[test] for number in members)
    )
    chosen, alike = most_typical(matrix.candidates, members) if len(members) > 1 else (members[0], 1)
    suites = tuple((len(suite & kept), len(suite)) for suite in matrix.suites if suite)
    return _Cluster(tuple(members), tuple(sorted(kept)), chosen, Group(len(members), alike, suites))


def _trust(probability: float) -> Trust:
    if probability >= VERIFIED:
        return "verified"
    return "provisional" if probability >= PROVISIONAL else "rejected"
