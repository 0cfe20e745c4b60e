"""An embedder that the package does not know learns from the example requests how sure a search is, once for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from alita_mcp.errors import ModelError
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.vectors.record import VectorRecord, read_record
from alita_mcp.library.search.vectors.self_calibration import is_outdated
from alita_mcp.library.search.vectors.table import unit
from alita_mcp.library.words.text import Document, compose
from alita_mcp.models.embedding.interface import Vector
from alita_mcp.models.embedding.scripted import ScriptedEmbedder
from tests.library.searching import opened, until_by_meaning

pytestmark = pytest.mark.extra("search")

VERBS = {
    "convert": ["turn", "transform", "change"],
    "count": ["tally", "number", "enumerate"],
    "draw": ["sketch", "paint", "plot"],
    "sort": ["order", "arrange", "rank"],
    "fetch": ["download", "retrieve", "get"],
    "check": ["verify", "validate", "test"],
}
NOUNS = {
    "images": ["pictures", "photos"],
    "words": ["terms", "vocabulary"],
    "dates": ["days", "calendar"],
    "prices": ["costs", "fares"],
    "cities": ["towns", "places"],
    "songs": ["tunes", "music"],
    "recipes": ["dishes", "meals"],
    "plants": ["flowers", "trees"],
}
MEANS = {other: verb for verb, others in (VERBS | NOUNS).items() for other in others}
FOREIGN = [
    "translate poetry into latin", "book a hotel in rome", "charge my electric scooter", "settle a legal dispute",
    "diagnose engine trouble", "compose an apology letter", "negotiate salary", "train a puppy", "fold origami cranes",
    "predict lottery results", "repair a leaking roof", "mix cement", "knit a scarf", "launch rockets into orbit",
    "brew strong coffee", "teach chess openings", "assemble furniture", "balance chemical equations",
    "walk across a desert", "forecast tomorrow's humidity",
]  # fmt: skip


class Narrow(ScriptedEmbedder):
    """All its cosines lie between 0.7 and 1, as those of some large models do."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors = await super().embed(texts)
        return [[math.sqrt(0.7), *(math.sqrt(0.3) * value for value in unit(vector))] for vector in vectors]


def library(verbs: Sequence[str] = tuple(VERBS)) -> dict[str, Document]:
    return {
        f"{verb}_{noun}": compose(
            f"{verb}_{noun}",
            f"{verb.title()} {noun} for somebody.",
            requests=[
                f"please {VERBS[verb][0]} these {NOUNS[noun][0]}",
                f"{verb} my {NOUNS[noun][1]}",
                f"i want to {VERBS[verb][1]} some {noun}",
            ],
        )
        for verb in verbs
        for noun in NOUNS
    }


NEEDS = {f"{verb}_{noun}": f"{VERBS[verb][2]} all the {NOUNS[noun][0]}" for verb in VERBS for noun in NOUNS}


def narrow() -> Narrow:
    return Narrow("narrow", 200, synonyms=MEANS)


async def ready(finder: Finder) -> None:
    await until_by_meaning(finder, "hello")
    await finder.vectors_ready()


async def test_needs_are_kept_and_refused_where_all_cosines_are_high(home: Path) -> None:
    async with opened(home, narrow(), library()) as finder:
        await ready(finder)
        found = {name: await finder.search(need) for name, need in NEEDS.items()}
        right = [ranking for name, ranking in found.items() if ranking.hits[0].name == name]
        assert len(right) >= 0.8 * len(NEEDS)
        kept = sum(ranking.hits[0].probability >= 0.3 for ranking in right) / len(right)
        strangers = [await finder.search(need) for need in FOREIGN]
        refused = sum(not each.hits or each.hits[0].probability < 0.3 for each in strangers) / len(FOREIGN)
        assert min(each.meaning["cos"] for each in strangers if each.meaning) > 0.7
    assert kept >= 0.7
    assert refused >= 0.8
    table = next((home / "vectors.lance").glob("*.json")).stem
    record = read_record(home / "vectors.lance", table)
    assert record is not None
    assert record.calibration is not None


async def test_what_was_learned_is_kept_and_learned_again_when_the_library_has_grown(home: Path) -> None:
    few, all_of_them = library(("convert", "count")), library()
    for documents, learns in ((few, True), (few, False), (all_of_them, True), (all_of_them, False)):
        embedder = narrow()
        async with opened(home, embedder, documents) as finder:
            await ready(finder)
            known = await finder.search("turn photos")
            assert known.meaning is not None
        asked = [text for text in embedder.asked if text.startswith("please")]
        new_tools = len(documents) if documents is few else len(all_of_them) - len(few)
        embedded_first = learns and new_tools
        assert (len(asked) > embedded_first) == learns, len(asked)


async def test_with_too_few_requests_the_words_say_how_sure_a_search_is(home: Path) -> None:
    documents = dict(list(library().items())[:3])
    embedder = narrow()
    async with opened(home, embedder, documents) as finder:
        await ready(finder)
        certain = (await finder.search("please turn these pictures")).hits[0]
        assert 0 < certain.probability < 1
        assert (await finder.search("negotiate salary")).hits[0].probability < certain.probability
    assert sum(text.startswith("please") for text in embedder.asked) == len(documents) + 1


async def test_an_embedder_that_fails_while_it_is_calibrated_leaves_search_by_meaning(home: Path) -> None:
    documents = library()
    state = {"described": 0}

    async def dies_after_the_vectors(texts: Sequence[str]) -> None:
        state["described"] += sum(": " in text for text in texts)
        if state["described"] > len(documents) and any(": " in text for text in texts):
            raise ModelError("gone")

    embedder = Narrow("narrow", 200, synonyms=MEANS, before=dies_after_the_vectors)
    async with opened(home, embedder, documents) as finder:
        await ready(finder)
        while (ranking := await finder.search("turn pictures")).meaning is None:
            await finder.vectors_ready()
        assert ranking.hits[0].name == "convert_images"


@pytest.mark.parametrize(
    ("then", "now", "expected"),
    [
        (-1, 0, True),
        (0, 0, False),
        (0, 9, False),
        (9, 40, True),
        (100, 140, False),
        (100, 160, True),
        (100, 30, True),
    ],
)
def test_a_library_that_has_changed_noticeably_is_learned_from_again(
    then: int, now: int, expected: bool
) -> None:
    requests = {f"tool_{at}": 2 for at in range(0, now - now % 2, 2)} | {"with_one": 1}
    assert is_outdated(VectorRecord(embedder="x", calibrated_on=then), requests) == expected
