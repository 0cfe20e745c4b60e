"""Vector index of memories, where an embedder is set.

An embedder's cosines have no scale of their own, so sentences about something else say where "unrelated" begins.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from alita_mcp.agent.memory.records import KINDS, Memorable, MemoryKind, document_of
from alita_mcp.agent.memory.tables import FOLDER
from alita_mcp.library.search.vectors import PREFIX, VectorTable, cosine, text_vectors, unit
from alita_mcp.library.words.text import bounded_query
from alita_mcp.models.embedding.interface import Embedder, Vector

UNRELATED = (
    "The old bridge was painted green last spring.",
    "She plays the violin in a small orchestra.",
    "Bread rises slowly in a cold kitchen.",
    "The ferry leaves when the fog has lifted.",
)
MOST_AT_ONCE = 64
"""So many memories get a vector after one run; the others after later ones."""
CHARACTERS = 1_000
NEAREST = 50


class MemoryVectors:
    """Vectors of memories, one table for each kind."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self._folder = home / FOLDER
        self._embedder = embedder
        self._tables: dict[MemoryKind, VectorTable] = {}
        self._unrelated: list[Vector] = []
        self._opening = anyio.Lock()

    async def likeness(
        self, task: str, names: Mapping[MemoryKind, Collection[str]]
    ) -> dict[MemoryKind, dict[str, float]]:
        """Similarity of memories to a task, 0 (as unrelated sentences) to 1: the nearest and the named ones.

        Raises:
            ModelError: the embedder does not answer.
            LibraryError: the vectors cannot be read.
        """
        query = await self._query(task)
        floor = max(cosine(query, each) for each in self._unrelated)
        found: dict[MemoryKind, dict[str, float]] = {}
        for kind in KINDS:
            table = await self._table(kind, len(query))
            near = await table.nearest(query, NEAREST)
            if named := names.get(kind):
                near |= await table.nearest(query, len(named), named)
            found[kind] = {name: _scaled(cosine_, floor) for name, (cosine_,) in near.items()}
        return found

    async def fill(self, values: Mapping[MemoryKind, Mapping[str, Memorable]]) -> None:
        """Embeds new and changed memories, and drops the vectors of removed ones."""
        length = len(await self._query("memory"))
        left = MOST_AT_ONCE
        for kind in KINDS:
            table = await self._table(kind, length)
            documents = {name: document_of(value) for name, value in values[kind].items()}
            known = await table.hashes()
            missing = {name: each for name, each in documents.items() if known.get(name) != each.hash}
            missing = dict(list(missing.items())[:left])
            left -= len(missing)
            texts = [[each.description, *each.requests] for each in missing.values()]
            vectors = await text_vectors(
                [[text[:CHARACTERS] for text in row] for row in texts], self._embedder
            )
            rows = [
                {"name": name, "text_hash": document.hash, "vector": vector}
                for (name, document), (vector, _) in zip(missing.items(), vectors, strict=True)
            ]
            async with table.locked():
                await table.write(rows, known.keys() - documents.keys())

    async def purge(self) -> None:
        """Removes dropped vectors and those of other embedders from the disk."""
        for table in self._tables.values():
            async with table.locked():
                await table.purge()
        await anyio.to_thread.run_sync(
            drop_vectors, self._folder, {each.name for each in self._tables.values()}
        )

    async def reset(self) -> None:
        """Removes all vectors from the disk; they are computed again later."""
        self.close()
        await anyio.to_thread.run_sync(drop_vectors, self._folder, set())

    def close(self) -> None:
        """Closes the files."""
        for table in self._tables.values():
            table.close()
        self._tables.clear()

    async def _query(self, task: str) -> Vector:
        texts = [bounded_query(task)[:CHARACTERS] or "task", *(() if self._unrelated else UNRELATED)]
        first, *others = map(unit, await self._embedder.embed(texts))
        if others or len(first) != len(self._unrelated[0]):
            self._unrelated = others or [unit(each) for each in await self._embedder.embed(list(UNRELATED))]
        return first

    async def _table(self, kind: MemoryKind, length: int) -> VectorTable:
        async with self._opening:
            table = self._tables.get(kind)
            if table is None or table.length != length:
                table = VectorTable(self._folder, f"{kind} {self._embedder.name}", length)
                await table.open()
                self._tables[kind] = table
            return table


def drop_vectors(folder: Path, kept: Collection[str]) -> None:
    """Removes all vector tables from the disk except the named ones."""
    for place in folder.glob(f"{PREFIX}*.lance"):
        if place.stem not in kept:
            shutil.rmtree(place, ignore_errors=True)


def _scaled(cosine_: float, floor: float) -> float:
    return max(0.0, min(1.0, (cosine_ - floor) / max(1e-6, 1.0 - floor)))
