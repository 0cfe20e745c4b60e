"""Full-text index of the memories of one kind (BM25 over stems and related words).

In the memory of this process, made of the rows and brought up to date with them; calls block and may come from threads.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Mapping

from alita_mcp.library.catalogue.search_tables import SearchWriter, create
from alita_mcp.library.words.corpus import Corpus
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import Document, bounded_query

MOST_WORDS = 60
"""Of a task; the most telling ones."""


class WordIndex:
    """Full-text index of memories."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create(self._db)
        self._corpus = Corpus(self._db, stems)

    def change(self, documents: Mapping[str, Document], gone: Collection[str]) -> None:
        """Adds or replaces documents by name, and removes the names that are gone."""
        if not documents and not gone:
            return
        with self._lock:
            self._db.execute("BEGIN")
            writer = SearchWriter(self._db)
            for name in gone:
                writer.put(name, None)
            for name, document in documents.items():
                writer.put(name, document)
            writer.write()
            self._db.execute("COMMIT")
            self._corpus = Corpus(self._db, stems)

    def search(self, task: str, limit: int) -> list[str]:
        """Names of the memories that match a task's words best."""
        with self._lock:
            corpus = self._corpus
            words = corpus.distinct(bounded_query(task))
            words = sorted(words, key=corpus.term_weight, reverse=True)[:MOST_WORDS]
            scores = corpus.scores(corpus.expanded(words), corpus.candidates(words))
        return sorted(scores, key=lambda name: (-scores[name], name))[:limit]

    def close(self) -> None:
        """Frees the memory."""
        with self._lock:
            self._db.close()
