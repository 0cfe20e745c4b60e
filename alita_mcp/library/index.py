"""The search index: LanceDB's full text over one row a tool. Derived from the catalogue, so it may be lost.

The only module that imports lancedb and pyarrow, on first use, in a thread. What they raise comes out as
`LibraryError`; the caller rebuilds.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import LibraryError
from alita_mcp.library.locks import held
from alita_mcp.library.ranking import Document
from alita_mcp.settings import quiet_lancedb

TABLE = "tools_v1"
"""Another schema gets another name."""
CANDIDATES = 50
WRITES_BEFORE_OPTIMIZING = 20
LOCK_TIMEOUT_S = 10.0

Documents = Callable[[], Mapping[str, Document]]


class SearchIndex:
    """One LanceDB folder; several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = folder.with_suffix(".lock")
        self._db: Any = None
        self._table: Any = None
        self._writes = 0

    @property
    def is_open(self) -> bool:
        """Whether queries can be asked."""
        return self._table is not None

    async def open(self) -> None:
        """Opens the table, making it when there is none; the first time costs a second for the import."""
        with _translated(self.folder):
            lancedb, schema = await anyio.to_thread.run_sync(_load)
            self._db = await lancedb.connect_async(self.folder, read_consistency_interval=timedelta(0))
            self._table = await self._db.create_table(TABLE, schema=schema, exist_ok=True)
            await self._make_text_index()

    async def _make_text_index(self) -> None:
        from lancedb.index import FTS

        try:
            await self._table.create_index("search_text", config=FTS(), replace=False)
        except RuntimeError as error:
            if "already exists" not in str(error):
                raise

    def close(self) -> None:
        """Lets go of the files; the index can be opened again."""
        for handle in (self._table, self._db):
            if handle is not None:
                handle.close()
        self._table = self._db = None

    async def sync(self, documents: Documents) -> Mapping[str, Document]:
        """Makes the rows those of `documents()`, which is asked under the lock, and answers them."""
        with _translated(self.folder):
            async with self._locked():
                fresh = await anyio.to_thread.run_sync(documents)
                await self._reconcile(fresh)
                await self._optimize()
        return fresh

    async def _reconcile(self, fresh: Mapping[str, Document]) -> None:
        found = await self._table.query().select(["name", "text_hash"]).to_list()
        there = {row["name"]: row["text_hash"] for row in found}
        twice = {name for name, rows in Counter(row["name"] for row in found).items() if rows > 1}
        surplus = twice | (there.keys() - fresh.keys())
        if surplus:
            await self._table.delete(f"name IN ({', '.join(map(_quoted, sorted(surplus)))})")
            self._writes += 1
        stale = [
            name for name, document in fresh.items() if name in twice or there.get(name) != document.hash
        ]
        if stale:
            await self._upsert({name: fresh[name] for name in stale})

    async def _upsert(self, documents: Mapping[str, Document]) -> None:
        import pyarrow as pa

        rows = [
            {"name": name, "text_hash": document.hash, "search_text": document.text}
            for name, document in documents.items()
        ]
        merge = self._table.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
        await merge.use_index(False).execute(pa.Table.from_pylist(rows, schema=_schema()))
        self._writes += 1

    async def _optimize(self) -> None:
        """Folds the many small writes into one, now and then; another process's turn is as good as ours."""
        if self._writes < WRITES_BEFORE_OPTIMIZING:
            return
        self._writes = 0
        try:
            await self._table.optimize(cleanup_older_than=timedelta(hours=1))
        except RuntimeError as error:
            if "conflict" not in str(error).lower():
                raise

    async def candidates(self, query: str) -> dict[str, float]:
        """BM25 scores of the best tools by name."""
        with _translated(self.folder):
            search = self._table.query().nearest_to_text(query, columns="search_text")
            rows = await search.select(["name", "_score"]).limit(CANDIDATES).to_list()
        return {row["name"]: float(row["_score"]) for row in rows}

    def tokens(self, text: str) -> list[str]:
        """The words of a text as the index counts them: stemmed, without stop words."""
        import lancedb

        return [token.text for token in lancedb.tokenize(text)]

    async def reset(self) -> None:
        """Removes the index from the disk."""
        self.close()
        with _translated(self.folder):
            async with self._locked():
                await anyio.to_thread.run_sync(_remove, self.folder)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """One process at a time changes rows, so that none writes what another already made obsolete."""
        lock = held(self._lock, LOCK_TIMEOUT_S)
        await anyio.to_thread.run_sync(lock.__enter__)
        try:
            yield
        finally:
            lock.__exit__(None, None, None)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _load() -> tuple[Any, Any]:
    quiet_lancedb()
    import lancedb

    return lancedb, _schema()


def _schema() -> Any:
    import pyarrow as pa

    key = {"lance-schema:unenforced-primary-key": "true"}
    return pa.schema(
        [
            pa.field("name", pa.string(), nullable=False, metadata=key),
            pa.field("text_hash", pa.string(), nullable=False),
            pa.field("search_text", pa.string(), nullable=False),
        ]
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    try:
        yield
    except LibraryError:
        raise
    except Exception as error:  # a panic in its Rust is an Exception of no public class
        raise LibraryError(
            f"The search index {folder} cannot be used: {error}.", hint="Run alita reindex."
        ) from error
