"""Latency of `search_capabilities` over stdio: a real server process, asked with the SDK's client."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from alita_mcp.library.background import background
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.search.finder import finder_for
from alita_mcp.settings import Settings
from benchmarks.retrieval import figures, large_library, needs, starting

QUERIES = 300
AT_WORK_S = 0.25
"""A server whose search takes longer is still getting ready."""
SETTLE_S = 3.0
"""Left to the server for what it still does in the background before it is timed."""
WITHIN_S = 900.0
MARK = "zyzzyva_weevil"
CATALOGUE = "library.sqlite3"


async def measure(
    tools: Sequence[needs.CatalogueTool],
    queries: Sequence[needs.Need],
    sizes: Sequence[int],
    embedder: str | None,
) -> dict[str, dict[str, float]]:
    """The figures of each size, under its number."""
    return {str(size): await _measure(tools, queries, size, embedder) for size in sizes}


async def _measure(
    tools: Sequence[needs.CatalogueTool], queries: Sequence[needs.Need], size: int, embedder: str | None
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="alita-bench-") as folder, anyio.fail_after(WITHIN_S):
        home = Path(folder) / "home"
        await anyio.to_thread.run_sync(large_library.fill, home, tools, size)
        built = await _build(Settings(home=home, embedder=embedder))
        starts = await starting.measure(home, Path(folder) / "empty", partial(_server, embedder=embedder))
        started, others = time.perf_counter(), starting.processes()
        async with _server(home, embedder) as client:
            while await _search(client, queries[0].query) > AT_WORK_S:
                pass
            ready = time.perf_counter() - started
            await anyio.sleep(SETTLE_S)
            asked = [queries[at % len(queries)].query for at in range(QUERIES)]
            times = [1_000 * await _search(client, query) for query in asked]
            searched = starting.cost_of(starting.processes() - others, "searched")
            fresh = await _freshness(home, client, tools[0])
        disk = sum(file.stat().st_size for file in _files(home))
    return {
        **starts,
        **figures.percentiles(times),
        **searched,
        "ready_s": ready,
        "fresh_s": fresh,
        "build_s": built,
        "disk_mb": disk / 1e6,
    }


async def _build(settings: Settings) -> float:
    """Seconds that the search tables take to be made anew, and all vectors."""
    started = time.perf_counter()
    await anyio.to_thread.run_sync(_reindex, settings.home)
    async with background() as tasks:
        finder = finder_for(settings, settings.home / CATALOGUE, tasks)
        try:
            await finder.vectors_ready()
            return time.perf_counter() - started
        finally:
            tasks.cancel_scope.cancel()
            finder.close()


def _reindex(home: Path) -> None:
    with closing(Catalogue(home / CATALOGUE)) as catalogue:
        catalogue.reindex()


def _files(home: Path) -> list[Path]:
    return [file for file in (*home.glob("*.lance/**/*"), home / CATALOGUE) if file.is_file()]


@asynccontextmanager
async def _server(home: Path, embedder: str | None) -> AsyncIterator[Client]:
    variables = {"ALITA_HOME": str(home), **({"ALITA_EMBEDDER": embedder} if embedder else {})}
    inherited = dict(os.environ)  # noqa: TID251 - the process inherits what ours has
    inherited.pop("ALITA_EMBEDDER", None)
    command = ["-m", "alita_mcp.server.transports.entry"]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=inherited | variables)
    with (home.parent / "server.log").open("a", encoding="utf-8") as log:
        async with Client(stdio_client(parameters, errlog=log), read_timeout_seconds=WITHIN_S) as client:
            yield client


async def _search(client: Client, query: str) -> float:
    started = time.perf_counter()
    await _found(client, query)
    return time.perf_counter() - started


async def _found(client: Client, query: str) -> Sequence[dict[str, Any]]:
    answer = await client.call_tool("search_capabilities", {"query": query, "limit": 5})
    rows: Sequence[dict[str, Any]] = (answer.structured_content or {})["results"]
    return rows


async def _freshness(home: Path, client: Client, tool: needs.CatalogueTool) -> float:
    """Seconds from the commit of a new tool in this process until the server finds it."""
    new = large_library.manifest_of(MARK, tool, "Tells a zyzzyva from a weevil.")
    await anyio.to_thread.run_sync(large_library.enter, home, [new])
    started = time.perf_counter()
    while (await _found(client, "zyzzyva weevil"))[0]["name"] != MARK:  # noqa: ASYNC110 - another process
        await anyio.sleep(0.005)
    return time.perf_counter() - started
