"""Search back ends with one request to a JSON API: SearXNG, Tavily and Brave; and the conversion of rows to hits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import httpx

from alita_mcp.research.json_api import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.texts import MAX_QUERY, day, one_line, web_url, without_markup
from alita_mcp.research.values import SearchHit

MAX_TITLE, MAX_SNIPPET = 200, 600
MAX_RESULTS = 20
"""What Tavily and Brave return at most."""
MAX_BRAVE_WORDS = 50
Row = tuple[Any, Any, Any, Any]
"""URL, title, snippet and date, as the back end sent them: each may be anything."""


def hits_of(
    backend: str, rows: Iterable[Row], limit: int, allowed: frozenset[str] = frozenset()
) -> tuple[SearchHit, ...]:
    """The first `limit` rows with a web URL, as hits; texts are cut to one line."""
    hits = (
        SearchHit(
            url=place,
            title=one_line(title, MAX_TITLE) or one_line(place, MAX_TITLE),
            snippet=one_line(snippet, MAX_SNIPPET),
            backends=(backend,),
            published=day(published),
        )
        for url, title, snippet, published in rows
        if (place := web_url(url, allowed))
    )
    return tuple(islice(hits, limit))


class JsonSearch(ABC):
    """Search back end with one request to a JSON API; implements `SearchBackend`."""

    name: str
    path: tuple[str, ...] = ("results",)
    """Where the list of results stands in a reply."""
    fields: tuple[str, str, str, str]
    """Names of a result's URL, title, snippet and date."""

    def __init__(
        self, client: httpx.AsyncClient, at: Endpoint, allowed: frozenset[str] = frozenset()
    ) -> None:
        self._api = JsonApi(client, at)
        self._allowed = allowed

    @abstractmethod
    async def ask(self, query: str, limit: int) -> Any:
        """The parsed reply to a query; raises UsageError."""

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits in the back end's own order; raises UsageError."""
        found = rows_of(self.name, await self.ask(one_line(query, MAX_QUERY), limit), *self.path)
        url, title, snippet, published = self.fields
        rows = (
            (
                row.get(url),
                without_markup(row.get(title)),
                without_markup(row.get(snippet)),
                row.get(published),
            )
            for row in found
        )
        return hits_of(self.name, rows, limit, self._allowed)


class SearxngSearch(JsonSearch):
    """SearXNG, a search engine that a person hosts; it needs `json` among its `search.formats`."""

    name = "searxng"
    fields = ("url", "title", "content", "publishedDate")

    async def ask(self, query: str, limit: int) -> Any:  # noqa: ARG002 - it takes no limit
        """The parsed reply to a query; raises UsageError."""
        return await self._api.get("/search", {"q": query, "format": "json"})


class TavilySearch(JsonSearch):
    """Tavily, an API with a key."""

    name = "tavily"
    fields = ("url", "title", "content", "published_date")

    async def ask(self, query: str, limit: int) -> Any:
        """The parsed reply to a query; raises UsageError."""
        parameters = {"query": query, "max_results": min(limit, MAX_RESULTS), "search_depth": "basic"}
        return await self._api.post("/search", parameters)


class BraveSearch(JsonSearch):
    """Brave Search, an API with a key."""

    name = "brave"
    path = ("web", "results")
    fields = ("url", "title", "description", "page_age")

    async def ask(self, query: str, limit: int) -> Any:
        """The parsed reply to a query; raises UsageError."""
        words = " ".join(query.split()[:MAX_BRAVE_WORDS])
        parameters = {"q": words, "count": str(min(limit, MAX_RESULTS)), "text_decorations": "false"}
        return await self._api.get("/res/v1/web/search", parameters)


def searxng_endpoint(url: str) -> Endpoint:
    """The endpoint of a SearXNG; raises UsageError for an invalid URL."""
    advice = "Check ALITA_SEARXNG_URL, and that search.formats in its settings.yml names json."
    return endpoint("searxng", url, setting="ALITA_SEARXNG_URL", advice=advice)


def tavily_endpoint(key: str, base_url: str = "https://api.tavily.com") -> Endpoint:
    """The endpoint of Tavily with its key; raises UsageError for an invalid key."""
    return endpoint(
        "tavily", base_url, setting="TAVILY_API_KEY", key=key, header="authorization", prefix="Bearer "
    )


def brave_endpoint(key: str, base_url: str = "https://api.search.brave.com") -> Endpoint:
    """The endpoint of Brave Search with its key; raises UsageError for an invalid key."""
    return endpoint("brave", base_url, setting="BRAVE_API_KEY", key=key, header="x-subscription-token")
