"""The server's own search over a catalogue that was never published: documents and queries in, rankings out."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from alita_mcp.errors import ModelError
from alita_mcp.library.background import background
from alita_mcp.library.finder import Finder
from alita_mcp.library.index import SearchIndex
from alita_mcp.library.search_text import Document
from alita_mcp.models.embedding import Embedder

READY_WITHIN_S = 600.0


@asynccontextmanager
async def opened(
    documents: Mapping[str, Document], embedder: Embedder | None = None
) -> AsyncIterator[Finder]:
    """A finder whose index is complete, in a folder that is gone afterwards.

    Raises:
        ModelError: the embedder gives no vectors.
    """
    await must_answer(embedder)
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        async with background() as tasks:
            finder = Finder(SearchIndex(Path(folder) / "index.lance"), lambda: documents, tasks, embedder)
            try:
                finder.want(documents)
                await finder.rebuild()
                with anyio.move_on_after(READY_WITHIN_S) as patience:
                    await finder.has_meaning()
                if patience.cancelled_caught:
                    raise ModelError("The embedder gave no vectors in time.", hint="The log says why.")
                yield finder
            finally:
                tasks.cancel_scope.cancel()
                finder.close()


async def must_answer(embedder: Embedder | None) -> None:
    """Returns when the embedder gave a vector: a search would wait in the background for one that is away.

    Raises:
        ModelError: it gives none.
    """
    if embedder is not None:
        await embedder.embed(["is there a model"])
