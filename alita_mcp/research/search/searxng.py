"""Search back end for SearXNG, a search engine that a person hosts."""

from __future__ import annotations

from typing import Any

from alita_mcp.research.replies import Endpoint, endpoint
from alita_mcp.research.search.hits import JsonSearch
from alita_mcp.research.texts import MAX_QUERY, one_line


def searxng_endpoint(url: str) -> Endpoint:
    """The endpoint of a SearXNG; raises UsageError for an invalid URL."""
    found = endpoint("searxng", url, setting="ALITA_SEARXNG_URL")
    return found.model_copy(
        update={"advice": "Check ALITA_SEARXNG_URL, and that search.formats in its settings.yml names json."}
    )


class SearxngSearch(JsonSearch):
    """SearXNG search, which needs `json` among its `search.formats`; implements `SearchBackend`."""

    name = "searxng"
    fields = ("url", "title", "content", "publishedDate")

    async def ask(self, query: str, limit: int) -> Any:  # noqa: ARG002 - it takes no limit
        """The parsed reply to a query; raises UsageError."""
        return await self._api.get("/search", {"q": one_line(query, MAX_QUERY), "format": "json"})
