"""Search back end for SearXNG, a search engine that a person hosts."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from alita_mcp.research.replies import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.search.hits import hits_of
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import SearchHit


def searxng_endpoint(url: str) -> Endpoint:
    """The endpoint of a SearXNG; raises UsageError for an invalid URL."""
    found = endpoint("searxng", url, setting="ALITA_SEARXNG_URL")
    return found.model_copy(
        update={"advice": "Check ALITA_SEARXNG_URL, and that search.formats in its settings.yml names json."}
    )


class SearxngSearch:
    """SearXNG search, which needs `json` among its `search.formats`; implements `SearchBackend`."""

    name = "searxng"

    def __init__(
        self, client: httpx.AsyncClient, at: Endpoint, allowed: frozenset[str] = frozenset()
    ) -> None:
        self._api = JsonApi(client, at)
        self._allowed = allowed

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits in its own order; raises UsageError."""
        asked = {"q": one_line(query, MAX_QUERY), "format": "json"}
        rows = rows_of(self.name, await self._api.get("/search", asked), "results")
        found = (
            (row.get("url"), row.get("title"), row.get("content"), row.get("publishedDate")) for row in rows
        )
        return hits_of(self.name, found, limit, self._allowed)
