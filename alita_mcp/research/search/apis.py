"""Search back ends over JSON APIs, a table entry each; and the conversion of rows to hits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import httpx

from alita_mcp.research.addresses import web_url
from alita_mcp.research.json_api import Endpoint, JsonApi, rows_of
from alita_mcp.research.texts import MAX_QUERY, iso_date, one_line, without_markup
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
            url=checked,
            title=one_line(title, MAX_TITLE) or one_line(checked, MAX_TITLE),
            snippet=one_line(snippet, MAX_SNIPPET),
            backends=(backend,),
            published=iso_date(published),
        )
        for url, title, snippet, published in rows
        if (checked := web_url(url, allowed))
    )
    return tuple(islice(hits, limit))


class SearchApi(NamedTuple):
    """One kind of search: where it is, how it is asked, and what a result holds."""

    url: str
    """Empty for an API whose address, not its key, is in the settings."""
    request: Callable[[JsonApi, str, int], Awaitable[Any]]
    """Sends a query for so many results."""
    path: tuple[str, ...]
    """Of the list of results in a reply."""
    row_of: Callable[[dict[str, Any]], Row]
    key_header: str = "authorization"


def fields(*names: str) -> Callable[[dict[str, Any]], Row]:
    """Makes a row from the fields of a result with these names: URL, title, snippet and date."""

    def row_of(result: dict[str, Any]) -> Row:
        url, title, snippet, published = map(result.get, names)
        return url, without_markup(title), without_markup(snippet), published

    return row_of


def _ask_searxng(api: JsonApi, query: str, _limit: int) -> Awaitable[Any]:
    return api.get("/search", {"q": query, "format": "json"})


def _ask_tavily(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    body = {"query": query, "max_results": min(limit, MAX_RESULTS), "search_depth": "basic"}
    return api.post("/search", body)


def _ask_brave(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    words = " ".join(query.split()[:MAX_BRAVE_WORDS])
    parameters = {"q": words, "count": str(min(limit, MAX_RESULTS)), "text_decorations": "false"}
    return api.get("/res/v1/web/search", parameters)


SEARXNG = SearchApi("", _ask_searxng, ("results",), fields("url", "title", "content", "publishedDate"))
TAVILY = SearchApi(
    "https://api.tavily.com", _ask_tavily, ("results",), fields("url", "title", "content", "published_date")
)
BRAVE = SearchApi(
    "https://api.search.brave.com", _ask_brave, ("web", "results"),
    fields("url", "title", "description", "page_age"), "x-subscription-token",
)  # fmt: skip


class JsonSearch:
    """Search back end over one API; implements `SearchBackend`."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        at: Endpoint,
        api: SearchApi,
        allowed: frozenset[str] = frozenset(),
    ) -> None:
        self.name = at.name
        self._client = JsonApi(client, at)
        self._api = api
        self._allowed = allowed

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits in the back end's own order; raises UsageError."""
        reply = await self._api.request(self._client, one_line(query, MAX_QUERY), limit)
        rows = map(self._api.row_of, rows_of(self.name, reply, *self._api.path))
        return hits_of(self.name, rows, limit, self._allowed)
