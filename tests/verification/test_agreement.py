from __future__ import annotations

import pytest

from alita_mcp.verification.agreement import Candidate, Matrix, Thresholds, accept, most_typical, normal_form

RIGHT = "def f(n):\n    return n + 1\n"
WRONG = "def f(n):\n    return n\n"


def candidate(text: str, outputs: str, passes: str) -> Candidate:
    return Candidate(text, tuple(outputs), tuple(bit == "1" for bit in passes))


def matrix(*candidates: Candidate, suites: tuple[set[int], ...] = ({0, 1}, {1, 2})) -> Matrix:
    return Matrix(candidates, tuple(frozenset(suite) for suite in suites))


def test_candidates_that_agree_pass_most_tests_and_are_written_alike_are_verified() -> None:
    decision = accept(matrix(*[candidate(RIGHT, "abc", "110")] * 3, candidate(WRONG, "xyz", "001")))
    assert (decision.trust, decision.chosen, decision.share, decision.alike) == ("verified", 0, 0.75, 3)
    assert (decision.kept, decision.dropped) == ((0, 1), (2,))


def test_the_cluster_is_chosen_by_size_times_tests_passed() -> None:
    many = [candidate(WRONG, "xyz", "100")] * 3
    few = [candidate(RIGHT, "abc", "111")] * 2
    decision = accept(matrix(*many, *few))
    assert decision.share == 0.4
    assert decision.kept == (0, 1, 2)


def test_agreement_of_differently_written_candidates_is_provisional_only() -> None:
    alike = [candidate(f"def f(n):\n    return n + {k} - {k - 1}\n", "abc", "111") for k in range(4)]
    decision = accept(matrix(*alike))
    assert (decision.trust, decision.alike) == ("provisional", 1)
    assert decision.chosen is not None


def test_without_agreement_nothing_is_chosen() -> None:
    lonely = [candidate(RIGHT, f"{letter}bc", "111") for letter in "abcdef"]
    decision = accept(matrix(*lonely))
    assert (decision.trust, decision.chosen) == ("rejected", None)


def test_a_cluster_that_passes_too_few_tests_is_not_verified() -> None:
    decision = accept(matrix(*[candidate(RIGHT, "abc", "100")] * 5))
    assert decision.trust == "provisional"
    assert decision.dropped == (1, 2)


def test_tests_of_no_suite_count_for_nothing() -> None:
    agree_on_the_pooled_one = [candidate(RIGHT, "abc", "101"), candidate(RIGHT, "axx", "100")]
    decision = accept(matrix(*agree_on_the_pooled_one, candidate(RIGHT, "ayy", "100"), suites=({0}, set())))
    assert (decision.trust, decision.share, decision.kept) == ("verified", 1.0, (0,))


@pytest.mark.parametrize(
    "empty",
    [
        matrix(),
        matrix(candidate(RIGHT, "", "")),
        matrix(candidate(RIGHT, "abc", "111"), suites=()),
        matrix(candidate(RIGHT, "abc", "111"), suites=(set(), set())),
    ],
    ids=["no candidate", "none that loads", "no suite", "no test"],
)
def test_nothing_to_compare_is_rejected(empty: Matrix) -> None:
    decision = accept(empty)
    assert (decision.trust, decision.chosen, decision.kept) == ("rejected", None, ())


def test_candidates_that_do_not_load_count_against_the_share() -> None:
    dead = [candidate("def f(", "", "")] * 3
    decision = accept(matrix(*[candidate(RIGHT, "abc", "111")] * 3, *dead))
    assert (decision.trust, decision.share) == ("provisional", 0.5)


def test_the_thresholds_are_met_when_equalled() -> None:
    at = Thresholds(share=0.75, passed=1.0, alike=3)
    candidates = [*[candidate(RIGHT, "abc", "111")] * 3, candidate(WRONG, "xyz", "000")]
    assert accept(matrix(*candidates), verified=at).trust == "verified"
    above = at.model_copy(update={"alike": 4})
    assert accept(matrix(*candidates), verified=above).trust == "provisional"


def test_the_choice_does_not_depend_on_the_order_of_the_suites() -> None:
    candidates = [candidate(RIGHT, "abc", "111"), candidate(WRONG, "xyz", "111")]
    one, other = matrix(*candidates, suites=({0}, {2, 1})), matrix(*candidates, suites=({1, 2}, {0}))
    assert accept(one) == accept(other)


def test_the_text_that_several_wrote_is_chosen() -> None:
    same = "def f(n):\n    # one more\n    return n + 1\n"
    other = "def f(n):\n    total = n\n    total += 1\n    return total\n"
    candidates = [candidate(other, "a", "1"), candidate(RIGHT, "a", "1"), candidate(same, "a", "1")]
    assert most_typical(candidates, (0, 1, 2)) == (1, 2)


def test_between_equals_the_one_of_middling_length_is_chosen() -> None:
    candidates = [candidate(f"def f(n):\n    return {'n + ' * k}1\n", "a", "1") for k in (9, 3, 0)]
    assert most_typical(candidates, (0, 1, 2)) == (1, 1)


def test_comments_docstrings_and_layout_do_not_tell_programs_apart() -> None:
    written = 'def f(n):\n    """Adds one."""\n    # so\n    return (n+1)\n'
    assert normal_form(written) == normal_form(RIGHT)
    assert normal_form(WRONG) != normal_form(RIGHT)


@pytest.mark.parametrize(
    "text", ["def f(", "\0", "(" * 100_000, "x = '\ud800'"], ids=["cut", "nul", "deep", "half"]
)
def test_a_text_that_does_not_parse_stands_for_itself(text: str) -> None:
    assert normal_form(text) == text
