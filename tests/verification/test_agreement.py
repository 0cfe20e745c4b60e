from __future__ import annotations

import pytest

from alita_mcp.verification.agreement import Candidate, Decision, Matrix, accept, is_proven
from alita_mcp.verification.code.source import normal_form

DEAD = Candidate((), ())
"""One that cannot be loaded."""


def candidate(outputs: str, passes: str) -> Candidate:
    return Candidate(tuple(outputs), tuple(bit == "1" for bit in passes))


def matrix(*candidates: Candidate, suites: tuple[set[int], ...] = ({0, 1, 2}, {2, 3, 4})) -> Matrix:
    return Matrix(candidates, tuple(frozenset(suite) for suite in suites))


ONE, OTHER = candidate("aaaaa", "11111"), candidate("bbbbb", "00000")
NEARLY = candidate("aaaab", "11110")


@pytest.mark.parametrize(
    ("candidates", "agrees"),
    [
        ([ONE, ONE], True),
        ([ONE, ONE, ONE], True),
        ([ONE], False),
        ([ONE, NEARLY], False),
        ([NEARLY, NEARLY], False),
        ([ONE, ONE, DEAD], False),
    ],
    ids=["two", "three", "one", "one differs", "a test fails", "one does not load"],
)
def test_all_candidates_agree_fully_or_none_does(candidates: list[Candidate], agrees: bool) -> None:
    assert accept(matrix(*candidates)).agrees is agrees
    assert not accept(matrix(*candidates, suites=({0, 1}, {2, 3}))).agrees  # four tests show too little


@pytest.mark.parametrize(
    ("candidates", "chosen", "dropped"),
    [
        ([NEARLY, NEARLY], 0, (4,)),
        ([OTHER, NEARLY, NEARLY], 1, (4,)),
        ([OTHER, ONE], 1, ()),
        ([OTHER, NEARLY], None, (4,)),
        ([OTHER, OTHER, ONE], 2, ()),
        ([candidate("abcde", "11000")] * 3, None, (2, 3, 4)),
    ],
    ids=[
        "a majority overrules a test", "the larger cluster", "a lone one that passes all", "a lone one overrules none",
        "passed tests weigh as candidates do", "a majority that fails more than half",
    ],
)  # fmt: skip
def test_the_choice(candidates: list[Candidate], chosen: int | None, dropped: tuple[int, ...]) -> None:
    decision = accept(matrix(*candidates))
    assert (decision.chosen, decision.dropped) == (chosen, dropped)


def test_what_nearly_passes_three_suites_is_chosen_whatever_the_others_did() -> None:
    others = [candidate("x" * 20, "1" * 14 + "0" * 6)] * 9
    three = (set(range(7)), set(range(7, 14)), set(range(14, 20)))
    lonely = candidate("a" * 20, "1" * 17 + "000")
    assert accept(matrix(*others, lonely, suites=three)).chosen == 9
    assert accept(matrix(*others, candidate("a" * 20, "1" * 16 + "0000"), suites=three)).chosen == 0
    assert accept(matrix(*others, lonely, suites=(*three[:1], set(range(7, 20))))).chosen == 0


@pytest.mark.parametrize(
    "empty",
    [matrix(), matrix(DEAD), matrix(ONE, suites=()), matrix(ONE, suites=(set(), set()))],
    ids=["no candidate", "none that loads", "no suite", "no test"],
)
def test_nothing_to_compare_chooses_none(empty: Matrix) -> None:
    decision = accept(empty)
    assert decision == Decision(dropped=empty.tests)


@pytest.mark.parametrize(
    ("agreed", "proven"),
    [("11110", True), ("01111", True), ("1111", True), ("111", False), ("11001", False), ("0011111", False)],
)  # fmt: skip
def test_four_of_the_nearest_five_prove_a_model(agreed: str, proven: bool) -> None:
    assert is_proven([each == "1" for each in agreed]) is proven


PLAIN = "def f(n):\n    return n + 1\n"


def test_comments_docstrings_and_layout_do_not_tell_programs_apart() -> None:
    written = 'def f(n):\n    """Adds one."""\n    # so\n    return (n+1)\n'
    assert normal_form(written) == normal_form(PLAIN)
    assert normal_form("def f(n):\n    return n\n") != normal_form(PLAIN)
