"""SearXNG, a search engine that a person runs: its JSON format in, hits out."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from alita_mcp.research.replies import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.search.hits import hits_of
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import SearchHit


def searxng_endpoint(url: str) -> Endpoint:
    """Where a SearXNG is; raises UsageError for what is no URL."""
    found = endpoint("searxng", url, setting="ALITA_SEARXNG_URL")
    return found.model_copy(
        update={"advice": "Check ALITA_SEARXNG_URL, and that search.formats in its settings.yml names json."}
    )


class SearxngSearch:
    """Fills `SearchBackend`; needs `json` among `search.formats` in the settings of the SearXNG."""

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
