"""Runs and facts to remember, and a memory of a test's own home."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.agent.memory.store import StoredMemory, open_memory
from alita_mcp.models.embedding.interface import Embedder
from alita_mcp.settings import Settings

Opened = Callable[..., AbstractAsyncContextManager[StoredMemory]]


@pytest.fixture
def opened(home: Path) -> Opened:
    """Opens the memory of the test's home, as often as wanted."""

    @asynccontextmanager
    async def open_it(
        embedder: Embedder | None = None, secrets: Callable[[], Any] = tuple, most: int = 2_000
    ) -> AsyncIterator[StoredMemory]:
        async with open_memory(Settings(home=home, memory_max=most), embedder, secrets) as memory:
            yield memory

    return open_it
