"""The server's own search over tools that were never published."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.library.background import background
from alita_mcp.library.catalogue.search_tables import create, put_document
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.words.documents import Document
from alita_mcp.models.embedding.interface import Embedder

READY_WITHIN_S = 600.0


@asynccontextmanager
async def opened(
    documents: Mapping[str, Document], embedder: Embedder | None = None
) -> AsyncIterator[Finder]:
    """A finder over them, with all vectors, in a folder that is gone afterwards.

    Raises:
        ModelError: the embedder gives no vectors.
    """
    await must_answer(embedder)
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        path = Path(folder) / "documents.sqlite3"
        await anyio.to_thread.run_sync(write, path, documents)
        async with background() as tasks:
            finder = Finder(SearchReader(path), tasks, embedder)
            try:
                with anyio.move_on_after(READY_WITHIN_S) as patience:
                    if finder.vectors is not None:
                        await finder.vectors.ready()
                if patience.cancelled_caught:
                    raise ModelError("The embedder gave no vectors in time.", hint="The log says why.")
                yield finder
            finally:
                tasks.cancel_scope.cancel()
                finder.close()


def write(path: Path, documents: Mapping[str, Document]) -> None:
    """Makes a search index of these documents."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        create(db)
        for name, document in documents.items():
            put_document(db, name, document)
        db.execute("COMMIT")


async def must_answer(embedder: Embedder | None) -> None:
    """Waits until the embedder has given a vector; a search would not wait for one that is unreachable.

    Raises:
        ModelError: it gives none.
    """
    if embedder is not None:
        await embedder.embed(["is there a model"])
