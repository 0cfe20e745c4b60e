"""The search index by words: LanceDB's full text over one row a tool. Derived from the catalogue, so it may be lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.library.lance_table import LOCK_TIMEOUT_S, LanceTable
from alita_mcp.library.search_text import Document

TABLE = "tools_v1"
CANDIDATES = 50
MOST_NAMED = 1_000

Documents = Callable[[], Mapping[str, Document]]


class SearchIndex:
    """The full text of all tools; several processes may use it at once."""

    def __init__(self, folder: Path, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        """`lock_timeout_s` is how long it waits for another process that changes it."""
        self.folder = folder
        self._table = LanceTable(folder, TABLE, _columns, lock_timeout_s=lock_timeout_s)
        self._mirrored: Mapping[str, Document] | None = None
        """What the rows were made from the last time; None: they have to be looked at, all of them."""

    @property
    def is_open(self) -> bool:
        """Whether queries can be asked."""
        return self._table.is_open

    async def open(self) -> None:
        """Opens the index, making it when there is none; the first time costs a second for the import."""
        await self._table.open()
        with self._table.translated():
            await self._make_text_index()

    async def _make_text_index(self) -> None:
        from lancedb.index import FTS

        rows = self._table.rows
        try:
            await self._table.again(lambda: rows.create_index("search_text", config=FTS(), replace=False))
        except RuntimeError as error:
            if "already exists" not in str(error):
                raise

    def close(self) -> None:
        """Lets go of the files; the index can be opened again."""
        self._mirrored = None
        self._table.close()

    async def sync(self, documents: Documents) -> Mapping[str, Document]:
        """Makes the rows those of `documents()`, which is asked under the lock, and answers them.

        Whoever notices a change looks after the rows of the tools that it touched, and at all rows when their
        number is wrong; so the cost does not grow with the library.
        """
        table, mirrored = self._table, self._mirrored
        self._mirrored = None
        with table.translated():
            async with table.locked():
                fresh = await anyio.to_thread.run_sync(documents)
                changed = (
                    None if mirrored is None else await anyio.to_thread.run_sync(_changed, mirrored, fresh)
                )
                await self._put_right(fresh, changed)
                if changed is not None and await table.count() != len(fresh):
                    await self._put_right(fresh, None)
                await table.fold()
        self._mirrored = fresh
        return fresh

    async def _put_right(self, fresh: Mapping[str, Document], names: Collection[str] | None) -> None:
        """Makes the rows of these names, or all rows, those of the documents."""
        if names is not None and not names:
            return
        there, twice = await self._table.hashes(names)
        await self._table.remove(twice | (there.keys() - fresh.keys()))
        await self._table.put(
            [
                {"name": name, "text_hash": fresh[name].hash, "search_text": fresh[name].text}
                for name in (fresh if names is None else names)
                if name in fresh and (name in twice or there.get(name) != fresh[name].hash)
            ]
        )

    async def rows(self) -> tuple[Mapping[str, str], Collection[str]]:
        """The hash of each row by its tool's name, and the names of several rows, which there should never be."""
        with self._table.translated():
            return await self._table.hashes()

    async def candidates(self, *queries: str) -> list[str]:
        """Names of the tools whose texts have most of any of these queries, each name once."""
        from lancedb.query import MatchQuery

        words_of: Any = MatchQuery  # a plain string in quotation marks would be a phrase
        found: dict[str, None] = {}
        with self._table.translated():
            for query in queries:
                search = self._table.rows.query().nearest_to_text(words_of(query, "search_text"))
                rows = await search.select(["name", "_score"]).limit(CANDIDATES).to_arrow()
                found |= dict.fromkeys(rows["name"].to_pylist())
        return list(found)

    def tokens(self, text: str) -> list[str]:
        """The words of a text as the index counts them: stemmed, without stop words."""
        import lancedb

        return [token.text for token in lancedb.tokenize(text)]

    async def reset(self) -> None:
        """Removes the index from the disk."""
        await self._table.reset(whole_folder=True)


def _changed(before: Mapping[str, Document], after: Mapping[str, Document]) -> list[str] | None:
    """The names whose rows may be wrong; None when they are too many to be named."""
    new = (name for name, document in after.items() if before.get(name) != document)
    gone = (name for name in before if name not in after)
    names = list(islice(chain(new, gone), MOST_NAMED + 1))
    return names if len(names) <= MOST_NAMED else None


def _columns() -> Sequence[Any]:
    import pyarrow as pa

    return [pa.field("search_text", pa.string(), nullable=False)]
