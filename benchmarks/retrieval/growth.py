"""Search time, build time and disk size by the number of tools.

The tools are made of the words of real ones: name and parameters of one, description of another.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from alita_mcp.library.background import background
from alita_mcp.library.search.finder import Finder
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.words.text import Document
from alita_mcp.models.embedding.interface import Embedder
from benchmarks.retrieval import figures, needs, search_under_test

QUERIES = 200


async def measure(
    tools: Sequence[needs.CatalogueTool],
    queries: Sequence[needs.Need],
    sizes: Sequence[int],
    embedder: Embedder | None,
) -> dict[str, dict[str, float]]:
    """The figures of each size, under its number."""
    return {str(size): await _measure(enlarged(tools, size), queries, embedder) for size in sizes}


def enlarged(tools: Sequence[needs.CatalogueTool], size: int) -> dict[str, Document]:
    """So many tools, the same ones each time."""
    draw = random.Random(size)
    documents: dict[str, Document] = {}
    while len(documents) < size:
        one, other = draw.choice(tools), draw.choice(tools)
        made = one.model_copy(
            update={"name": f"{one.name}_{len(documents)}", "description": other.description}
        )
        documents[made.name] = made.document()
    return documents


async def _measure(
    documents: dict[str, Document], queries: Sequence[needs.Need], embedder: Embedder | None
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder:
        path = Path(folder) / "documents.sqlite3"
        started = time.perf_counter()
        await anyio.to_thread.run_sync(search_under_test.write, path, documents)
        async with background() as tasks:
            finder = Finder(SearchReader(path), partial(search_under_test.some, documents), tasks, embedder)
            try:
                await finder.vectors_ready()
                built = time.perf_counter() - started
                times = [await _timed(finder, need.query) for need in queries[:QUERIES]]
                fresh = await _freshness(finder, path, documents)
            finally:
                tasks.cancel_scope.cancel()
                finder.close()
        disk = await anyio.to_thread.run_sync(_bytes_in, Path(folder))
    return {
        **figures.percentiles(times),
        "build_s": built,
        "fresh_s": fresh,
        "disk_mb": disk / 1e6,
    }


async def _timed(finder: Finder, query: str) -> float:
    started = time.perf_counter()
    await finder.search(query)
    return (time.perf_counter() - started) * 1_000


async def _freshness(finder: Finder, path: Path, documents: dict[str, Document]) -> float:
    """Seconds until a new tool is written and is the first hit."""
    documents["new"] = Document("zyzzyva weevil", "new", "zyzzyva weevil")
    started = time.perf_counter()
    write = partial(search_under_test.write, path, {"new": documents["new"]}, anew=False)
    await anyio.to_thread.run_sync(write)
    finder.track()
    while not (hits := (await finder.search("zyzzyva")).hits) or hits[0].name != "new":  # noqa: ASYNC110
        await anyio.sleep(0.005)  # what is timed is how soon it is there
    return time.perf_counter() - started


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
