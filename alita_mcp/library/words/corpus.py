"""Word statistics of all documents, and BM25 scores of documents for a query's stems.

A query's words bring related terms along at a lower weight: words spelled alike and words of the same meaning.
"""

from __future__ import annotations

import math
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache, partial

from alita_mcp.library.words.documents import Words, words_of
from alita_mcp.library.words.everyday_words import SHARE, everyday
from alita_mcp.library.words.text import Document, Tokens, letter_groups
from alita_mcp.library.words.thesaurus import companions

K1, B_WORDS, B_LETTERS = 1.2, 0.75, 0.4
ALIKE_FROM, ALIKE_WEIGHT, MOST_ALIKE = 0.3, 0.15, 16
"""Words with this share of their letter groups in common count a little as one another."""
SAME_MEANING_WEIGHT = 0.3
SAME_START = 2
"""Words spelled alike are sought among those that start alike."""
LENT, LENT_BEYOND = 4.0, 0.3
"""What a tool's requests add counts up to so many times what the words of its own text give, and beyond that little."""
LETTERS_WEIGHT = 0.06
"""Weight of the BM25 of letter groups beside that of words; flat around its best value."""
RELATED_SOUGHT = 16
"""How many related words are sought beside the query's own."""
MOST_KEPT = 2_000
"""Of each kind: words, their related terms, groups of letters and documents that are kept between searches."""
CANDIDATES = 50
MOST_READ = 20_000
"""Texts that a search reads for its candidates, those of its rarest words; in a smaller library all of them."""
MOST_WORDS = 200

_DOCUMENT = "SELECT words, own, agreed, head, letters, requests FROM document WHERE name = ?"
_HAVING_WORD = "SELECT documents FROM term WHERE word = ?"
_HAVING_LETTERS = "SELECT documents FROM letter_group WHERE letters = ?"
_CANDIDATES = """
SELECT (SELECT name FROM document WHERE id = document_text.rowid) FROM document_text
WHERE document_text MATCH ? ORDER BY rank LIMIT ?
"""


