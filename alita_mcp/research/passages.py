"""Passages of documents that are relevant to a question, best first, within a token budget.

Documents are split at headings, paragraphs, rows of tables and blocks of code. Parts are ranked by BM25.
Repetitions are left out, neighbours joined, and rows of a table keep their header.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

import anyio.to_thread

from alita_mcp.library.words.text import split_words
from alita_mcp.research.values import Document, Passage

CHARACTERS_A_TOKEN = 4
"""The usual estimate for English and code."""
PART_CHARACTERS = 700
"""How long a part may become by joining small blocks, and what longer blocks are cut into."""
MAX_CHARACTERS = 400_000
"""Of one document; the rest is not ranked."""
MAX_PARTS = 3_000
"""Of all documents together."""
MAX_QUESTION, MAX_ROW = 2_000, 3_000
CONTEXT_WEIGHT = 0.4
"""Weight of a word in the title or a heading, beside 1 for one in the text."""
_BLOCK = re.compile(
    r"""(?P<code>^[ ]{0,3}(?:```|~~~).*(?:\n(?s:.*?)(?:^[ ]{0,3}(?:```|~~~).*$|\Z)|\Z))
    | (?P<heading>^\#{1,6}[ \t]+\S.*$)
    | (?P<table>(?:^\|.*\n?)+)
    | (?P<paragraph>(?:^(?![ ]{0,3}(?:```|~~~)|\#{1,6}[ \t]+\S|\|).*\S.*\n?)+)""",
    re.MULTILINE | re.VERBOSE,
)
_TABLE_RULE = re.compile(r"[|: \t]*-[-|: \t]*")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Thai, Lao, Khmer, Japanese and Chinese."""
_PIECE = re.compile(
    rf".{{1,{PART_CHARACTERS}}}(?:\Z|(?<=[.!?\u3002\uff01\uff1f])\s+|\n)|.{{1,{PART_CHARACTERS}}}", re.DOTALL
)
"""A block is cut at ends of sentences and lines, else anywhere."""


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
    def full_text(self) -> str:
        """The text with its header."""
        return f"{self.header}\n{self.text}" if self.header else self.text


async def best_passages(question: str, documents: Sequence[Document], tokens: int) -> tuple[Passage, ...]:
    """Passages that are relevant to the question, best first, together within `tokens`."""

    def rank() -> tuple[Passage, ...]:
        parts = split_documents(documents)
        return _choose_passages(parts, word_scores(question[:MAX_QUESTION], parts), documents, tokens)

    return await anyio.to_thread.run_sync(rank)


def word_scores(question: str, parts: Sequence[Part]) -> list[float]:
    """BM25 of each part for a question, over stems; words of the title and the headings count a little."""
    scores = [0.0] * len(parts)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE part USING fts5(text, context, tokenize='porter')")
        rows = ((" ".join(words_in(part.full_text)), " ".join(words_in(part.context))) for part in parts)
        database.executemany("INSERT INTO part VALUES (?, ?)", rows)
        if words := dict.fromkeys(words_in(question)):
            query = " OR ".join(f'"{word}"' for word in words)
            found = "SELECT rowid, -bm25(part, 1.0, ?) FROM part WHERE part MATCH ?"
            for row, score in database.execute(found, (CONTEXT_WEIGHT, query)):
                scores[row - 1] = score
    return scores


def words_in(text: str) -> list[str]:
    """The words of a text in lower case; pairs of characters in scripts without spaces."""
    text = split_words(text.encode("utf-8", "replace").decode()).lower()
    runs = _UNSPACED.findall(text)
    pairs = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    return [*_WORD.findall(_UNSPACED.sub(" ", text) if runs else text), *pairs]


def _choose_passages(
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
        cost = len(part.full_text) + 2
        if not chosen and cost > left:
            return (_passage(part.full_text[:left], documents[part.document], scores[number]),)
        if cost <= left and all(part.full_text != parts[other].full_text for other in chosen):
            chosen.append(number)
            left -= cost
    # Neighbours become one passage, in the document's order; a table's header is shown once.
    passages: list[Passage] = []
    last: Part | None = None
    for number in sorted(chosen):
        part = parts[number]
        passage = _passage(part.full_text, documents[part.document], scores[number])
        if last is not None and (last.document, last.place + 1) == (part.document, part.place):
            before = passages.pop()
            is_same_table = bool(part.header) and part.header == last.header
            text = f"{before.text}\n{part.text}" if is_same_table else f"{before.text}\n\n{part.full_text}"
            passage = before.model_copy(update={"text": text, "score": max(before.score, passage.score)})
        passages.append(passage)
        last = part
    return tuple(sorted(passages, key=lambda passage: -passage.score))


def _passage(text: str, document: Document, score: float) -> Passage:
    origin = document.model_dump(include={"url", "title", "retrieved_at"})
    return Passage(text=text, score=round(score, 4), **origin)


def split_documents(documents: Sequence[Document]) -> list[Part]:
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

    # Four kinds of blocks: a heading begins a section; a table is split at its rows; code and paragraphs are joined
    # while they are short.
    for match in _BLOCK.finditer(document.text[:MAX_CHARACTERS]):
        block = match[0].strip("\n")
        if match.lastgroup == "heading":
            yield from flush()
            depth = len(block) - len(block.lstrip("#"))
            headings[depth - 1 :] = [block.lstrip("# ")[:200]]
            joined.append(block[:PART_CHARACTERS])
        elif match.lastgroup == "table":
            yield from flush()
            yield from _split_table(block, " ".join((document.title, *headings)))
        else:
            for piece in _PIECE.findall(block):
                if joined and sum(map(len, joined)) + len(piece) > PART_CHARACTERS:
                    yield from flush()
                joined.append(piece.strip("\n"))
    yield from flush()


def _split_table(table: str, context: str) -> Iterator[Part]:
    """A table in groups of rows, each with the table's header."""
    rows = table.splitlines()
    header_rows = 2 if len(rows) > 1 and _TABLE_RULE.fullmatch(rows[1]) else 1
    header = "\n".join(rows[:header_rows])
    if len(header) > PART_CHARACTERS:
        header, header_rows = "", 0
    if len(rows) == header_rows:
        yield Part(header, context)
    group: list[str] = []
    for number, row in enumerate(rows[header_rows:], header_rows + 1):
        group.append(row[:MAX_ROW])
        if sum(map(len, group)) >= PART_CHARACTERS // 2 or number == len(rows):
            yield Part("\n".join(group), context, header)
            group = []
