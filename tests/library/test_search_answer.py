"""Search answers from ranked names: the level of trust decides between tools that are nearly as likely."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import search_answer
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.values import Trust
from tests.library.factory import simple


def entry(name: str, trust: Trust, calls: int = 0) -> CatalogueEntry:
    return CatalogueEntry(
        manifest=manifest_of(simple(name, trust=trust), 1),
        state="enabled",
        versions=(1,),
        sandboxes=("wasm",),
        calls=calls,
        created_at="2026-01-01",
    )


ENTRIES = {"thin": entry("thin", "provisional", calls=9), "good": entry("good", "verified")}


@pytest.mark.parametrize(
    ("thin", "good", "order", "fit"),
    [
        (0.80, 0.79, ["good", "thin"], "match"),
        (0.80, 0.73, ["good", "thin"], "match"),
        (0.80, 0.60, ["thin", "good"], "match"),
        (0.74, 0.69, ["good", "thin"], "possible"),
        (0.50, 0.50, ["good", "thin"], "possible"),
        (0.50, 0.90, ["good", "thin"], "match"),
    ],
)
def test_a_provisional_tool_yields_to_a_verified_one_that_is_nearly_as_likely(
    thin: float, good: float, order: list[str], fit: str
) -> None:
    found = dict(sorted({"thin": thin, "good": good}.items(), key=lambda pair: -pair[1]))
    said = search_answer(found, ENTRIES, 5, 2)
    assert [hit.name for hit in said.results] == order
    assert {hit.name: hit.score for hit in said.results} == {"thin": thin, "good": good}
    assert said.fit == fit


def test_a_near_tie_goes_to_the_tool_that_works_and_a_clear_lead_stays() -> None:
    failing = entry("failing", "verified", calls=50).model_copy(update={"failures": 50})
    entries = {"failing": failing, "good": entry("good", "verified", calls=50)}
    for good, first in ((0.79, "good"), (0.60, "failing")):
        assert search_answer({"failing": 0.8, "good": good}, entries, 5, 2).results[0].name == first


def test_where_nothing_fits_others_are_shown_in_their_order() -> None:
    said = search_answer({}, {}, 5, 2, (ENTRIES["good"], ENTRIES["thin"]))
    assert said.fit == "none"
    assert [hit.name for hit in said.results] == ["good", "thin"]


def test_others_fill_up_to_three_and_stand_behind_what_was_found() -> None:
    others = [entry(name, "verified") for name in ("thin", "one", "two", "three")]
    for score in (0.2, 0.5):
        said = search_answer({"thin": score}, ENTRIES, 5, 6, others)
        assert [(hit.name, hit.score) for hit in said.results] == [
            ("thin", score),
            ("one", 0.0),
            ("two", 0.0),
        ]
        assert len(search_answer({"thin": score}, ENTRIES, 1, 6, others).results) == 1


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ((0.97, 0.1, 0.1, 0.1, 0.1), 1),
        ((0.97, 0.49, 0.48, 0.1, 0.0), 2),
        ((0.9, 0.89, 0.45, 0.44, 0.3), 3),
        ((0.7,), 1),
        ((0.69, 0.1, 0.1, 0.1, 0.1), 5),
        ((0.39, 0.1, 0.0, 0.0, 0.0), 5),
        ((0.38, 0.1, 0.1, 0.1, 0.1), 3),
    ],
)
def test_beside_a_match_only_comparable_tools_are_shown(scores: tuple[float, ...], shown: int) -> None:
    entries = {f"tool_{n}": entry(f"tool_{n}", "verified") for n in range(len(scores))}
    said = search_answer(dict(zip(entries, scores, strict=True)), entries, 5, 31, (ENTRIES["good"],))
    assert [hit.score for hit in said.results] == list(scores[:shown])
    assert said.total == 31


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=12))
def test_no_tool_is_lost_and_verified_ones_keep_their_order(hits: list[tuple[float, bool]]) -> None:
    entries = {
        f"tool_{n}": entry(f"tool_{n}", "verified" if good else "provisional")
        for n, (_, good) in enumerate(hits)
    }
    ranked = sorted(((f"tool_{n}", score) for n, (score, _) in enumerate(hits)), key=lambda pair: -pair[1])
    found = dict(ranked)
    said = search_answer(found, entries, 20, len(entries))
    verified = [hit.score for hit in said.results if hit.trust == "verified"]
    assert verified == sorted(verified, reverse=True)
    if said.fit == "possible":
        assert len(said.results) == len(hits)
    if said.fit == "match":
        assert {hit.name for hit in said.results} >= {
            name for name, score in ranked if score >= ranked[0][1] / 2
        }
