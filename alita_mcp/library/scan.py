"""Search without an index: a need and all documents in, ranked names out. Slower, and there whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from heapq import nlargest

from alita_mcp.library.background import give_way
from alita_mcp.library.corpus import Corpus
from alita_mcp.library.ranking import Ranking, rank
from alita_mcp.library.search_text import Document, Tokens, plain_tokens

MOST_READ = 20_000
"""In a larger library only the documents are read that have most of the need's words; statistics of all take long."""
PROMISING = 1_000

Documents = Callable[[], Mapping[str, Document]]


class Scan:
    """The documents' words as they were read last; used in worker threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[Documents, Corpus] | None = None

    def look(self, query: str, documents: Documents) -> Ranking:
        """What fits a need by its words."""
        words = list(dict.fromkeys(plain_tokens(query)))
        with self._lock:
            corpus = self._corpus(documents, words)
        return rank(words, corpus.names, corpus)

    def _corpus(self, documents: Documents, words: Collection[str]) -> Corpus:
        if self._known is not None and self._known[0] is documents:
            return self._known[1]
        read = documents()
        if len(read) > MOST_READ:
            return Corpus(promising(read, words), patient(plain_tokens))
        known = self._known[1].renewed(read) if self._known else Corpus(read, patient(plain_tokens))
        self._known = documents, known
        return known


def promising(documents: Mapping[str, Document], words: Collection[str]) -> dict[str, Document]:
    """The documents in whose text most of these words stand, at least one."""
    counts = {name: _shared(document.text.lower(), words) for name, document in documents.items()}
    best = nlargest(PROMISING, counts, key=counts.__getitem__)
    return {name: documents[name] for name in best if counts[name]}


def _shared(text: str, words: Collection[str]) -> int:
    return sum(word in text for word in words)


def patient(tokens: Tokens) -> Tokens:
    """The same words; a thread that reads many texts ends when nobody waits for it any more."""

    def read(text: str) -> list[str]:
        give_way()
        return tokens(text)

    return read
