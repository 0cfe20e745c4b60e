"""Rows of the search tables: word counts, documents and candidates, all of one moment."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from alita_mcp.library.words.everyday_words import everyday
from alita_mcp.library.words.text import Document, Tokens, letter_groups

CANDIDATES = 50
MOST_READ = 20_000
"""Texts that a search reads for its candidates, those of its rarest words; in a smaller library all of them."""
MOST_WORDS = 200
AGREED_FROM, MOST_AGREED = 0.4, 2
"""Words of at least two requests, and of this share of them, say what a tool is for; no more than so many."""

FEW, FEW_WORDS = 2, 10
"""So many requests, of so many different words together, need nothing to bear them out."""


class Words(NamedTuple):
    """Words of one document, as the statistics need them."""

    own: tuple[str, ...]
    """What the tool says of itself."""
    agreed: tuple[str, ...]
    """Those that its requests have in common."""
    lent: tuple[str, ...]
    """Those of its requests, each once; the agreed ones first."""
    head: tuple[str, ...]
    """Those of name and description."""
    letters: int
    """How many letter groups the head has."""
    requests: int
    """How many requests there are."""

    @property
    def has_few_requests(self) -> bool:
        """Whether they are so few and short that they win no more needs than there are of them."""
        return self.requests <= FEW and len(self.lent) <= FEW_WORDS


def words_of(document: Document, tokens: Tokens) -> Words:
    """The words of a document, as `tokens` cuts them."""
    own, head = tuple(tokens(document.text)), tuple(tokens(document.about))
    requests = [dict.fromkeys(tokens(request)) for request in document.requests]
    having = Counter(word for request in requests for word in request)
    least = max(2.0, AGREED_FROM * len(requests))
    common = [word for word, times in having.items() if times >= least and word not in everyday(tokens)]
    agreed = tuple(sorted(common, key=lambda word: (-having[word], word))[:MOST_AGREED])
    lent = tuple(dict.fromkeys((*agreed, *having)))
    return Words(own, agreed, lent, head, sum(len(letter_groups(word)) for word in head), len(requests))


class Totals(NamedTuple):
    """Totals of all documents: their number, and the sums of their words and of their heads' letter groups."""

    documents: int
    words: int
    letters: int


class SearchRows:
    """Rows behind a corpus."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def totals(self) -> Totals:
        """Of all documents."""
        return Totals(*self._db.execute("SELECT documents, words, letters FROM search_total").fetchone())

    def document(self, name: str) -> Words | None:
        """The words of a document, if there is one of this name."""
        wanted = "SELECT words, own, agreed, head, letters, requests FROM document WHERE name = ?"
        row = self._db.execute(wanted, (name,)).fetchone()
        if row is None:
            return None
        words, own, agreed, head, letters, requests = row
        every = _interned(words)
        return Words(every[:own], every[own : own + agreed], every[own:], _interned(head), letters, requests)

    def frequency(self, word: str) -> int:
        """Number of documents that have a word."""
        return self._count("SELECT documents FROM term WHERE word = ?", word)

    def letters(self, group: str) -> int:
        """Number of words of documents that have a group of letters."""
        return self._count("SELECT documents FROM letter_group WHERE letters = ?", group)

    def _count(self, query: str, key: str) -> int:
        row = self._db.execute(query, (key,)).fetchone()
        return int(row[0]) if row else 0

    def starting(self, start: str) -> list[str]:
        """The words of documents that start so."""
        within = "SELECT word FROM term WHERE word >= ? AND word < ?"
        return [word for (word,) in self._db.execute(within, (start, f"{start}\U0010ffff"))]

    def candidates(self, words: Collection[str]) -> list[str]:
        """Names of the tools whose texts have most of these words, best first."""
        asked = self._affordable(words)
        if not asked:
            return []
        found = self._db.execute(
            "SELECT (SELECT name FROM document WHERE id = document_text.rowid) FROM document_text"
            " WHERE document_text MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(asked), CANDIDATES),
        )
        return [name for (name,) in found]

    def _affordable(self, words: Collection[str]) -> list[str]:
        """The rarest of these words, as many as can be looked for in all texts; at least one. In quotation marks."""
        known = sorted((times, word) for word in words if (times := self.frequency(word)))
        asked: list[str] = []
        read = 0
        for times, word in known[:MOST_WORDS]:
            read += times
            if asked and read > MOST_READ:
                break
            asked.append('"' + word.replace('"', '""') + '"')
        return asked


def _interned(words: str) -> tuple[str, ...]:
    """The same words of several documents are kept once."""
    return tuple(map(sys.intern, words.split()))
