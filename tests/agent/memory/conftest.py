"""Runs and facts to remember, and a memory of a test's own home."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.agent.memory.store import StoredMemory, open_memory
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.settings import Settings

Opened = Callable[..., AbstractAsyncContextManager[StoredMemory]]


async def counts(memory: StoredMemory) -> Counter[str]:
    """How many memories there are of each kind."""
    return Counter(each.kind for each in await memory.list())


async def forget(memory: StoredMemory, query: str) -> int:
    """Forgets what has all words of a query."""
    return await memory.forget([each.id for each in await memory.list(query=query)])


@pytest.fixture
def opened(home: Path) -> Opened:
    """Opens the memory of the test's home, as often as wanted."""

    @asynccontextmanager
    async def open_it(
        embedder: Embedder | None = None, secrets: Callable[[], Any] = tuple, most: int = 2_000
    ) -> AsyncIterator[StoredMemory]:
        async with open_memory(Settings(home=home), embedder, secrets, most) as memory:
            yield memory

    return open_it
