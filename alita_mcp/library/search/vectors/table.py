"""Table of one embedder's vectors, one for each tool, in LanceDB; computes cosines to a query's vector.

One table for each embedder and length, so that a change of model fills another table and disturbs nothing. Vectors
cost money: they stand apart from the search tables, and making those anew leaves them alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.file_locks import awaited
from alita_mcp.library.search.vectors.lance_table import LanceTable, quoted
from alita_mcp.library.words.text import Document
from alita_mcp.models.embedding.interface import Embedder, Vector, same_length

PREFIX = "vectors_"
NEAREST = 50
ROWS_FOR_A_TREE = 50_000
"""Below so many rows reading all of them is faster than any index."""
PROBES = 20
REFINED = 4
"""Among so many times the wanted rows an index's rough distances are made exact."""
NAMES_AT_ONCE = 500
EMBEDDING_PATIENCE_S = 120.0
"""How long a process waits for another one's embedding before it goes ahead all the same."""
EMBEDDING_POLL_S = 0.1

ReadDocuments = Callable[[Collection[str]], Mapping[str, Document]]
"""What the named tools are found by, of those that can be found; called in a thread."""


class VectorTable:
    """The vectors of one embedder."""

    def __init__(
        self,
        folder: Path,
        embedder: str,
        length: int,
        tree_from: int = ROWS_FOR_A_TREE,
        patience_s: float = EMBEDDING_PATIENCE_S,
    ) -> None:
        """From `tree_from` rows on an approximate index is made; `patience_s` is for another process's embedding."""
        self.folder = folder
        self.name = f"{PREFIX}{_plain(embedder)}_{length}"
        self.length = length
        self._embedder = embedder
        self._table = LanceTable(folder, self.name, self._columns)
        self._tree_from = tree_from
        self._patience_s = patience_s
        self._has_tree = False

    def _columns(self) -> Sequence[Any]:
        import pyarrow as pa

        return [pa.field("vector", pa.list_(pa.float32(), self.length), nullable=False)]

    async def open(self) -> None:
        """Opens the table, making it when there is none."""
        if not self._table.is_open:
            await self._table.open()

    def close(self) -> None:
        """Closes the files."""
        self._table.close()

    async def reset(self) -> None:
        """Removes the vectors from the disk."""
        await self._table.reset()

    async def check(self) -> None:
        """Reads every row.

        Raises:
            LibraryError: one cannot be read.
        """
        with self._table.translated():
            await self._table.hashes()
            flat = self._table.rows.query().nearest_to([1.0] * self.length).bypass_vector_index()
            await flat.limit(1).to_arrow()

    async def hashes(self) -> dict[str, str]:
        """The hash of each row by its name; a name that has several rows has none that holds."""
        with self._table.translated():
            return await self._table.hashes()

    async def hashes_of(self, names: Sequence[str]) -> dict[str, str]:
        """The hashes of these names' rows, where there are some."""
        found: dict[str, str] = {}
        with self._table.translated():
            for at in range(0, len(names), NAMES_AT_ONCE):
                chosen = self._table.rows.query().where(f"name IN ({quoted(names[at : at + NAMES_AT_ONCE])})")
                rows = await chosen.select(["name", "text_hash"]).to_arrow()
                found |= zip(rows["name"].to_pylist(), rows["text_hash"].to_pylist(), strict=True)
        return found

    async def remove(self, names: Collection[str]) -> None:
        """Drops the rows of these names."""
        with self._table.translated():
            async with self._table.locked():
                await self._table.remove(names)

    async def purge(self) -> None:
        """Removes from the disk what was dropped before."""
        with self._table.translated():
            async with self._table.locked():
                await self._table.purge()

    async def put(self, vectors: Mapping[str, Vector], documents: Mapping[str, Document]) -> None:
        """Keeps the vectors of these tools.

        Raises:
            ModelError: a vector is not of this table's length.
        """
        rows = [
            {
                "name": name,
                "text_hash": documents[name].hash,
                "vector": same_length(self._embedder, vector, self.length),
            }
            for name, vector in vectors.items()
        ]
        with self._table.translated():
            async with self._table.locked():
                await self._table.put(rows)
                await self._table.fold()

    @asynccontextmanager
    async def embedding_lock(self) -> AsyncIterator[None]:
        """One process at a time embeds, so that none pays for what another one is about to write.

        One that hangs is not waited for for ever: paying twice is better than not at all.
        """
        async with AsyncExitStack() as stack:
            with self._table.translated(), suppress(TimeoutError):
                lock = awaited(self.folder / f"{self.name}.turn", self._patience_s, EMBEDDING_POLL_S)
                await stack.enter_async_context(lock)
            yield

    async def grow_tree(self) -> None:
        """Makes an approximate index where there are enough rows; call it under `embedding_lock`, for it takes long."""
        if self._has_tree:
            return
        with self._table.translated():
            if await self._table.rows.count_rows() < self._tree_from:
                return
            from lancedb.index import IvfSq

            if not await self._table.rows.list_indices():
                await self._table.rows.create_index("vector", config=IvfSq(distance_type="cosine"))
            self._has_tree = True

    async def cosines(self, query: Vector, names: Collection[str]) -> dict[str, float]:
        """Cosines of the nearest tools and of the named ones; those without a vector have none.

        Raises:
            ModelError: the query's vector is not of this table's length.
        """
        same_length(self._embedder, query, self.length)
        near: dict[str, float] = {}
        named: dict[str, float] = {}

        async def seek(search: Any, found: dict[str, float]) -> None:
            with self._table.translated():
                rows = await search.select(["name", "_distance"]).to_arrow()
            distances = zip(rows["name"].to_pylist(), rows["_distance"].to_pylist(), strict=True)
            found.update((name, 1.0 - distance) for name, distance in distances)

        try:
            async with anyio.create_task_group() as tasks:
                nearest = self._to(query).nprobes(PROBES).refine_factor(REFINED)
                tasks.start_soon(seek, nearest.limit(NEAREST), near)
                if names:
                    these = self._to(query).bypass_vector_index().where(f"name IN ({quoted(names)})")
                    tasks.start_soon(seek, these.limit(len(names)), named)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        return named | near

    def _to(self, query: Vector) -> Any:
        with self._table.translated():
            return self._table.rows.query().nearest_to(list(query)).distance_type("cosine")


