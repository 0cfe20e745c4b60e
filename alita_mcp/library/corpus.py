"""Word statistics of all documents, and how well a query's words fit each: stems in, BM25 scores out.

A query's words bring their kin along at a lower weight: words spelled alike and words of the same meaning.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from functools import lru_cache
from typing import NamedTuple

from alita_mcp.library.everyday_words import SHARE, everyday
from alita_mcp.library.search_text import Document, Tokens
from alita_mcp.library.thesaurus import companions

K1, B_WORDS, B_LETTERS = 1.2, 0.75, 0.4
ALIKE_FROM, ALIKE_WEIGHT, MOST_ALIKE = 0.3, 0.15, 16
"""Words with this share of their letter groups in common count a little as one another."""
SAME_MEANING_WEIGHT = 0.3
SAME_START = 2
"""Words spelled alike are sought among those that start alike."""
LETTERS_WEIGHT = 0.06
"""Weight of the BM25 of letter groups beside that of words; flat around its best value."""


class Words(NamedTuple):
    """One document as the statistics need it."""

    hash: str
    all: tuple[str, ...]
    head: tuple[str, ...]
    """Those of name and description."""
    letters: int
    """How many letter groups the head has."""


class Corpus:
    """Never changed once made; `renewed` makes the next one and reads changed documents only."""

    def __init__(
        self, documents: Mapping[str, Document], tokens: Tokens, known: Corpus | None = None
    ) -> None:
        """`known` are statistics made with the same `tokens`; documents that stand in them are not read again."""
        self.tokens = tokens
        self._of: dict[str, Words] = dict(known._of) if known else {}  # noqa: SLF001 - of its own kind
        self._frequency: Counter[str] = known._frequency.copy() if known else Counter()  # noqa: SLF001
        self._companions: dict[str, frozenset[str]] = known._companions if known else companions(tokens)  # noqa: SLF001
        self._everyday: frozenset[str] = known._everyday if known else everyday(tokens)  # noqa: SLF001
        self._kin: dict[str, dict[str, float]] = {}
        self._take(documents, known)

    def __len__(self) -> int:
        return len(self._of)

    def __contains__(self, name: object) -> bool:
        return name in self._of

    @property
    def names(self) -> Collection[str]:
        """All documents' names."""
        return self._of.keys()

    def renewed(self, documents: Mapping[str, Document]) -> Corpus:
        """The statistics of other documents, most of which are known already."""
        return Corpus(documents, self.tokens, self)

    def replaced(self, name: str, document: Document) -> Corpus:
        """The same statistics with one document in another form."""
        other = copy(self)
        vars(other)["_of"] = {**self._of, name: self._read(document)}
        return other

    def _take(self, documents: Mapping[str, Document], known: Corpus | None) -> None:
        self._words: int = known._words if known else 0  # noqa: SLF001
        self._head_letters: int = known._head_letters if known else 0  # noqa: SLF001
        self._letters: Counter[str] = known._letters.copy() if known else Counter()  # noqa: SLF001
        self._starts: dict[str, tuple[str, ...]] = dict(known._starts) if known else {}  # noqa: SLF001
        change: Counter[str] = Counter()
        for name in [name for name in self._of if name not in documents]:
            self._weigh(self._of.pop(name), -1, change)
        for name, document in documents.items():
            there = self._of.get(name)
            if there is not None and there.hash == document.hash:
                continue
            if there is not None:
                self._weigh(there, -1, change)
            self._of[name] = self._read(document)
            self._weigh(self._of[name], 1, change)
        self._count(change)
        count = max(1, len(self._of))
        self._length = self._words / count or 1.0
        self._letters_length = self._head_letters / count or 1.0

    def _weigh(self, words: Words, sign: int, change: Counter[str]) -> None:
        """Adds a document to the sums, or takes it away."""
        self._words += sign * len(words.all)
        self._head_letters += sign * words.letters
        for word in set(words.all):
            change[word] += sign

    def _count(self, change: Mapping[str, int]) -> None:
        """Takes in how many documents more or fewer have each word."""
        came: dict[str, list[str]] = {}
        for word, times in change.items():
            before = self._frequency.get(word, 0)
            _add(self._frequency, word, times)
            for group in letter_groups(word) if times else ():
                _add(self._letters, group, times)
            if not before and times:
                came.setdefault(word[:SAME_START], []).append(word)
        starts = {word[:SAME_START] for word, times in change.items() if times < 0} | came.keys()
        for start in starts:
            stayed = (word for word in self._starts.get(start, ()) if word in self._frequency)
            self._starts[start] = (*stayed, *came.get(start, ()))

    def _read(self, document: Document) -> Words:
        every = tuple(map(sys.intern, self.tokens(document.text)))
        head = tuple(map(sys.intern, self.tokens(document.about)))
        return Words(document.hash, every, head, sum(len(letter_groups(word)) for word in head))

    def idf(self, word: str) -> float:
        """How telling a word is; one that no tool has is as telling as one that a single tool has."""
        return self._telling(self._frequency.get(word, 1))

    def is_everyday(self, word: str) -> bool:
        """Whether people use a word whatever they ask for."""
        return word in self._everyday

    def says(self, word: str) -> float:
        """How much a shared word says of a need and a tool: its idf, or less where it is an everyday word."""
        return self.idf(word) * (SHARE if word in self._everyday else 1.0)

    def _telling(self, containing: int) -> float:
        return math.log(1 + max(0.0, len(self._of) - containing + 0.5) / (containing + 0.5))

    def has(self, name: str) -> frozenset[str]:
        """The words of a document."""
        return frozenset(self._of[name].all)

    def head(self, name: str) -> frozenset[str]:
        """The words of a document's name and description."""
        return frozenset(self._of[name].head)

    @property
    def highest_idf(self) -> float:
        """That of a word which a single document has."""
        return self._telling(1)

    def expanded(self, words: Iterable[str]) -> dict[str, float]:
        """These words with weight 1, and their kin among the documents' words with less."""
        weights = dict.fromkeys(words, 1.0)
        for word in list(weights):
            for other, weight in self.kin(word).items():
                if weights.get(other, 0.0) < weight:
                    weights[other] = weight
        return weights

    def kin(self, word: str) -> Mapping[str, float]:
        """The words of documents that a word brings along, with their weights."""
        if word not in self._kin:
            if len(self._kin) > 10_000:
                self._kin.clear()
            self._kin[word] = self._find_kin(word)
        return self._kin[word]

    def _find_kin(self, word: str) -> dict[str, float]:
        own = letter_groups(word)
        alike = []
        for other in self._starts.get(word[:SAME_START], ()):
            groups = letter_groups(other)
            share = 2 * len(own & groups) / ((len(own) + len(groups)) or 1)
            if share >= ALIKE_FROM and other != word:
                alike.append((share, other))
        kin = {other: share * ALIKE_WEIGHT for share, other in sorted(alike, reverse=True)[:MOST_ALIKE]}
        for other in self._companions.get(word, ()):
            if other in self._frequency:
                kin[other] = SAME_MEANING_WEIGHT * min(1.0, self.idf(word) / (self.idf(other) or 1.0))
        return kin

    def scores(self, weights: Mapping[str, float], names: Iterable[str] | None = None) -> dict[str, float]:
        """BM25 of the named documents (default: all) that share a weighted word."""
        telling = {word: weight * self.idf(word) * (K1 + 1) for word, weight in weights.items()}
        found = {}
        for name in self._of if names is None else names:
            words = self._of[name].all
            shared = Counter(word for word in words if word in telling)
            if shared:
                norm = K1 * (1 - B_WORDS + B_WORDS * len(words) / self._length)
                found[name] = sum(telling[word] * n / (n + norm) for word, n in shared.items())
        return found

    def letter_scores(self, words: Iterable[str], names: Iterable[str]) -> dict[str, float]:
        """BM25 over groups of letters instead of words: what inflection and compounds hide from `scores`."""
        asked = Counter(group for word in words for group in letter_groups(word))
        telling = {
            group: n * self._telling(self._letters.get(group, 1)) * (K1 + 1) for group, n in asked.items()
        }
        groups_of: dict[str, tuple[str, ...]] = {}
        found = {}
        for name in names:
            document = self._of[name]
            shared: dict[str, int] = {}
            for word in document.head:
                if word not in groups_of:
                    groups_of[word] = tuple(letter_groups(word) & telling.keys())
                for group in groups_of[word]:
                    shared[group] = shared.get(group, 0) + 1
            norm = K1 * (1 - B_LETTERS + B_LETTERS * document.letters / self._letters_length)
            found[name] = math.fsum(telling[group] * n / (n + norm) for group, n in shared.items())
        return found


def _add(counts: Counter[str], key: str, times: int) -> None:
    counts[key] += times
    if counts[key] <= 0:
        del counts[key]


@lru_cache(maxsize=200_000)
def letter_groups(word: str) -> frozenset[str]:
    """All runs of three and of four letters, with the word's two ends marked."""
    marked = f"#{word[:40]}#"
    return frozenset(marked[at : at + size] for size in (3, 4) for at in range(len(marked) - size + 1))
