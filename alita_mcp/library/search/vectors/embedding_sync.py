"""Embeds tools that lack a vector, batch by batch, and passes over those that the embedder refuses."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import anyio.to_thread

from alita_mcp.errors import ModelError
from alita_mcp.library.search.vectors.table import ReadDocuments, VectorTable, vectors_of
from alita_mcp.library.words.text import Document
from alita_mcp.models.embedding.interface import Embedder, Vector, same_length

TOOLS_AT_ONCE = 256
SHORTENED_CHARACTERS = 1_000
"""What a refused text is cut to before it is tried once more; the shortest model takes about as much."""
MOST_REFUSED = 8
"""Of one batch; more refusals than that are the embedder's fault, not the texts'."""
COVERED_FROM = 0.8
"""From this share of tools with a vector on their cosines are worth more than words alone."""
PROBE = "how long is a vector"

_log = logging.getLogger(__name__)


class EmbeddingSync:
    """Vectors of a set of tools, and the work left to complete them."""

    def __init__(self, table: VectorTable, embedder: Embedder, read: ReadDocuments) -> None:
        self.table = table
        self._embedder = embedder
        self._read = read
        self._wanted: Mapping[str, str] = {}
        """The hashes of the tools' present documents by their names."""
        self._lacking: dict[str, bool] = {}
        """Names without a vector of their present text, those to come first in front; True: not even an old one."""
        self._gone: set[str] = set()
        self._refused: dict[str, str] = {}
        """Hashes of texts that the embedder does not take, by the tools' names."""

    @property
    def is_done(self) -> bool:
        """Whether every wanted tool has its vector, if it can have one, and no other one has."""
        return not self._lacking and not self._gone

    @property
    def covers(self) -> bool:
        """Whether enough tools have a vector to search by them; a single one without never matters."""
        without = sum(self._lacking.values()) + len(self._refused)
        return bool(self._wanted) and without <= max(1.0, (1 - COVERED_FROM) * len(self._wanted))

    async def begin(self, wanted: Mapping[str, str]) -> None:
        """Compares all rows with the hashes of these tools.

        Raises:
            LibraryError: the rows cannot be read.
        """
        there = await self.table.hashes()
        self._wanted = wanted
        self._lacking = {
            name: name not in there
            for name, digest in wanted.items()
            if there.get(name) != digest and self._refused.get(name) != digest
        }
        self._gone = there.keys() - wanted.keys()

    def set_documents(self, wanted: Mapping[str, str]) -> None:
        """Sets the wanted documents by their hashes; new ones come first."""
        before, self._wanted = self._wanted, wanted
        fresh = {name: name not in before for name, digest in wanted.items() if before.get(name) != digest}
        left = {
            name: absent for name, absent in self._lacking.items() if name in wanted and name not in fresh
        }
        self._lacking = {
            name: absent or self._lacking.get(name, False) for name, absent in fresh.items()
        } | left
        self._gone = (self._gone | before.keys()) - wanted.keys()
        for name in self._refused.keys() & (fresh.keys() | self._gone):
            del self._refused[name]

    async def step(self) -> None:
        """Brings the next tools up to date.

        Raises:
            LibraryError: the table fails.
            ModelError: the embedder is away, or refuses too much; what it gave is kept.
        """
        async with self.table.embedding_lock():
            if self._gone:
                gone = frozenset(self._gone)
                await self.table.remove(gone)
                self._gone -= gone
            documents = await self._next()
            names = list(documents)
            there = await self.table.hashes_of(names) if names else {}
            self._settle([name for name in names if there.get(name) == documents[name].hash], documents)
            missing = [name for name in names if there.get(name) != documents[name].hash]
            if missing:
                await self._fill(missing, documents, refused=[])

    async def _next(self) -> Mapping[str, Document]:
        """The documents of the next tools; as they are now they are wanted, unless others were meanwhile."""
        wanted, names = self._wanted, list(self._lacking)[:TOOLS_AT_ONCE]
        documents = await anyio.to_thread.run_sync(self._read, names)
        hashes = {name: document.hash for name, document in documents.items()}
        if wanted is self._wanted and any(hashes.get(name) != wanted[name] for name in names):
            self.set_documents(
                {name: digest for name, digest in wanted.items() if name not in names} | hashes
            )
        return documents

    def _settle(self, names: Sequence[str], documents: Mapping[str, Document]) -> None:
        """Notes that these have the vectors of these documents, which may not be the newest any more."""
        for name in names:
            if self._wanted.get(name) == documents[name].hash:
                self._lacking.pop(name, None)
            elif name in self._lacking:
                self._lacking[name] = False

    async def _fill(
        self, names: Sequence[str], documents: Mapping[str, Document], refused: list[str]
    ) -> None:
        """Embeds these tools; where the embedder refuses them together, in halves, down to the one that it refuses."""
        try:
            vectors = await vectors_of(names, documents, self._embedder)
        except ModelError as failure:
            await self._is_there()
            if len(names) > 1:
                middle = len(names) // 2
                await self._fill(names[:middle], documents, refused)
                await self._fill(names[middle:], documents, refused)
                return
            vectors = await self._shortened(names[0], documents, failure, refused)
        await self.table.put(vectors, documents)
        self._settle(list(vectors), documents)

    async def _shortened(
        self, name: str, documents: Mapping[str, Document], failure: ModelError, refused: list[str]
    ) -> dict[str, Vector]:
        try:
            return await vectors_of([name], documents, self._embedder, SHORTENED_CHARACTERS)
        except ModelError:
            await self._is_there()
        _log.warning("The tool %r is found by its words only: %s", name, failure)
        self._settle([name], documents)
        self._refused[name] = documents[name].hash
        refused.append(name)
        if len(refused) >= MOST_REFUSED:
            raise failure
        return {}

    async def _is_there(self) -> None:
        """Raises ModelError where the embedder takes no plain text either: then it is away, and refused nothing."""
        vector = (await self._embedder.embed([PROBE]))[0]
        same_length(self._embedder.name, vector, self.table.length)
