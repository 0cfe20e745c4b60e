"""Finder of tools for a need, by words, and by vectors where there is an embedder."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.library.search.ranking import Ranking, rank
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.search.vectors.table import ReadDocuments
from alita_mcp.library.search.vectors.vector_search import PAUSES, VectorSearch
from alita_mcp.library.words.text import bounded_query, clean_query
from alita_mcp.models.embedder_choice import configured_embedder
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.settings import Settings

READY_AFTER_S = 2.0
"""How long after the start tools get vectors unless a search came before; what ends sooner never pays for it."""
VECTORS = "vectors.lance"
"""The folder of vectors, beside the catalogue."""


def finder_for(settings: Settings, catalogue: Path, tasks: TaskGroup) -> Finder:
    """The finder of the library with this catalogue, by meaning too where an embedder is configured.

    Raises:
        UsageError: that embedder is a folder without a model, or a class that cannot be loaded.
    """
    embedder = configured_embedder(settings)
    reader = SearchReader(catalogue)
    return Finder(reader, reader.documents, tasks, embedder)


class Finder:
    """Search over the tools of one library, in this process."""

    def __init__(
        self,
        reader: SearchReader,
        documents: ReadDocuments,
        tasks: TaskGroup,
        embedder: Embedder | None = None,
        pauses: Patience = PAUSES,
    ) -> None:
        """`documents` reads in a thread what tools are found by; `tasks` carries the work in the background.

        `pauses` are those between attempts with an embedder that is away.
        """
        self._reader = reader
        folder = reader.path.with_name(VECTORS)
        self._vectors = VectorSearch(folder, embedder, tasks, reader, documents, pauses) if embedder else None
        self._is_begun = False

    def track(self) -> None:
        """Notes that tools changed; once vectors are in use, they are brought up to date in the background."""
        if self._vectors is not None and self._is_begun:
            self._vectors.track()

    async def make_ready(self) -> None:
        """Embeds the tools a moment from now, so that the first search has vectors."""
        if self._vectors is not None:
            await anyio.sleep(READY_AFTER_S)
            self._begin()

    async def search(self, query: str) -> Ranking:
        """Ranking of tools for the need, with the features that its certainty rests on.

        Raises:
            LibraryError: the search tables are damaged.
        """
        self._begin()
        if self._vectors is not None and bounded_query(query):
            ranking = await self._vectors.ranked(query)
            if ranking is not None:
                return ranking
        return await anyio.to_thread.run_sync(self._by_words, clean_query(query))

    async def vectors_ready(self) -> None:
        """Returns when every tool has its vector and the certainty is known; at once without an embedder."""
        if self._vectors is not None:
            self._begin()
            await self._vectors.settled()

    def close(self) -> None:
        """Closes the files."""
        self._reader.close()
        if self._vectors is not None:
            self._vectors.close()

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            self.track()

    def _by_words(self, text: str) -> Ranking:
        with self._reader.moment() as corpus:
            words = corpus.distinct(text)
            return rank(words, corpus.candidates(words), corpus)
