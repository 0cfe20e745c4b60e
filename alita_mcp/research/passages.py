"""Ranking of document passages for a question, within a token budget.

Parts are ranked by BM25 over stems, with an embedder also by meaning. Repetitions are left out, neighbours merged, and
rows of a table keep their header.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import anyio.to_thread

from alita_mcp.errors import ModelError
from alita_mcp.models.embedding.interface import CheckedEmbedder, Embedder, Vector
from alita_mcp.research.splitting import Part, split, words_in
from alita_mcp.research.values import Document, Passage

CHARACTERS_A_TOKEN = 4
"""The usual estimate for English and code."""
K1, B = 1.2, 0.75
CONTEXT_WEIGHT = 0.4
"""What a word of the title or of a heading counts beside one of the text."""
ALIKE = 0.7
"""Parts with this share of their words in common say the same."""
RANK_CONSTANT = 60
"""Of reciprocal rank fusion; see Cormack, Clarke and Buettcher (2009)."""
MEANT = 64
"""How many of the best by words an embedder is asked about."""
EMBEDDER_S = 20.0
"""How long an embedder may take; then words alone decide."""
MAX_QUESTION = 2_000


async def best_passages(
    question: str, documents: Sequence[Document], tokens: int, embedder: Embedder | None = None
) -> tuple[Passage, ...]:
    """Passages that bear on the question, best first, together within `tokens`.

    An embedder that does not answer is done without.
    """
    asked = question[:MAX_QUESTION]
    parts, scored = await anyio.to_thread.run_sync(_ranked_by_words, asked, documents)
    if embedder is not None and parts:
        scored = await _ranked_by_meaning(asked, parts, scored, CheckedEmbedder(embedder, EMBEDDER_S))
    return await anyio.to_thread.run_sync(_chosen, parts, scored, documents, tokens)


def _ranked_by_words(question: str, documents: Sequence[Document]) -> tuple[list[Part], list[float]]:
    parts = split(documents)
    return parts, scores(question, parts)


async def _ranked_by_meaning(
    question: str, parts: Sequence[Part], scored: list[float], embedder: CheckedEmbedder
) -> list[float]:
    numbers = _telling(scored)
    try:
        vectors = await embedder.embed([question, *(parts[number].shown for number in numbers)])
    except ModelError:
        return scored
    likeness = [_cosine(vectors[0], vector) for vector in vectors[1:]]
    return _fused(scored, [*zip(numbers, likeness, strict=True)])


def scores(question: str, parts: Sequence[Part]) -> list[float]:
    """BM25 of each part for a question; stems of title and headings count a little."""
    asked = frozenset(words_in(question))
    holding = Counter(word for part in parts for word in asked & (part.words.keys() | part.context_words))
    length = sum(part.words.total() for part in parts) / max(1, len(parts)) or 1.0
    found = []
    for part in parts:
        norm = K1 * (1 - B + B * part.words.total() / length)
        score = 0.0
        for word in asked & (part.words.keys() | part.context_words):
            telling = math.log(1 + (len(parts) - holding[word] + 0.5) / (holding[word] + 0.5))
            count = part.words[word] + (CONTEXT_WEIGHT if word in part.context_words else 0.0)
            score += telling * count * (K1 + 1) / (count + norm)
        found.append(score)
    return found


def _fused(by_words: Sequence[float], meant: Sequence[tuple[int, float]]) -> list[float]:
    """Scores by words and likeness in meaning of some parts as one: reciprocal ranks, brought to the words' scale."""
    orders = [_order([*enumerate(by_words)]), _order(meant)]
    total = [0.0] * len(by_words)
    for order in orders:
        for rank, number in enumerate(order):
            total[number] += 1 / (RANK_CONSTANT + rank + 1)
    scale = (max(by_words, default=0.0) or 1.0) / (max(total, default=0.0) or 1.0)
    return [value * scale for value in total]


def _order(scored: Sequence[tuple[int, float]]) -> list[int]:
    """Numbers of what scores anything, best first."""
    return [number for number, score in sorted(scored, key=lambda each: (-each[1], each[0])) if score > 0]


def _cosine(one: Vector, other: Vector) -> float:
    """How alike two vectors point; 0 where one has no direction."""
    lengths = math.sqrt(sum(x * x for x in one)) * math.sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _telling(by_words: Sequence[float]) -> list[int]:
    """Which parts an embedder is asked about: the best by words, filled up in the order of the documents."""
    best = _order([*enumerate(by_words)])[:MEANT]
    rest = (number for number in range(len(by_words)) if number not in frozenset(best))
    return [*best, *(number for number, _ in zip(rest, range(MEANT - len(best)), strict=False))]


def _chosen(
    parts: Sequence[Part], scored: Sequence[float], documents: Sequence[Document], tokens: int
) -> tuple[Passage, ...]:
    """The best passages within a budget of tokens; where nothing scores, how each document begins."""
    order = _order([*enumerate(scored)]) or _beginnings(parts)
    left = tokens * CHARACTERS_A_TOKEN
    taken: list[int] = []
    if order and len((best := parts[order[0]]).shown) > left:
        return (_passage(best.shown[:left], documents[best.document], scored[order[0]]),)
    for number in order:
        cost = len(parts[number].shown) + 2
        if cost > left or any(_says_the_same(parts[number], parts[other]) for other in taken):
            continue
        taken.append(number)
        left -= cost
    return tuple(_merged(parts, scored, documents, taken))


def _beginnings(parts: Sequence[Part]) -> list[int]:
    """First parts of all documents, then second ones."""
    return sorted(range(len(parts)), key=lambda number: (parts[number].place, parts[number].document))


def _says_the_same(one: Part, other: Part) -> bool:
    shared, every = len(one.words.keys() & other.words.keys()), len(one.words.keys() | other.words.keys())
    neighbours = one.document == other.document and abs(one.place - other.place) == 1
    return shared >= ALIKE * max(1, every) and not neighbours


def _merged(
    parts: Sequence[Part], scored: Sequence[float], documents: Sequence[Document], taken: Sequence[int]
) -> list[Passage]:
    """Taken parts as passages, best first; neighbours are one passage, in the document's order."""
    runs: list[list[int]] = []
    for number in sorted(taken):
        last = parts[runs[-1][-1]] if runs else None
        here = parts[number]
        if last is not None and (last.document, last.place + 1) == (here.document, here.place):
            runs[-1].append(number)
        else:
            runs.append([number])
    passages = []
    for run in runs:
        text, score = _text([parts[number] for number in run]), max(scored[number] for number in run)
        passages.append(_passage(text, documents[parts[run[0]].document], score))
    return sorted(passages, key=lambda passage: -passage.score)


def _passage(text: str, document: Document, score: float) -> Passage:
    origin = document.model_dump(include={"url", "title", "retrieved_at"})
    return Passage(text=text, score=round(score, 4), **origin)


def _text(run: Sequence[Part]) -> str:
    """Neighbouring parts as one text; a table's header is said once."""
    said, header = "", ""
    for part in run:
        follows = bool(part.header) and part.header == header
        text = part.text if follows else part.shown
        said = f"{said}{chr(10) if follows else chr(10) * 2}{text}" if said else text
        header = part.header
    return said
