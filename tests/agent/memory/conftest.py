"""Short ways to ask a memory."""

from __future__ import annotations

from collections import Counter

from alita_mcp.agent.memory.store import StoredMemory


async def counts(memory: StoredMemory) -> Counter[str]:
    """How many memories there are of each kind."""
    return Counter(each.kind for each in await memory.list())


async def forget(memory: StoredMemory, query: str) -> int:
    """Forgets what has all words of a query."""
    return await memory.forget([each.id for each in await memory.list(query=query)])
