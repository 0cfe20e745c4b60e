"""Searches for sets of needs, with their truth and features."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.library.search.answer import band
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.ranking import Ranking
from alita_mcp.library.words.documents import Document
from alita_mcp.models.embedding.interface import Embedder
from benchmarks.retrieval import figures, needs, search_under_test

NAMES_KEPT = 20
ATTEMPTS, PAUSE_S = 20, 5.0
"""How often and how long after a search is asked again that went by words although there is an embedder."""


@dataclass(frozen=True)
class Set:
    """One catalogue with its needs."""

    name: str
    documents: Mapping[str, Document]
    queries: Sequence[needs.Need]
    outside: Sequence[needs.Need] = ()


@dataclass(frozen=True)
class AskedSet:
    """Results of the search for the needs of a set."""

    name: str
    answered: Sequence[figures.Answered]
    outside: Sequence[figures.Answered]
    rankings: Sequence[Ranking]
    """As in `answered` and then `outside`: what the certainty rests on."""
    milliseconds: Sequence[float]


def read_set(
    catalogue: Path, queries: Path, outside: Path | None, examples: Path | None, per_tool: int
) -> Set:
    """One set from its files; UsageError where one does not fit."""
    tools = needs.read_tools(catalogue)
    requests = needs.requests_for(needs.read_needs(examples), per_tool) if examples else {}
    if examples and requests.keys().isdisjoint(tool.name for tool in tools):
        raise UsageError(f"{examples} holds no request for a tool of {catalogue}.")
    inside = needs.read_needs(queries)
    beside = needs.read_needs(outside) if outside else []
    both = {need.id for need in inside} & {need.id for need in beside}
    if both:
        raise UsageError(f"The id {min(both)!r} stands in {queries} and in {outside}.")
    documents = needs.documents_of(tools, requests)
    return Set(catalogue.resolve().parent.name, documents, inside, beside)


def read_pairs(catalogue: Path, pairs: Path) -> Set:
    """Tools that somebody may be about to make, asked of a catalogue: twins of its tools, and look-alikes beside."""
    tools, asked = needs.read_tools(catalogue), needs.read_pairs(pairs)
    twins = [need for need in asked if need.kind == needs.TWIN]
    others = [need for need in asked if need.kind != needs.TWIN]
    return Set(catalogue.resolve().parent.name, needs.documents_of(tools, {}), twins, others)


def sets_in(folder: Path, examples: Path | None, per_tool: int) -> list[Set]:
    """All sets of a folder: in each subfolder catalogue.jsonl, dev.jsonl and perhaps ooc_dev.jsonl.

    The examples go to the set in whose folder they stand.
    """
    found = []
    for catalogue in sorted(folder.glob("*/catalogue.jsonl")):
        home = catalogue.parent
        outside = home / "ooc_dev.jsonl"
        own = examples if examples and examples.resolve().parent == home.resolve() else None
        found.append(
            read_set(catalogue, home / "dev.jsonl", outside if outside.is_file() else None, own, per_tool)
        )
    if not found:
        raise UsageError(
            f"{folder} holds no set.", hint="A set is a folder with catalogue.jsonl and dev.jsonl."
        )
    if examples and examples.resolve().parent not in [home.resolve() for home in folder.iterdir()]:
        raise UsageError(f"{examples} stands in no set of {folder}.")
    return found


async def ask_all(sets: Sequence[Set], embedder: Embedder | None) -> list[AskedSet]:
    """Each set in an index of its own."""
    asked = []
    for each in sets:
        async with search_under_test.opened(each.documents, embedder) as finder:
            asked.append(await ask_finder(each, finder, by_meaning=embedder is not None))
    return asked


async def ask_finder(each: Set, finder: Finder, *, by_meaning: bool, pause_s: float = PAUSE_S) -> AskedSet:
    """All needs of a set, one after the other.

    Raises:
        ModelError: the search goes by words however often it is asked.
    """
    answers, rankings, times = [], [], []
    for need in (*each.queries, *each.outside):
        ranking, took = await _look(need.query, finder, pause_s if by_meaning else None)
        times.append(took)
        rankings.append(ranking)
        answers.append(_answered(need, ranking))
    count = len(each.queries)
    return AskedSet(each.name, answers[:count], answers[count:], rankings, times)


async def _look(query: str, finder: Finder, pause_s: float | None) -> tuple[Ranking, float]:
    """A search and its milliseconds; after a pause again where it gave way to words, if one is given."""
    for _ in range(ATTEMPTS):
        started = time.perf_counter()
        ranking = await finder.search(query)
        took = (time.perf_counter() - started) * 1_000
        if pause_s is None or ranking.by_meaning or not any(map(str.isalnum, query)):
            return ranking, took
        await anyio.sleep(pause_s)
    raise ModelError("The embedder keeps the search waiting.", hint="Measure again when it answers in time.")


def _answered(need: needs.Need, ranking: Ranking) -> figures.Answered:
    hits = ranking.hits[:NAMES_KEPT]
    top = hits[0].probability if hits else 0.0
    return figures.Answered(
        id=need.id,
        names=tuple(hit.name for hit in hits),
        scores=tuple(round(hit.score, 6) for hit in hits),
        probability=round(top, 6),
        band=band(top),
        tools=need.tools,
        kind=need.kind,
    )


def summary(asked: Sequence[AskedSet]) -> dict[str, Any]:
    """The figures of each set, and their means over the sets that have them."""
    sets = {each.name: _figures(each) for each in asked}
    names = list(dict.fromkeys(name for one in sets.values() for name in one if name != "queries"))
    mean = {}
    for name in names:
        values = [one[name] for one in sets.values() if name in one]
        mean[name] = sum(values) / len(values)
    return {"sets": sets, "mean": mean}


def pairs_summary(asked: AskedSet) -> dict[str, Any]:
    """Ranks of the twins, and the separation of twins from look-alikes by certainty."""
    of_twins = figures.figures(asked.answered, asked.outside)
    shown = {"twins": len(asked.answered), "look-alikes": len(asked.outside)}
    shown |= {name: of_twins[name] for name in ("R@1", "R@5", "MRR", "AUROC")}  # type: ignore[misc]
    return {"sets": {asked.name: shown}, "mean": {}}


def _figures(each: AskedSet) -> dict[str, float | int]:
    return {**figures.figures(each.answered, each.outside), **figures.percentiles(each.milliseconds)}
