"""Word statistics of all documents, and BM25 scores of documents for a query's stems.

A query's words bring related terms along at a lower weight: words spelled alike and words of the same meaning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import TypeVar

from alita_mcp.library.words.everyday_words import SHARE, everyday
from alita_mcp.library.words.rows import SearchRows, Words, words_of
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

T = TypeVar("T")


class Corpus:
    """Statistics of one moment; rows that were read once are kept, within bounds."""

    def __init__(self, rows: SearchRows, tokens: Tokens) -> None:
        """`tokens` are those that the rows were made with."""
        self.tokens = tokens
        self._rows = rows
        self._count, words, letters = rows.totals()
        self._length = words / max(1, self._count) or 1.0
        self._letters_length = letters / max(1, self._count) or 1.0
        self._companions, self._everyday = _lists(tokens)
        self._of: dict[str, Words | None] = {}
        self._frequency: dict[str, int] = {}
        self._letters: dict[str, int] = {}
        self._related: dict[str, dict[str, float]] = {}

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._document(name) is not None

    def distinct(self, text: str) -> list[str]:
        """The words of a text, each once."""
        return list(dict.fromkeys(self.tokens(text)))

    def candidates(self, words: Sequence[str]) -> list[str]:
        """Names of documents with most of a query's words, and of those that have most of its related terms."""
        weights = self.expanded(words)
        related = [word for word in weights if word not in words]
        sought = sorted(related, key=lambda word: (-weights[word] * self.idf(word), word))[:RELATED_SOUGHT]
        return list(dict.fromkeys((*self._rows.candidates(words), *self._rows.candidates(sought))))

    def replaced(self, name: str, document: Document) -> Corpus:
        """The same statistics with one document in another form."""
        other = copy(self)
        vars(other)["_of"] = {name: words_of(document, self.tokens)}
        return other

    def _document(self, name: str) -> Words | None:
        return _kept(self._of, name, self._rows.document)

    def _words(self, name: str) -> Words:
        found = self._document(name)
        if found is None:
            raise KeyError(name)
        return found

    def idf(self, word: str) -> float:
        """Inverse document frequency of a word; of one that no tool has, that of a word which a single tool has."""
        return self._idf(self._documents_with(word) or 1)

    def _documents_with(self, word: str) -> int:
        return _kept(self._frequency, word, self._rows.frequency)

    def is_everyday(self, word: str) -> bool:
        """Whether people use a word whatever they ask for."""
        return word in self._everyday

    def term_weight(self, word: str) -> float:
        """Weight of a word that a need and a tool share: its idf, or less where it is an everyday word."""
        return self.idf(word) * (SHARE if word in self._everyday else 1.0)

    def _idf(self, containing: int) -> float:
        return math.log(1 + max(0.0, self._count - containing + 0.5) / (containing + 0.5))

    def has(self, name: str) -> frozenset[str]:
        """The words of a document."""
        return self.own(name).union(self._words(name).lent)

    def own(self, name: str) -> frozenset[str]:
        """Those of what a tool says of itself."""
        return frozenset(self._words(name).own)

    def borne(self, name: str) -> frozenset[str]:
        """Those that bear out what its requests add: its own, those on which they agree, and all of a few requests."""
        words = self._words(name)
        return self.has(name) if words.has_few_requests else self.own(name).union(words.agreed)

    def head(self, name: str) -> frozenset[str]:
        """The words of a document's name and description."""
        return frozenset(self._words(name).head)

    @property
    def highest_idf(self) -> float:
        """Inverse document frequency of a word that a single document has."""
        return self._idf(1)

    def expanded(self, words: Iterable[str]) -> dict[str, float]:
        """These words with weight 1, and related terms among the documents' words with less."""
        weights = dict.fromkeys(words, 1.0)
        for word in list(weights):
            for other, weight in self.related_terms(word).items():
                if weights.get(other, 0.0) < weight:
                    weights[other] = weight
        return weights

    def related_terms(self, word: str) -> Mapping[str, float]:
        """The words of documents that a word brings along, with their weights."""
        return _kept(self._related, word, self._find_related)

    def _find_related(self, word: str) -> dict[str, float]:
        own = letter_groups(word)
        alike = []
        for other in self._rows.starting(word[:SAME_START]) if len(word) >= SAME_START else ():
            shared = sum(group in f"#{other[:40]}#" for group in own)
            if other == word or 2 * shared < ALIKE_FROM * (len(own) + shared):  # whatever else it has
                continue
            share = 2 * shared / (len(own) + len(letter_groups(other)))
            if share >= ALIKE_FROM:
                alike.append((share, other))
        related = {other: share * ALIKE_WEIGHT for share, other in sorted(alike, reverse=True)[:MOST_ALIKE]}
        for other in self._companions.get(word, ()):
            if self._documents_with(other):
                related[other] = SAME_MEANING_WEIGHT * min(1.0, self.idf(word) / (self.idf(other) or 1.0))
        return related

    def scores(self, weights: Mapping[str, float], names: Iterable[str]) -> dict[str, float]:
        """BM25 of the named documents that share a weighted word."""
        term_weights = {word: weight * self.idf(word) * (K1 + 1) for word, weight in weights.items()}
        found = {}
        for name in names:
            score = self._score(self._words(name), term_weights)
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
        bound = LENT * sum(value for word, value in given.items() if word not in self._everyday)
        return said + min(lent, bound) + LENT_BEYOND * max(0.0, lent - bound)

    def letter_scores(self, words: Iterable[str], names: Iterable[str]) -> dict[str, float]:
        """BM25 over groups of letters instead of words: what inflection and compounds hide from `scores`."""
        asked = Counter(group for word in words for group in letter_groups(word))
        term_weights = {
            group: n * self._idf(_kept(self._letters, group, self._rows.letters) or 1) * (K1 + 1)
            for group, n in asked.items()
        }
        groups_of: dict[str, tuple[str, ...]] = {}
        found = {}
        for name in names:
            document = self._words(name)
            shared: dict[str, int] = {}
            for word in document.head:
                if word not in groups_of:
                    groups_of[word] = tuple(letter_groups(word) & term_weights.keys())
                for group in groups_of[word]:
                    shared[group] = shared.get(group, 0) + 1
            norm = K1 * (1 - B_LETTERS + B_LETTERS * document.letters / self._letters_length)
            found[name] = math.fsum(term_weights[group] * n / (n + norm) for group, n in shared.items())
        return found


def _kept(known: dict[str, T], key: str, read: Callable[[str], T]) -> T:
    """What is known under a key, read where it is not known yet."""
    if key not in known:
        if len(known) >= MOST_KEPT:
            known.clear()
        known[key] = read(key)
    return known[key]


@lru_cache(maxsize=2)
def _lists(tokens: Tokens) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    return companions(tokens), everyday(tokens)
