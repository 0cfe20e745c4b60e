"""Finder of tools for a need, by words, and by meaning where there is an embedder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from pathlib import Path

import anyio.to_thread
from anyio.abc import TaskGroup

from alita_mcp.domains import DOMAINS
from alita_mcp.library.search.ranking import OF_READER, Ranking, rank
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.search.vectors import PAUSES, VectorIndex
from alita_mcp.library.words.text import clean_query
from alita_mcp.models.embedder_choice import search_embedder
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.models.litellm.backoff import Patience
from alita_mcp.settings import Settings

_ABOUT = "SELECT 1 FROM document_text t JOIN document d ON d.id = t.rowid WHERE document_text MATCH ? LIMIT 1"
_KNOWN = "SELECT name FROM document WHERE name IN (SELECT value FROM json_each(?))"


def finder_for(settings: Settings, catalogue: Path, tasks: TaskGroup) -> Finder:
    """The finder of the library with this catalogue; nothing is loaded before the first search.

    Raises:
        UsageError: the embedder of the settings is a folder without a model, or a class that cannot be loaded.
    """
    return Finder(SearchReader(catalogue), tasks, search_embedder(settings))


class Finder:
    """Search over the tools of one library, in this process."""

    def __init__(
        self,
        reader: SearchReader,
        tasks: TaskGroup,
        embedder: Embedder | None = None,
        pauses: Patience = PAUSES,
    ) -> None:
        """`tasks` carries the work in the background; `pauses` are those between attempts with an embedder."""
        self._reader = reader
        folder = reader.path.with_name("vectors.lance")
        self.vectors = VectorIndex(folder, embedder, tasks, reader, pauses) if embedder else None
        self._is_of_team = False

    def of_team(self, team: str) -> Finder:
        """A finder of the tools that a team sees (empty: readers without one), over the same vectors."""
        finder = copy(self)
        finder._reader, finder._is_of_team = SearchReader(self._reader.path, team), True  # noqa: SLF001
        return finder

    def track(self) -> None:
        """Notes that tools changed."""
        if self.vectors is not None:
            self.vectors.track()

    async def search(self, query: str) -> Ranking:
        """Ranking of tools for a need, with the features that its certainty rests on.

        Raises:
            LibraryError: the search index is damaged.
        """
        need = clean_query(query)
        cosines: Mapping[str, float] | None = None
        if self.vectors is not None and any(letter.isalnum() for letter in need):
            cosines = await self.vectors.cosines(need)

        def rank_tools() -> Ranking:
            with self._reader.transaction() as db:
                near = cosines
                if self._is_of_team and near is not None:
                    near = {name: near[name] for (name,) in db.execute(_KNOWN, (json.dumps(list(near)),))}
                return rank(db, need, near, OF_READER if self._is_of_team else "")

        return await anyio.to_thread.run_sync(rank_tools)

    def find_domains(self) -> list[str]:
        """The domains that the names and descriptions of tools belong to. It blocks.

        Raises:
            LibraryError: the search index is damaged.
        """
        with self._reader.transaction() as db:
            return [
                domain
                for domain, words in DOMAINS.items()
                if db.execute(_ABOUT, (f"{{name description}} : ({' OR '.join(words.split())})",)).fetchone()
            ]

    def close(self) -> None:
        """Closes the files."""
        self._reader.close()
