"""What the tools are found by, made again for those only that changed: entries in, documents out."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from alita_mcp.library.background import give_way
from alita_mcp.library.listing import Entries, document_of
from alita_mcp.library.search_text import Document
from alita_mcp.values import CatalogueEntry


class KnownDocuments:
    """The documents of the enabled tools, as they were asked for last. Used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: Entries = {}
        self._documents: Mapping[str, Document] = {}

    def of(self, entries: Entries) -> Mapping[str, Document]:
        """What the enabled ones are found by; the same mapping as before when nothing else is found."""
        with self._lock:
            if entries is not self._entries:
                documents = self._renewed(entries)
                self._entries = entries
                if documents != self._documents:
                    self._documents = documents
            return self._documents

    def _renewed(self, entries: Entries) -> dict[str, Document]:
        made: dict[str, Document] = {}
        for name, entry in entries.items():
            known = self._entries.get(name)
            document = self._documents.get(name) if known and _found_alike(known, entry) else None
            if document is None and entry.state == "enabled":
                give_way()
                document = document_of(entry)
            if document is not None:
                made[name] = document
        return made


def _found_alike(one: CatalogueEntry, other: CatalogueEntry) -> bool:
    return one is other or (
        one.manifest is other.manifest and one.wordings == other.wordings and one.state == other.state
    )
