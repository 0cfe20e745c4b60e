"""The figures of a search against values worked out by hand, and the properties that they must have."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.retrieval.asking import AskedSet, pairs_summary, summary
from benchmarks.retrieval.figures import Answered, auroc, calibration_error, figures, percentiles

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30)


def answered(
    *names: str, right: str = "", p: float = 0.5, band: str = "possible", kind: str = ""
) -> Answered:
    return Answered(
        id="q",
        names=names,
        scores=tuple(1.0 for _ in names),
        probability=p,
        band=band,
        tools=(right,) if right else (),
        kind=kind,
    )


def test_recall_and_rank_are_counted_from_the_first_right_name() -> None:
    found = figures(
        [
            answered("a", "b", right="a"),
            answered("b", "a", right="a"),
            answered("b", "c", "d", "e", "f", "a", right="a"),
            answered(*"bcdefghijk", "a", right="a"),
            answered("b", right="a"),
        ]
    )
    assert found["queries"] == 5
    assert found["R@1"] == pytest.approx(1 / 5)
    assert found["R@5"] == pytest.approx(2 / 5)
    assert found["MRR"] == pytest.approx((1 + 1 / 2 + 1 / 6) / 5), "the eleventh place counts nothing"


def test_any_of_several_right_tools_counts_and_the_first_of_them() -> None:
    either = answered("x", "b", "a").model_copy(update={"tools": ("a", "b")})
    assert (either.rank, either.right) == (2, False)
    assert answered("a").rank is None


def test_kept_refused_and_right_matches_are_shares() -> None:
    found = figures(
        [
            answered("a", right="a", p=0.9, band="match"),
            answered("b", right="a", p=0.8, band="match"),
            answered("a", right="a", p=0.4),
            answered("a", right="a", p=0.1, band="none"),
        ],
        [
            answered("a", p=0.1, band="none", kind="far"),
            answered("a", p=0.75, band="match", kind="far"),
            answered("a", p=0.2, band="none", kind="chat (a set's own words)"),
            answered("a", p=0.5),
        ],
    )
    assert found["kept"] == 3 / 4
    assert found["match_right"] == pytest.approx(1 / 3)
    assert found["refused_far"] == 1 / 2
    assert found["refused_chat"] == 1
    assert found["refused_outside"] == 0


def test_auroc_by_hand() -> None:
    assert auroc([(0.9, True), (0.8, False), (0.7, True), (0.1, False)]) == 3 / 4
    assert auroc([(0.5, True), (0.5, False)]) == 1 / 2
    assert auroc([(0.9, True), (0.9, False), (0.1, False)]) == 3 / 4
    assert auroc([(0.2, True), (0.3, True)]) == 1 / 2
    assert auroc([]) == 1 / 2


def test_calibration_error_by_hand() -> None:
    assert calibration_error([(0.25, True), (0.25, False), (0.25, False), (0.25, False)]) == 0
    assert calibration_error([(0.95, False), (0.05, True)]) == pytest.approx(0.95)
    mixed = [(0.5, True), (0.55, False), (1.0, True), (1.0, True)]
    assert calibration_error(mixed) == pytest.approx(0.05 / 4)
    assert calibration_error([]) == 0


@settings(deadline=None)
@given(PAIRS)
def test_turned_around_certainty_turns_auroc_around(pairs: list[tuple[float, bool]]) -> None:
    turned = [(-probability, right) for probability, right in pairs]
    assert auroc(pairs) + auroc(turned) == pytest.approx(1)


@settings(deadline=None)
@given(PAIRS)
def test_calibration_error_is_a_share(pairs: list[tuple[float, bool]]) -> None:
    assert 0 <= calibration_error(pairs) <= 1


def asked(name: str, *answers: Answered, outside: tuple[Answered, ...] = ()) -> AskedSet:
    return AskedSet(name, answers, outside, (), (1.0, 2.0, 3.0))


def test_means_are_over_the_sets_that_have_a_figure() -> None:
    far = answered("a", p=0.1, band="none", kind="far")
    result = summary(
        [
            asked("one", answered("a", right="a"), outside=(far,)),
            asked("two", answered("b", right="a"), answered("a", right="a")),
        ]
    )
    assert result["sets"]["one"]["p50_ms"] == 2.0
    assert result["mean"]["R@1"] == 3 / 4
    assert result["mean"]["refused_far"] == 1
    assert "queries" not in result["mean"]
    assert "refused_far" not in result["sets"]["two"]


def test_of_pairs_only_the_twins_have_a_rank() -> None:
    likes = (answered("a", p=0.2, kind="look-alike"),)
    result = pairs_summary(asked("one", answered("a", right="a", p=0.9), outside=likes))
    assert result["sets"]["one"] == {
        "twins": 1, "look-alikes": 1, "R@1": 1.0, "R@5": 1.0, "MRR": 1.0, "AUROC": 1.0,
    }  # fmt: skip


def test_percentiles_of_unsorted_times_and_of_none() -> None:
    assert percentiles([3.0, 1.0, 2.0]) == {"p50_ms": 2.0, "p99_ms": 2.0}
    assert percentiles([float(number) for number in range(201)]) == {"p50_ms": 100.0, "p99_ms": 198.0}
    assert percentiles([]) == {"p50_ms": 0.0, "p99_ms": 0.0}
