"""Passages of documents that bear on a question, best first, within a token budget.

Documents are split at headings, paragraphs, rows of tables and blocks of code. Parts are ranked by BM25 over stems, and
with an embedder by meaning too. Repetitions are left out, neighbours joined, and rows of a table keep their header.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import anyio.to_thread

from alita_mcp.errors import ModelError
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import split_words
from alita_mcp.models.embedding.interface import CheckedEmbedder, Embedder, Vector
from alita_mcp.research.values import Document, Passage

CHARACTERS_A_TOKEN = 4
"""The usual estimate for English and code."""
PART_CHARACTERS = 700
"""How long a part may become by joining small blocks, and what longer blocks are cut into."""
MAX_CHARACTERS = 400_000
"""Of one document; what stands behind it is not ranked."""
MAX_PARTS = 3_000
"""Of all documents together."""
MAX_QUESTION, MAX_ROW = 2_000, 3_000
K1, B = 1.2, 0.75
CONTEXT_WEIGHT = 0.4
"""What a word of the title or of a heading counts beside one of the text."""
WORDS_WEIGHT = 0.02
"""What BM25 counts beside a cosine."""
EMBEDDED_PARTS = 64
"""How many of the best parts by words are embedded."""
EMBEDDER_S = 20.0
"""How long an embedder may take; then words alone decide."""
ALIKE = 0.7
"""Parts with this share of their words in common say the same."""
_HEADING = re.compile(r"#{1,6}\s+\S")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_TABLE_RULE = re.compile(r"[|: \t]*-[-|: \t]*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Thai, Lao, Khmer, Japanese and Chinese."""
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")


@dataclass(frozen=True)
class Part:
    """A part of a document that is ranked as one."""

    text: str
    context: str = ""
    """The document's title and the headings above it."""
    header: str = ""
    """Of the table whose rows these are; it is shown once before them."""
    document: int = 0
    place: int = 0
    """Its number in the document."""

    @property
    def shown(self) -> str:
        """The text with its header."""
        return f"{self.header}\n{self.text}" if self.header else self.text

    @cached_property
    def words(self) -> Counter[str]:
        """How often each stem occurs."""
        return Counter(words_in(self.shown))

    @cached_property
    def context_words(self) -> frozenset[str]:
        """Stems of the title and the headings."""
        return frozenset(words_in(self.context))


async def best_passages(
    question: str, documents: Sequence[Document], tokens: int, embedder: Embedder | None = None
) -> tuple[Passage, ...]:
    """Passages that bear on the question, best first, together within `tokens`.

    Where an embedder fails, words alone decide.
    """
    question = question[:MAX_QUESTION]

    def rank() -> tuple[list[Part], list[float]]:
        parts = split(documents)
        return parts, word_scores(question, parts)

    parts, scores = await anyio.to_thread.run_sync(rank)
    if embedder is not None and parts:
        best = sorted(range(len(parts)), key=lambda number: -scores[number])[:EMBEDDED_PARTS]
        texts = [question, *(parts[number].shown for number in best)]
        try:
            vectors = await CheckedEmbedder(embedder, EMBEDDER_S).embed(texts)
        except ModelError:
            vectors = []
        for number, vector in zip(best, vectors[1:], strict=False):
            scores[number] = WORDS_WEIGHT * scores[number] + _cosine(vectors[0], vector)
        if vectors:
            embedded = frozenset(best)
            scores = [
                score if number in embedded else WORDS_WEIGHT * score for number, score in enumerate(scores)
            ]
    return await anyio.to_thread.run_sync(_choose, parts, scores, documents, tokens)


def word_scores(question: str, parts: Sequence[Part]) -> list[float]:
    """BM25 of each part for a question; stems of title and headings count a little."""
    question_words = frozenset(words_in(question))
    holding = Counter(
        word for part in parts for word in question_words & (part.words.keys() | part.context_words)
    )
    length = sum(part.words.total() for part in parts) / max(1, len(parts)) or 1.0
    scores = []
    for part in parts:
        norm = K1 * (1 - B + B * part.words.total() / length)
        score = 0.0
        for word in question_words & (part.words.keys() | part.context_words):
            rarity = math.log(1 + (len(parts) - holding[word] + 0.5) / (holding[word] + 0.5))
            count = part.words[word] + (CONTEXT_WEIGHT if word in part.context_words else 0.0)
            score += rarity * count * (K1 + 1) / (count + norm)
        scores.append(score)
    return scores


def words_in(text: str) -> list[str]:
    """The stems of a text and of its identifiers; pairs of characters in scripts without spaces."""
    runs = _UNSPACED.findall(text)
    pairs = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    return [*stems(split_words(_UNSPACED.sub(" ", text) if runs else text)), *pairs]


