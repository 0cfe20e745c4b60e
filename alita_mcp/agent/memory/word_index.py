"""Full-text index of the memories of one kind, which finds words of the same meaning too.

In the memory of this process, made of the rows and brought up to date with them; calls block and may come from threads.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Mapping

from alita_mcp.library.catalogue.search_tables import create, put_document
from alita_mcp.library.search.ranking import count_documents, match_words
from alita_mcp.library.words.documents import Document
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.text import bounded_query
from alita_mcp.library.words.thesaurus import companions

MOST_WORDS = 60
"""Of a task."""


class WordIndex:
    """Full-text index of memories."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create(self._db)

    def change(self, documents: Mapping[str, Document], gone: Collection[str]) -> None:
        """Adds or replaces documents by name, and removes the names that are gone."""
        if not documents and not gone:
            return
        with self._lock:
            self._db.execute("BEGIN")
            for name in gone:
                put_document(self._db, name, None)
            for name, document in documents.items():
                put_document(self._db, name, document)
            self._db.execute("COMMIT")

    def search(self, task: str, limit: int) -> list[str]:
        """Names of the memories that match a task's words best."""
        words = list(dict.fromkeys(stems(bounded_query(task))))[:MOST_WORDS]
        related = companions(stems)
        alike = dict.fromkeys(other for word in words for other in sorted(related.get(word, ())))
        with self._lock:
            found = [
                name
                for each in (words, alike)
                for name in match_words(self._db, count_documents(self._db, each), limit)
            ]
        return list(dict.fromkeys(found))[:limit]

    def close(self) -> None:
        """Frees the memory."""
        with self._lock:
            self._db.close()
