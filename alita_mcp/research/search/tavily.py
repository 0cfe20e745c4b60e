"""Search back end for Tavily, an API with a key."""

from __future__ import annotations

from typing import Any

from alita_mcp.research.replies import Endpoint, endpoint
from alita_mcp.research.search.hits import JsonSearch
from alita_mcp.research.texts import MAX_QUERY, one_line

_MOST = 20


def tavily_endpoint(key: str, base_url: str = "https://api.tavily.com") -> Endpoint:
    """The endpoint of Tavily with its key; raises UsageError for an invalid key."""
    return endpoint(
        "tavily", base_url, setting="TAVILY_API_KEY", key=key, header="authorization", prefix="Bearer "
    )


class TavilySearch(JsonSearch):
    """Tavily search; implements `SearchBackend`."""

    name = "tavily"
    fields = ("url", "title", "content", "published_date")

    async def ask(self, query: str, limit: int) -> Any:
        """The parsed reply to a query; raises UsageError."""
        asked = {
            "query": one_line(query, MAX_QUERY),
            "max_results": min(limit, _MOST),
            "search_depth": "basic",
        }
        return await self._api.post("/search", asked)