def _cosine(one: Vector, other: Vector) -> float:
    """How alike two vectors point; 0 where one has no direction."""
    lengths = math.sqrt(sum(x * x for x in one)) * math.sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _choose(
    parts: Sequence[Part], scores: Sequence[float], documents: Sequence[Document], tokens: int
) -> tuple[Passage, ...]:
    """The best passages within a budget of tokens; where nothing scores, how each document begins."""
    order = [number for number in range(len(parts)) if scores[number] > 0]
    order.sort(key=lambda number: -scores[number])
    order = order or sorted(
        range(len(parts)), key=lambda number: (parts[number].place, parts[number].document)
    )
    left = tokens * CHARACTERS_A_TOKEN
    chosen: list[int] = []
    for number in order:
        part = parts[number]
        cost = len(part.shown) + 2
        if not chosen and cost > left:
            return (_passage(part.shown[:left], documents[part.document], scores[number]),)
        if cost <= left and not any(_says_the_same(part, parts[other]) for other in chosen):
            chosen.append(number)
            left -= cost
    # Neighbours become one passage, in the document's order; a table's header is shown once.
    passages: list[Passage] = []
    last: Part | None = None
    for number in sorted(chosen):
        part, score = parts[number], round(scores[number], 4)
        if last is not None and (last.document, last.place + 1) == (part.document, part.place):
            follows = bool(part.header) and part.header == last.header
            text = f"{passages[-1].text}\n{part.text}" if follows else f"{passages[-1].text}\n\n{part.shown}"
            joined = {"text": text, "score": max(passages[-1].score, score)}
            passages[-1] = passages[-1].model_copy(update=joined)
        else:
            passages.append(_passage(part.shown, documents[part.document], score))
        last = part
    return tuple(sorted(passages, key=lambda passage: -passage.score))


def _says_the_same(one: Part, other: Part) -> bool:
    shared, every = len(one.words.keys() & other.words.keys()), len(one.words.keys() | other.words.keys())
    are_neighbours = one.document == other.document and abs(one.place - other.place) == 1
    return shared >= ALIKE * max(1, every) and not are_neighbours


def _passage(text: str, document: Document, score: float) -> Passage:
    origin = document.model_dump(include={"url", "title", "retrieved_at"})
    return Passage(text=text, score=round(score, 4), **origin)


def split(documents: Sequence[Document]) -> list[Part]:
    """The parts of all documents, in order; each document gets its share of `MAX_PARTS`."""
    share = max(1, MAX_PARTS // max(1, len(documents)))
    return [
        replace(part, document=number, place=place)
        for number, document in enumerate(documents)
        for place, part in enumerate(islice(_split_document(document), share))
    ]


def _split_document(document: Document) -> Iterator[Part]:
    """Blocks of one document, small ones of a section joined."""
    headings: list[str] = []
    joined: list[str] = []

    def flush() -> Iterator[Part]:
        if joined:
            yield Part("\n\n".join(joined), " ".join((document.title, *headings)))
            joined.clear()

    for block in _blocks(document.text[:MAX_CHARACTERS]):
        if _HEADING.match(block):
            yield from flush()
            depth = len(block) - len(block.lstrip("#"))
            headings[depth - 1 :] = [block.lstrip("# ")[:200]]
            joined.append(block[:PART_CHARACTERS])
        elif block.startswith("|"):
            yield from flush()
            yield from _rows(block, " ".join((document.title, *headings)))
        else:
            for piece in _pieces(block):
                if joined and sum(map(len, joined)) + len(piece) > PART_CHARACTERS:
                    yield from flush()
                joined.append(piece)
    yield from flush()


def _blocks(text: str) -> Iterator[str]:
    """Headings, tables, code between fences, and paragraphs."""
    block: list[str] = []
    kind = ""
    for line in [*text.splitlines(), ""]:
        if kind == "code":
            block.append(line)
            if _FENCE.match(line):
                yield "\n".join(block)
                block, kind = [], ""
            continue
        if _FENCE.match(line):
            here = "code"
        elif line.startswith("|"):
            here = "table"
        else:
            here = "heading" if _HEADING.match(line) else "paragraph" if line.strip() else ""
        if block and (here != kind or here == "heading"):
            yield "\n".join(block)
            block = []
        if here:
            block.append(line)
        kind = here
    if any(line.strip() for line in block):  # a fence that nobody closed
        yield "\n".join(block).strip("\n")


def _rows(table: str, context: str) -> Iterator[Part]:
    """A table in groups of rows, each with the table's header."""
    lines = table.splitlines()
    header_lines = 2 if len(lines) > 1 and _TABLE_RULE.fullmatch(lines[1]) else 1
    header = "\n".join(lines[:header_lines])
    if len(header) > PART_CHARACTERS:
        header, header_lines = "", 0
    rows = lines[header_lines:]
    if not rows:
        yield Part(header, context)
        return
    group: list[str] = []
    for row in rows:
        if group and sum(map(len, group)) + len(row) > PART_CHARACTERS // 2:
            yield Part("\n".join(group), context, header)
            group = []
        group.append(row[:MAX_ROW])
    yield Part("\n".join(group), context, header)


def _pieces(block: str) -> Iterator[str]:
    """A block in pieces of at most `PART_CHARACTERS`: at ends of lines and sentences, else anywhere."""
    if len(block) <= PART_CHARACTERS:
        yield block
        return
    end = "\n" if "\n" in block else " "
    piece = ""
    for line in block.splitlines():
        for sentence in _SENTENCE_END.split(line):
            if piece and len(piece) + len(sentence) > PART_CHARACTERS:
                yield piece
                piece = ""
            whole = (
                len(sentence) // PART_CHARACTERS * PART_CHARACTERS if len(sentence) > PART_CHARACTERS else 0
            )
            for at in range(0, whole, PART_CHARACTERS):
                yield sentence[at : at + PART_CHARACTERS]
            piece = f"{piece}{end}{sentence[whole:]}" if piece else sentence[whole:]
    if piece.strip():
        yield piece
