from __future__ import annotations

import pytest

from alita_mcp.verification.agreement.agreement import Candidate, Matrix, accept, most_typical, normal_form
from alita_mcp.verification.agreement.record import Record, Tally

RIGHT = "def f(n):\n    return n + 1\n"
WRONG = "def f(n):\n    return n\n"


def candidate(text: str, outputs: str, passes: str) -> Candidate:
    return Candidate(text, tuple(outputs), tuple(bit == "1" for bit in passes))


def matrix(*candidates: Candidate, suites: tuple[set[int], ...] = ({0, 1}, {1, 2})) -> Matrix:
    return Matrix(candidates, tuple(frozenset(suite) for suite in suites))


def unanimous(count: int, suites: int, *, passing: int = 8) -> Matrix:
    """So many candidates, all written differently, that behave alike on suites of eight tests each."""
    bits = ("1" * passing + "0" * (8 - passing)) * suites
    alike = [candidate(f"def f(n):\n    return n + {k}\n", "v" * len(bits), bits) for k in range(count)]
    return matrix(*alike, suites=tuple(set(range(8 * k, 8 * k + 8)) for k in range(suites)))


def record(right: float, wrong: float, held: float, erred: float, misread: float = 0.0) -> Record:
    return Record(
        candidates=Tally(right=right, wrong=wrong),
        tests=Tally(right=held, wrong=erred),
        misread=Tally(right=right, wrong=misread),
    )


STRONG, WEAK = record(48, 2, 980, 20), record(15, 35, 320, 680)


def test_two_candidates_and_two_suites_that_agree_are_verified_without_a_record() -> None:
    decision = accept(unanimous(2, 2))
    assert (decision.trust, decision.chosen, decision.share, decision.passed) == ("verified", 0, 1.0, 1.0)
    assert 0.95 <= decision.probability < 0.97


def test_one_candidate_is_verified_only_on_a_strong_record() -> None:
    one = unanimous(1, 2)
    assert [accept(one, known).trust for known in (None, STRONG, WEAK)] == [
        "provisional",
        "verified",
        "provisional",
    ]


def test_what_all_misread_alike_bounds_what_agreement_proves() -> None:
    assert accept(unanimous(30, 30)).probability < 0.97
    misreading = record(48, 2, 980, 20, misread=8)
    assert accept(unanimous(30, 30), STRONG).probability > 0.98
    assert accept(unanimous(30, 30), misreading).trust == "provisional"


@pytest.mark.parametrize(("passing", "trust"), [(7, "verified"), (6, "provisional"), (3, "rejected")])
def test_suites_that_contradict_a_mistake_shared_by_all_candidates_are_heard(
    passing: int, trust: str
) -> None:
    for count in (3, 5, 20):
        decision = accept(unanimous(count, 3, passing=passing))
        assert decision.trust == trust
        assert (decision.chosen is None) == (trust == "rejected")


def test_tests_of_a_weak_tester_may_contradict_as_usual() -> None:
    assert accept(unanimous(20, 3, passing=3), WEAK).trust == "provisional"
    assert accept(unanimous(20, 3, passing=0), WEAK).trust == "rejected"


def test_a_cluster_that_too_few_candidates_belong_to_is_not_verified() -> None:
    agree, differ = [candidate(RIGHT, "abc", "111")] * 3, [candidate(WRONG, "xyz", "000")] * 2
    assert accept(matrix(*agree)).trust == "verified"
    assert accept(matrix(*agree, *differ)).trust == "provisional"


def test_what_nearly_passes_three_suites_is_published_whatever_the_others_did() -> None:
    three = ({0}, {1}, {2})
    lonely = candidate(RIGHT, "abc", "111")
    others = [candidate(WRONG, "xyz", "110")] * 12
    decision = accept(matrix(*others, lonely, suites=three))
    assert (decision.trust, decision.chosen, decision.probability) == ("provisional", 12, 0.5)
    assert accept(matrix(*others, lonely, suites=({0, 1, 2}, {0}))).chosen != 12


def test_nine_of_ten_tests_pass_nearly_all() -> None:
    suites = tuple(set(range(10 * k, 10 * k + 10)) for k in range(3))
    others = [candidate(WRONG, "y" * 30, "1" * 20 + "0" * 10)] * 9

    def chosen(bits: str) -> int | None:
        return accept(matrix(*others, candidate(RIGHT, "x" * 30, bits), suites=suites)).chosen

    assert chosen(("1" * 9 + "0") * 3) == 9
    assert chosen(("1" * 9 + "0") * 2 + "1" * 8 + "00") != 9


def test_likeness_counts_with_a_weak_model_only() -> None:
    suites = tuple(set(range(8 * k, 8 * k + 8)) for k in range(3))
    same = matrix(*[candidate(RIGHT, "v" * 24, "1" * 24)] * 5, suites=suites)
    assert accept(same, WEAK).probability > accept(unanimous(5, 3), WEAK).probability + 0.03
    assert accept(same, STRONG).probability < accept(unanimous(5, 3), STRONG).probability + 0.001


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
