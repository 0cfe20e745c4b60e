"""Search back end for Brave Search, an API with a key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import httpx

from alita_mcp.research.replies import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.search.hits import Row, hits_of
from alita_mcp.research.texts import MAX_QUERY, one_line, without_markup
from alita_mcp.research.values import SearchHit

_MOST, _MOST_WORDS = 20, 50


def brave_endpoint(key: str, base_url: str = "https://api.search.brave.com") -> Endpoint:
    """The endpoint of Brave Search with its key; raises UsageError for an invalid key."""
    return endpoint("brave", base_url, setting="ALITA_BRAVE_KEY", key=key, header="x-subscription-token")


class BraveSearch:
    """Brave Search; implements `SearchBackend`."""

    name = "brave"

    def __init__(
        self, client: httpx.AsyncClient, at: Endpoint, allowed: frozenset[str] = frozenset()
    ) -> None:
        self._api = JsonApi(client, at)
        self._allowed = allowed

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits in its own order; raises UsageError."""
        words = " ".join(one_line(query, MAX_QUERY).split()[:_MOST_WORDS])
        asked = {"q": words, "count": str(min(limit, _MOST)), "text_decorations": "false"}
        rows = rows_of(self.name, await self._api.get("/res/v1/web/search", asked), "web", "results")
        return hits_of(self.name, _rows(rows), limit, self._allowed)


def _rows(found: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for row in found:
        title, snippet = without_markup(row.get("title")), without_markup(row.get("description"))
        yield row.get("url"), title, snippet, row.get("page_age")