async def vectors_of(
    names: Sequence[str],
    documents: Mapping[str, Document],
    embedder: Embedder,
    characters: int | None = None,
) -> dict[str, Vector]:
    """A vector for each tool: what it is about, averaged with the mean of its example requests.

    Of each text no more than the first `characters` are used; None: all.
    """
    texts = [
        text[:characters] for name in names for text in (documents[name].about, *documents[name].requests)
    ]
    found = iter(await embedder.embed(texts))
    parts = {name: (next(found), [next(found) for _ in documents[name].requests]) for name in names}

    def averaged() -> dict[str, Vector]:
        return {name: tool_vector(about, requests) for name, (about, requests) in parts.items()}

    return await anyio.to_thread.run_sync(averaged)


def tool_vector(about: Vector, requests: Sequence[Vector]) -> Vector:
    """The vector of a tool from that of its description and those of its example requests."""
    if not requests:
        return unit(about)
    means = [math.fsum(column) / len(requests) for column in zip(*map(unit, requests), strict=True)]
    return unit([a + b for a, b in zip(unit(about), means, strict=True)])


def cosine(one: Vector, other: Vector) -> float:
    """Of two vectors of length one."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def unit(vector: Vector) -> Vector:
    """The vector at length one; one without a direction gets the same small part of every direction."""
    length = math.sqrt(math.fsum(value * value for value in vector))
    if length < 1e-12:  # such a row would vanish from every answer
        return [1 / math.sqrt(len(vector))] * len(vector)
    return [value / length for value in vector]


def _plain(embedder: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", embedder.lower()).strip("_")[-40:]
    return f"{words}_{hashlib.sha256(embedder.encode()).hexdigest()[:8]}"
