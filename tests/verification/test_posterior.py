from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.verification.agreement.agreement import Candidate, Matrix, accept
from alita_mcp.verification.agreement.posterior import Beliefs, Group, beliefs_of, probabilities
from alita_mcp.verification.agreement.record import Record, Tally

counts = st.one_of(st.integers(0, 60), st.floats(0, allow_nan=False), st.just(float("inf")))
tallies = st.builds(Tally, right=counts, wrong=counts)
records = st.none() | st.builds(Record, candidates=tallies, tests=tallies, misread=tallies)


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Any matrix, rows that are empty or too short and suites that name tests which nobody ran included."""
    tests = draw(st.integers(0, 6))
    row = st.tuples(st.text("ab", min_size=tests, max_size=tests), st.lists(st.booleans(), max_size=tests))
    rows = draw(st.lists(st.tuples(row, st.sampled_from(["x = 1", "x = 2", "def f(", ""])), max_size=6))
    candidates = tuple(Candidate(text, tuple(out), tuple(bits)) for (out, bits), text in rows)
    suites = st.lists(st.frozensets(st.integers(-1, tests), max_size=5), max_size=5)
    return Matrix(candidates, tuple(draw(suites)))


@st.composite
def proper_matrices(draw: st.DrawFn) -> Matrix:
    """Candidates that behave alike pass alike, as in every matrix that was run."""
    tests = draw(st.integers(1, 6))
    behaviours = draw(st.lists(st.tuples(*[st.booleans()] * tests), min_size=1, max_size=3))
    numbers = draw(st.lists(st.integers(0, len(behaviours) - 1), min_size=1, max_size=8))
    candidates = [Candidate(f"x = {k % 3}", (str(b),) * tests, behaviours[b]) for k, b in enumerate(numbers)]
    suite = st.frozensets(st.integers(0, tests - 1), max_size=5)
    return Matrix(tuple(candidates), tuple(draw(st.lists(suite, min_size=1, max_size=5))))


@settings(max_examples=300)
@given(matrices(), records)
def test_no_matrix_and_no_record_is_too_strange(matrix: Matrix, record: Record | None) -> None:
    decision = accept(matrix, record)
    assert 0 <= decision.probability <= 1
    assert (decision.chosen is None) == (decision.trust == "rejected")
    assert (decision.trust == "verified") == (decision.probability >= 0.95)
    assert (decision.trust == "rejected") == (decision.probability < 0.5)


@settings(max_examples=300)
@given(proper_matrices(), records, st.randoms(use_true_random=False))
def test_the_order_of_candidates_and_suites_changes_nothing(
    matrix: Matrix, record: Record | None, random: Random
) -> None:
    candidates, suites = list(matrix.candidates), list(matrix.suites)
    random.shuffle(candidates)
    random.shuffle(suites)
    one, other = accept(matrix, record), accept(Matrix(tuple(candidates), tuple(suites)), record)
    assert (one.trust, one.share, one.passed) == (other.trust, other.share, other.passed)
    assert one.probability == pytest.approx(other.probability, abs=1e-9)


@settings(max_examples=300)
@given(proper_matrices(), records, st.integers(0, 5))
def test_one_more_test_that_passes_never_lowers_the_probability(
    matrix: Matrix, record: Record | None, test: int
) -> None:
    before = accept(matrix, record)
    if before.chosen is None:
        return
    behaviour = matrix.candidates[before.chosen].outputs
    better = tuple(
        Candidate(
            each.text, each.outputs, tuple(bit or number == test for number, bit in enumerate(each.passes))
        )
        if each.outputs == behaviour
        else each
        for each in matrix.candidates
    )
    assert accept(Matrix(better, matrix.suites), record).probability >= before.probability - 1e-9


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 8)), min_size=1, max_size=5),
    st.tuples(*[st.floats(0.001, 0.999)] * 3),
)
def test_the_probabilities_of_all_clusters_are_at_most_one_together(
    sizes: list[tuple[int, int]], beliefs: tuple[float, float, float]
) -> None:
    groups = [Group(size, 1, ((passes, 8),)) for size, passes in sizes]
    drawn = sum(size for size, _ in sizes)
    found = probabilities(drawn, groups, Beliefs(*beliefs))
    assert all(0 <= probability <= 1 for probability in found)
    assert sum(found) <= 1 + 1e-9


def test_thousands_of_failing_tests_are_no_overflow() -> None:
    suites = ((0, 20_000),) * 50
    assert probabilities(3, [Group(3, 3, suites)], beliefs_of(None))[0] < 1e-6
    assert probabilities(1, [], beliefs_of(None)) == ()


def test_counts_of_a_record_move_what_was_presumed() -> None:
    nothing = beliefs_of(None)
    assert beliefs_of(Record()) == nothing
    good = Record(candidates=Tally(right=50), tests=Tally(right=500), misread=Tally(right=50))
    known = beliefs_of(good)
    assert (known.candidate > nothing.candidate, known.test > nothing.test) == (True, True)
    assert known.misread < nothing.misread


def test_mistakes_that_coincide_by_chance_are_no_shared_misreading() -> None:
    weak = Record(
        candidates=Tally(right=10, wrong=40),
        tests=Tally(right=100, wrong=200),
        misread=Tally(right=4, wrong=1),
    )
    strong = weak.model_copy(update={"candidates": Tally(right=50), "tests": Tally(right=300)})
    assert beliefs_of(weak).misread < beliefs_of(Record()).misread < beliefs_of(strong).misread
