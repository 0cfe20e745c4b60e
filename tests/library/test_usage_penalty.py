"""What people do with tools decides between nearly equal ones, and never more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import NEAR_TIE, search_answer, usage_penalty
from tests.library.test_search_answer import entry

TODAY, YESTERDAY, LONG_AGO = "2026-11-21T10:00:00.000Z", "2026-11-20T09:00:00Z", "2026-05-01T00:00:00Z"


def used(name: str, calls: int = 0, failures: int = 0, last: str | None = None) -> CatalogueEntry:
    return entry(name, "verified").model_copy(
        update={"calls": calls, "failures": failures, "last_used": last}
    )


def order(one: tuple[CatalogueEntry, float], other: tuple[CatalogueEntry, float]) -> list[str]:
    found = dict(sorted([(each.name, score) for each, score in (one, other)], key=lambda pair: -pair[1]))
    said = search_answer(found, {each.name: each for each, _ in (one, other)}, 5, 2)
    return [hit.name for hit in said.results]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (used("new_one", 20, 0, TODAY), used("old_one", 20, 15, TODAY)),
        (used("new_one", 20, 0, TODAY), used("old_one", 20, 20, TODAY)),
        (used("new_one", 9, 1, TODAY), used("old_one", 9, 1, LONG_AGO)),
        (used("new_one", 9, 0, TODAY), used("old_one")),
    ],
    ids=["fails often", "fails always", "is out of use", "was never used"],
)
def test_a_near_tie_goes_to_the_tool_that_works_and_is_in_use(
    better: CatalogueEntry, worse: CatalogueEntry
) -> None:
    assert order((worse, 0.800), (better, 0.795)) == ["new_one", "old_one"]
    plain = used("old_one", better.calls, better.failures, better.last_used)
    assert order((plain, 0.800), (better, 0.795)) == ["old_one", "new_one"], "it was its use alone"


@given(
    st.floats(0.05, 1), st.floats(0, 1), st.integers(0, 10**6), st.sampled_from([TODAY, LONG_AGO, "", "?"])
)
def test_a_clear_lead_stays_however_badly_a_tool_is_doing(
    lead: float, share: float, calls: int, last: str
) -> None:
    bad = used("leading", calls, calls, last or None)
    good = used("behind", 10**6, 0, TODAY)
    assert order((bad, lead), (good, lead * NEAR_TIE * share * 0.999))[0] == "leading"


def test_trust_decides_before_use_does_among_near_ties() -> None:
    failing, thin = used("failing", 50, 50, LONG_AGO), entry("thin", "provisional", calls=99)
    assert order((thin, 0.80), (failing, 0.79)) == ["failing", "thin"]
    assert order((thin, 0.80), (failing, 0.60)) == ["thin", "failing"], "but never over a clear lead"


def test_a_few_failures_say_little_and_dates_that_cannot_be_read_say_out_of_use() -> None:
    said: list[Any] = [
        usage_penalty(used("tool", *use), TODAY) for use in ((1, 1, TODAY), (5, 5, TODAY), (500, 500, TODAY))
    ]
    assert said == sorted(said)
    assert said[0] < 0.2 < said[2] <= 0.9
    assert (
        usage_penalty(used("tool", 1, 0, YESTERDAY), TODAY)
        < 0.01
        < usage_penalty(used("tool", 1, 0, LONG_AGO), TODAY)
    )
    assert usage_penalty(used("tool", 1, 0, ".nonsense"), TODAY) == 0.1
    assert usage_penalty(used("tool", 1, 0, TODAY), "") == 0.0
