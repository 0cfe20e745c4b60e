"""The server's own search over tools that were never published."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.library.background import background
from alita_mcp.library.catalogue.search_tables import SearchWriter, create
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.words.text import Document
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
            finder = Finder(SearchReader(path), partial(some, documents), tasks, embedder)
            try:
                with anyio.move_on_after(READY_WITHIN_S) as patience:
                    await finder.vectors_ready()
                if patience.cancelled_caught:
                    raise ModelError("The embedder gave no vectors in time.", hint="The log says why.")
                yield finder
            finally:
                tasks.cancel_scope.cancel()
                finder.close()


def write(path: Path, documents: Mapping[str, Document], *, anew: bool = True) -> None:
    """Makes search tables of these documents, or brings them into those that are there."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        if anew:
            create(db)
        writer = SearchWriter(db)
        for name, document in documents.items():
            writer.put(name, document)
        writer.write()
        db.execute("COMMIT")


def some(documents: Mapping[str, Document], names: Collection[str]) -> dict[str, Document]:
    """The existing ones of these names."""
    return {name: documents[name] for name in names if name in documents}


async def must_answer(embedder: Embedder | None) -> None:
    """Waits until the embedder has given a vector; a search would not wait for one that is unreachable.

    Raises:
        ModelError: it gives none.
    """
    if embedder is not None:
        await embedder.embed(["is there a model"])
