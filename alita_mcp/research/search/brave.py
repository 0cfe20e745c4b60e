"""Search back end for Brave Search, an API with a key."""

from __future__ import annotations

from typing import Any

from alita_mcp.research.replies import Endpoint, endpoint
from alita_mcp.research.search.hits import JsonSearch, Row
from alita_mcp.research.texts import MAX_QUERY, one_line, without_markup

_MOST, _MOST_WORDS = 20, 50


def brave_endpoint(key: str, base_url: str = "https://api.search.brave.com") -> Endpoint:
    """The endpoint of Brave Search with its key; raises UsageError for an invalid key."""
    return endpoint("brave", base_url, setting="BRAVE_API_KEY", key=key, header="x-subscription-token")


class BraveSearch(JsonSearch):
    """Brave Search; implements `SearchBackend`."""

    name = "brave"
    path = ("web", "results")
    fields = ("url", "title", "description", "page_age")

    async def ask(self, query: str, limit: int) -> Any:
        """The parsed reply to a query; raises UsageError."""
        words = " ".join(one_line(query, MAX_QUERY).split()[:_MOST_WORDS])
        asked = {"q": words, "count": str(min(limit, _MOST)), "text_decorations": "false"}
        return await self._api.get("/res/v1/web/search", asked)

    def row(self, found: dict[str, Any]) -> Row:
        """One result as a row, without markup."""
        url, title, snippet, published = super().row(found)
        return url, without_markup(title), without_markup(snippet), published