class Corpus:
    """Statistics of one moment in the search tables; rows that were read once are kept, within bounds."""

    def __init__(self, db: sqlite3.Connection, tokens: Tokens) -> None:
        """`tokens` are those that the tables were made with."""
        self.tokens = tokens
        self._db = db
        totals = db.execute("SELECT documents, words, letters FROM search_total").fetchone()
        self._count, words, letters = map(int, totals)
        self._length = words / max(1, self._count) or 1.0
        self._letters_length = letters / max(1, self._count) or 1.0
        self._companions, self.everyday = companions(tokens), everyday(tokens)
        """Words of the same meaning by each word, and those that people use whatever they ask for."""
        self.highest_idf = self._idf(1)
        """Inverse document frequency of a word that a single document has."""
        kept = lru_cache(MOST_KEPT)
        self._words: Callable[[str], Words | None] = kept(self._read)
        self._frequency = kept(partial(self._number, _HAVING_WORD))
        self._letters = kept(partial(self._number, _HAVING_LETTERS))
        self.related_terms = kept(self._find_related)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: str) -> bool:
        return self._words(name) is not None

    def document(self, name: str) -> Words:
        """The words of a document; KeyError where there is none of this name."""
        found = self._words(name)
        if found is None:
            raise KeyError(name)
        return found

    def distinct(self, text: str) -> list[str]:
        """The words of a text, each once."""
        return list(dict.fromkeys(self.tokens(text)))

    def candidates(self, words: Sequence[str]) -> list[str]:
        """Names of documents with most of a query's words, and of those that have most of its related terms."""
        weights = self.expanded(words)
        related = [word for word in weights if word not in words]
        sought = sorted(related, key=lambda word: (-weights[word] * self.idf(word), word))[:RELATED_SOUGHT]
        return list(dict.fromkeys((*self._having_most(words), *self._having_most(sought))))

    def _having_most(self, words: Collection[str]) -> list[str]:
        """Names of the documents with most of these words, the rarest that can be looked for; best first."""
        known = sorted((times, word) for word in words if (times := self._frequency(word)))
        asked: list[str] = []
        read = 0
        for times, word in known[:MOST_WORDS]:
            read += times
            if asked and read > MOST_READ:
                break
            asked.append('"' + word.replace('"', '""') + '"')
        found = self._db.execute(_CANDIDATES, (" OR ".join(asked), CANDIDATES)) if asked else ()
        return [name for (name,) in found]

    def replaced(self, name: str, document: Document) -> Corpus:
        """The same statistics with one document in another form."""
        other, words = copy(self), words_of(document, self.tokens)
        other._words = lambda each: words if each == name else self._words(each)  # noqa: SLF001
        return other

    def _read(self, name: str) -> Words | None:
        row = self._db.execute(_DOCUMENT, (name,)).fetchone()
        if row is None:
            return None
        words, own, agreed, head, letters, requests = row
        every, in_head = (tuple(map(sys.intern, each.split())) for each in (words, head))
        return Words(every[:own], every[own : own + agreed], every[own:], in_head, letters, requests)

    def _number(self, query: str, key: str) -> int:
        row = self._db.execute(query, (key,)).fetchone()
        return int(row[0]) if row else 0

    def idf(self, word: str) -> float:
        """Inverse document frequency of a word; of one that no tool has, that of a word which a single tool has."""
        return self._idf(self._frequency(word) or 1)

    def _idf(self, containing: int) -> float:
        return math.log(1 + max(0.0, self._count - containing + 0.5) / (containing + 0.5))

    def term_weight(self, word: str) -> float:
        """Weight of a word that a need and a tool share: its idf, or less where it is an everyday word."""
        return self.idf(word) * (SHARE if word in self.everyday else 1.0)

    def expanded(self, words: Iterable[str]) -> dict[str, float]:
        """These words with weight 1, and related terms among the documents' words with less."""
        weights = dict.fromkeys(words, 1.0)
        for word in list(weights):
            for other, weight in self.related_terms(word).items():
                if weights.get(other, 0.0) < weight:
                    weights[other] = weight
        return weights

    def _find_related(self, word: str) -> Mapping[str, float]:
        """The words of documents that a word brings along, with their weights."""
        own, start = letter_groups(word), word[:SAME_START]
        alike = []
        within = "SELECT word FROM term WHERE word >= ? AND word < ?"
        starting = self._db.execute(within, (start, f"{start}\U0010ffff")) if len(word) >= SAME_START else ()
        for (other,) in starting:
            shared = sum(group in f"#{other[:40]}#" for group in own)
            if other == word or 2 * shared < ALIKE_FROM * (len(own) + shared):  # whatever else it has
                continue
            share = 2 * shared / (len(own) + len(letter_groups(other)))
            if share >= ALIKE_FROM:
                alike.append((share, other))
        related = {other: share * ALIKE_WEIGHT for share, other in sorted(alike, reverse=True)[:MOST_ALIKE]}
        for other in self._companions.get(word, ()):
            if self._frequency(other):
                related[other] = SAME_MEANING_WEIGHT * min(1.0, self.idf(word) / (self.idf(other) or 1.0))
        return related

    def scores(self, weights: Mapping[str, float], names: Iterable[str]) -> dict[str, float]:
        """BM25 of the named documents that share a weighted word."""
        term_weights = {word: weight * self.idf(word) * (K1 + 1) for word, weight in weights.items()}
        found = {}
        for name in names:
            score = self._score(self.document(name), term_weights)
            if score:
                found[name] = score
        return found

    def _score(self, words: Words, term_weights: Mapping[str, float]) -> float:
        """That of one document: its own words, and those of its requests as far as own or agreed ones bear it out."""
        own = Counter(word for word in words.own if word in term_weights)
        every = own + Counter(word for word in words.lent if word in term_weights)
        length = len(words.own) + len(words.lent)
        norm = K1 * (1 - B_WORDS + B_WORDS * length / self._length)
        given = {word: term_weights[word] * n / (n + norm) for word, n in own.items()}
        said = sum(given.values())
        lent = sum(term_weights[word] * n / (n + norm) for word, n in every.items()) - said
        if words.has_few_requests:
            return said + lent
        given |= {
            word: term_weights[word] / (1 + norm)
            for word in words.agreed
            if word in term_weights.keys() - own
        }
        bound = LENT * sum(value for word, value in given.items() if word not in self.everyday)
        return said + min(lent, bound) + LENT_BEYOND * max(0.0, lent - bound)

    def letter_scores(self, words: Iterable[str], names: Iterable[str]) -> dict[str, float]:
        """BM25 over groups of letters instead of words: what inflection and compounds hide from `scores`."""
        asked = Counter(group for word in words for group in letter_groups(word))
        term_weights = {
            group: n * self._idf(self._letters(group) or 1) * (K1 + 1) for group, n in asked.items()
        }
        groups_of: dict[str, tuple[str, ...]] = {}
        found = {}
        for name in names:
            document = self.document(name)
            shared: dict[str, int] = {}
            for word in document.head:
                if word not in groups_of:
                    groups_of[word] = tuple(letter_groups(word) & term_weights.keys())
                for group in groups_of[word]:
                    shared[group] = shared.get(group, 0) + 1
            norm = K1 * (1 - B_LETTERS + B_LETTERS * document.letters / self._letters_length)
            found[name] = math.fsum(term_weights[group] * n / (n + norm) for group, n in shared.items())
        return found
