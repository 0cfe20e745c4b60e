"""Splitter of documents into parts, at headings, paragraphs, table rows and code blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import split_words
from alita_mcp.research.values import Document

PART_CHARACTERS = 700
"""How long a part may become by joining small blocks, and what longer blocks are cut into."""
MAX_CHARACTERS = 400_000
"""Of one document; what stands behind it is not ranked."""
MAX_PARTS = 3_000
"""Of all documents together."""
MAX_ROW = 3_000
_HEADING = re.compile(r"#{1,6}\s+\S")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Thai, Lao, Khmer, Japanese and Chinese."""
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")


@dataclass(frozen=True)
class Part:
    """A part of a document that is ranked as one."""

    text: str
    document: int
    place: int
    """Its number in the document."""
    context: str = ""
    """The document's title and the headings above it."""
    header: str = ""
    """Of the table whose rows these are: its head, which is shown once before them."""

    @property
    def shown(self) -> str:
        """The text with its header."""
        return f"{self.header}\n{self.text}" if self.header else self.text

    @cached_property
    def words(self) -> Counter[str]:
        """Counts of each stem; stems of the context count a share."""
        return Counter(words_in(self.shown))

    @cached_property
    def context_words(self) -> frozenset[str]:
        """Stems of the title and the headings."""
        return frozenset(words_in(self.context))


def words_in(text: str) -> list[str]:
    """The stems of a text and of its identifiers; pairs of characters in scripts without spaces."""
    runs = _UNSPACED.findall(text)
    pairs = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    return [*stems(split_words(_UNSPACED.sub(" ", text) if runs else text)), *pairs]


def split(documents: Sequence[Document]) -> list[Part]:
    """The parts of all documents, in order; each document gets its share of `MAX_PARTS`."""
    share = max(1, MAX_PARTS // max(1, len(documents)))
    found: list[Part] = []
    for number, document in enumerate(documents):
        for place, part in enumerate(_parts(document)):
            if place == share:
                break
            found.append(replace(part, document=number, place=place))
    return found


def _parts(document: Document) -> Iterator[Part]:
    """Blocks of one document, small ones of a section joined."""
    headings: list[str] = []
    gathered: list[str] = []

    def joined() -> Iterator[Part]:
        if gathered:
            yield Part("\n\n".join(gathered), 0, 0, " ".join((document.title, *headings)))
            gathered.clear()

    for block in _blocks(document.text[:MAX_CHARACTERS]):
        if _HEADING.match(block):
            yield from joined()
            depth = len(block) - len(block.lstrip("#"))
            headings[depth - 1 :] = [block.lstrip("# ")[:200]]
            gathered.append(block[:PART_CHARACTERS])
            continue
        if block.startswith("|"):
            yield from joined()
            yield from _rows(block, " ".join((document.title, *headings)))
            continue
        for piece in _pieces(block):
            if gathered and sum(map(len, gathered)) + len(piece) > PART_CHARACTERS:
                yield from joined()
            gathered.append(piece)
    yield from joined()


def _blocks(text: str) -> Iterator[str]:
    """Headings, tables, code between fences, and paragraphs."""
    block: list[str] = []
    kind = ""
    for line in text.splitlines():
        now = _kind(line, kind)
        if kind and (now != kind or now == "heading"):
            if any(each.strip() for each in block):
                yield "\n".join(block).strip("\n")
            block = []
        if now:
            block.append(line)
        kind = "" if now == "code" and block[1:] and _FENCE.match(line) else now
        if now == "code" and not kind:
            yield "\n".join(block)
            block = []
    if any(each.strip() for each in block):
        yield "\n".join(block).strip("\n")


def _kind(line: str, before: str) -> str:
    """What a line belongs to, after a line of that kind; empty for the gap between paragraphs."""
    if before == "code" or _FENCE.match(line):
        return "code"
    if not line.strip():
        return ""
    if line.startswith("|"):
        return "table"
    return "heading" if _HEADING.match(line) else "paragraph"


def _rows(table: str, context: str) -> Iterator[Part]:
    """A table in groups of rows, each with the table's header."""
    lines = table.splitlines()
    ruled = len(lines) > 1 and "-" in lines[1] and not lines[1].strip("|-: \t")
    header = "\n".join(lines[:2]) if ruled else lines[0]
    header = header if len(header) <= PART_CHARACTERS else ""
    rows = lines[2 if ruled else 1 :] if header else lines
    if not rows:
        yield Part(header, 0, 0, context)
        return
    group: list[str] = []
    for row in rows:
        if group and sum(map(len, group)) + len(row) > PART_CHARACTERS // 2:
            yield Part("\n".join(group), 0, 0, context, header)
            group = []
        group.append(row[:MAX_ROW])
    yield Part("\n".join(group), 0, 0, context, header)


def _cut(text: str) -> list[str]:
    """A text in pieces of just `PART_CHARACTERS`, and what is left."""
    return [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)] or [""]


def _pieces(block: str) -> Iterator[str]:
    """A block in pieces of at most `PART_CHARACTERS`: at ends of lines and sentences, else anywhere."""
    if len(block) <= PART_CHARACTERS:
        yield block
        return
    piece = ""
    for line in block.splitlines():
        for sentence in _SENTENCE_END.split(line):
            end = "\n" if "\n" in block else " "
            if piece and len(piece) + len(sentence) > PART_CHARACTERS:
                yield piece
                piece = ""
            *whole, rest = _cut(sentence)
            yield from whole
            piece = f"{piece}{end}{rest}" if piece else rest
    if piece.strip():
        yield piece
