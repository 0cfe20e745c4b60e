"""Calibration for an embedder that the package does not know, learnt from the tools' own example requests.

Each request is searched with itself left out of its tool, and again with that tool hidden: then nothing fits.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence

import anyio.to_thread

from alita_mcp.errors import ModelError
from alita_mcp.library.search.calibration import MEANING_FEATURES, Observation, fit, prior
from alita_mcp.library.search.ranking import rank_by_meaning
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.search.vectors.record import VectorRecord
from alita_mcp.library.search.vectors.table import ReadDocuments, VectorTable, cosine, tool_vector, unit
from alita_mcp.library.words.text import Document, without_request
from alita_mcp.models.embedding.interface import Embedder, Vector

REQUESTS_ASKED, OF_ONE_TOOL = 150, 2
FEWEST_REQUESTS = 20
GROWN = 1.5
"""From so many times the requests on, or so much fewer, what was learned is learned again."""
TOOLS_AT_ONCE = 16
WEIGHT_OF_HIDDEN = 0.5
"""More people ask for what there is than for what there is not."""

_log = logging.getLogger(__name__)


def is_outdated(record: VectorRecord, requests: Mapping[str, int]) -> bool:
    """Whether the library is another one than that which the record learned from; `requests` are each tool's."""
    now, then = sum(map(len, _known(requests).values())), record.calibrated_on
    return then < 0 or not then / GROWN <= now <= max(then * GROWN, FEWEST_REQUESTS - 1)


async def calibrate(
    record: VectorRecord,
    requests: Mapping[str, int],
    read: ReadDocuments,
    reader: SearchReader,
    table: VectorTable,
    embedder: Embedder,
) -> VectorRecord:
    """The record with weights for this library under this embedder; with none where too few requests are known.

    Raises:
        LibraryError: the table cannot be read.
        ModelError: the embedder is away.
    """
    known = _known(requests)
    chosen = _chosen(known)
    seen: list[Observation] = []
    names = list(chosen) if sum(map(len, chosen.values())) >= FEWEST_REQUESTS else []
    for at in range(0, len(names), TOOLS_AT_ONCE):
        documents = await anyio.to_thread.run_sync(read, names[at : at + TOOLS_AT_ONCE])
        for name, texts in (await _embedded(documents, embedder)).items():
            for place in chosen[name]:
                if place < len(texts) - 1:
                    seen += await _asked(name, place, documents[name], texts, reader, table)
    return record.model_copy(
        update={
            "calibration": fit(seen, MEANING_FEATURES, prior()) if seen else None,
            "calibrated_on": sum(map(len, known.values())),
        }
    )


def _known(requests: Mapping[str, int]) -> dict[str, range]:
    """The places of requests that leave their tool another one when they are taken away."""
    return {name: range(count) for name, count in requests.items() if count > 1}


def _chosen(known: Mapping[str, range]) -> dict[str, list[int]]:
    """Few requests of each of many tools; more of each where the tools are few."""
    chance = random.Random(0)  # noqa: S311 - a sample, no secret
    names = chance.sample(list(known), min(len(known), REQUESTS_ASKED // OF_ONE_TOOL))
    each = max(OF_ONE_TOOL, REQUESTS_ASKED // max(1, len(names)))
    return {name: chance.sample(known[name], min(len(known[name]), each)) for name in names}


async def _embedded(documents: Mapping[str, Document], embedder: Embedder) -> dict[str, list[Vector]]:
    """The vectors of description and requests; none of a tool whose texts are refused."""
    texts = {name: [document.about, *document.requests] for name, document in documents.items()}
    try:
        found = iter(await embedder.embed([text for each in texts.values() for text in each]))
    except ModelError as failure:
        if len(documents) > 1:
            raise
        _log.info("A tool is left out of the calibration: %s", failure)
        return {}
    return {name: [next(found) for _ in each] for name, each in texts.items()}


async def _asked(
    name: str,
    at: int,
    document: Document,
    vectors: Sequence[Vector],
    reader: SearchReader,
    table: VectorTable,
) -> list[Observation]:
    about, *requests = vectors
    query = unit(requests.pop(at))
    cosines = await table.cosines(query, ())
    cosines[name] = cosine(query, tool_vector(about, requests))
    return await anyio.to_thread.run_sync(_observed, name, at, document, cosines, reader)


def _observed(
    name: str, at: int, document: Document, cosines: Mapping[str, float], reader: SearchReader
) -> list[Observation]:
    seen = []
    with reader.moment() as corpus:
        left = corpus.replaced(name, without_request(document, at))
        words = corpus.distinct(document.requests[at])
        for hidden in (False, True):
            there = {other: value for other, value in cosines.items() if not (hidden and other == name)}
            ranking = rank_by_meaning(words, there, left)
            if ranking.meaning is not None:
                right = ranking.hits[0].name == name
                weight = WEIGHT_OF_HIDDEN if hidden else 1.0
                seen.append(Observation(features=dict(ranking.meaning), right=right, weight=weight))
    return seen
