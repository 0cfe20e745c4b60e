"""Search back end for Tavily, an API with a key."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from alita_mcp.research.replies import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.search.hits import hits_of
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import SearchHit

_MOST = 20


def tavily_endpoint(key: str, base_url: str = "https://api.tavily.com") -> Endpoint:
    """The endpoint of Tavily with its key; raises UsageError for an invalid key."""
    return endpoint(
        "tavily", base_url, setting="ALITA_TAVILY_KEY", key=key, header="authorization", prefix="Bearer "
    )


class TavilySearch:
    """Tavily search; implements `SearchBackend`."""

    name = "tavily"

    def __init__(
        self, client: httpx.AsyncClient, at: Endpoint, allowed: frozenset[str] = frozenset()
    ) -> None:
        self._api = JsonApi(client, at)
        self._allowed = allowed

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits in its own order; raises UsageError."""
        asked = {
            "query": one_line(query, MAX_QUERY),
            "max_results": min(limit, _MOST),
            "search_depth": "basic",
        }
        rows = rows_of(self.name, await self._api.post("/search", asked), "results")
        found = (
            (row.get("url"), row.get("title"), row.get("content"), row.get("published_date")) for row in rows
        )
        return hits_of(self.name, found, limit, self._allowed)
