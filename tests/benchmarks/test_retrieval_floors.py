"""Slices of the retrieval sets against floors: a worse ranking or a wrong certainty goes red in seconds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import anyio
import pytest

from benchmarks.retrieval import add_arguments, asking, run
from tests.benchmarks import stuffing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.extra("search"),
    pytest.mark.no_cover,
    pytest.mark.xdist_group("floors"),  # all judge the same two runs
]

SLICES = Path(__file__).parent / "retrieval_slices"
WORDS, TABLE = ("--embedder", "none"), ("--embedder", "model2vec/static-minilm-128")


def measured(*words: object) -> Any:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args([str(word) for word in words]))


@pytest.fixture(scope="module")
def by_words() -> Any:
    return measured("--sets", SLICES, *WORDS)


@pytest.fixture(scope="module")
def by_meaning() -> Any:
    return measured("--sets", SLICES, *TABLE)


FLOORS = {
    ("by_words", "alita"): {"R@1": 0.58, "R@5": 0.78, "MRR": 0.66, "AUROC": 0.86},
    ("by_words", "toole"): {"R@1": 0.55, "R@5": 0.72, "MRR": 0.63, "AUROC": 0.84},
    ("by_meaning", "alita"): {"R@1": 0.82, "R@5": 0.95, "MRR": 0.87, "AUROC": 0.76},
    ("by_meaning", "toole"): {"R@1": 0.66, "R@5": 0.80, "MRR": 0.72, "AUROC": 0.85},
}


@pytest.mark.parametrize(("how", "of"), FLOORS)
def test_search_finds_and_knows_as_much_as_before(how: str, of: str, request: pytest.FixtureRequest) -> None:
    figures, floors = request.getfixturevalue(how)["sets"][of], FLOORS[how, of]
    assert {name: value for name, value in floors.items() if figures[name] < value} == {}, figures


def test_meaning_finds_more_than_words(by_words: Any, by_meaning: Any) -> None:
    assert by_meaning["mean"]["R@1"] > by_words["mean"]["R@1"] + 0.08
    assert by_meaning["mean"]["R@5"] > by_words["mean"]["R@5"] + 0.08


def test_needs_that_nothing_fits_are_refused_while_the_others_are_kept(
    by_words: Any, by_meaning: Any
) -> None:
    for figures in (by_words["sets"]["alita"], by_meaning["sets"]["alita"]):
        assert figures["refused_far"] >= 0.9
        assert figures["kept"] >= 0.5
    for figures in (by_words["sets"]["toole"], by_meaning["sets"]["toole"]):
        assert figures["refused_chat"] >= 0.85
        assert figures["kept"] >= 0.45


def test_what_is_promised_is_about_what_is_right(by_words: Any, by_meaning: Any) -> None:
    """Of so few queries the error is about .06 even for a perfect promise; and rather too little is promised."""
    for each in (by_words, by_meaning):
        for figures in each["sets"].values():
            assert figures["ECE"] <= 0.21
            assert figures["match_right"] >= 0.8


def test_example_requests_find_more(by_words: Any) -> None:
    pool = SLICES / "toole" / "pool.jsonl"
    more = measured("--sets", SLICES, "--examples", pool, "--per-tool", 2, *WORDS)
    assert more["sets"]["toole"]["R@1"] >= by_words["sets"]["toole"]["R@1"] + 0.04
    assert more["sets"]["toole"]["R@5"] >= by_words["sets"]["toole"]["R@5"] + 0.05
    assert more["sets"]["alita"]["R@1"] == by_words["sets"]["alita"]["R@1"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("needs", ["alita", "toole"])
def test_tools_stuffed_with_requests_of_other_trades_are_hardly_first_and_never_a_match(needs: str) -> None:
    """Those of the one set are served by honest tools, those of the other by none."""
    asked = SLICES / needs
    outside = asked / "ooc_dev.jsonl" if needs == "alita" else None
    catalogue = SLICES / "alita" / "catalogue.jsonl"
    found = anyio.run(stuffing.measure, asking.read_set(catalogue, asked / "dev.jsonl", outside, None, 5))
    most = {kind: 12 if kind == "description of 20" else 4 for kind in found}
    assert {kind: won for kind, won in found.items() if won["match"] or won["possible"] > most[kind]} == {}
    assert sum(won["possible"] for won in found.values()) <= 3 * len(found)


@pytest.mark.parametrize("embedder", [WORDS, TABLE])
def test_the_twin_of_a_tool_about_to_be_made_is_among_the_first_five(embedder: tuple[str, ...]) -> None:
    alita = SLICES / "alita"
    result = measured(
        "--catalogue", alita / "catalogue.jsonl", "--duplicates", alita / "dup_dev.jsonl", *embedder
    )
    figures = result["sets"]["alita"]
    assert figures["twins"] + figures["look-alikes"] == 37
    assert figures["R@5"] >= 0.97
    assert figures["R@1"] >= 0.75
