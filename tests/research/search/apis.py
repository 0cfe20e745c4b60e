"""What each search API answers, and how its back end is opened against a server of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.json_api import Endpoint
from alita_mcp.research.search.apis import BRAVE, GITHUB, SEARXNG, TAVILY, JsonSearch, SearchApi
from alita_mcp.research.search.backends import api_endpoint
from tests.research.json_server import Reply, Request

KEY = "tvly-0123456789abcdef-SECRET"
QUERY = "georeader raster"
ANSWER_S = 20.0


@dataclass(frozen=True)
class Found:
    url: Any
    title: Any = "A title"
    snippet: Any = "Some words about georeader raster"
    day: Any = "2026-03-04"


ROWS = (
    Found("https://example.org/one", "First", "Words one", "2026-03-04T05:06:07Z"),
    Found("https://example.org/two", "Second", "Words two", "2026-01-02"),
    Found("http://example.com/three?x=1", "Third", "Words three", "2025-12-31"),
)


def named(rows: Sequence[Found], *names: str, **more: Any) -> list[dict[str, Any]]:
    """The rows as objects, with those names for URL, title, snippet and date."""
    return [
        {**dict(zip(names, (row.url, row.title, row.snippet, row.day), strict=True)), **more} for row in rows
    ]


def searxng(rows: Sequence[Found]) -> Any:
    found = named(rows, "url", "title", "content", "publishedDate", engine="x")
    return {"query": QUERY, "results": found, "unresponsive_engines": []}


def tavily(rows: Sequence[Found]) -> Any:
    found = named(rows, "url", "title", "content", "published_date", score=0.5)
    return {"query": QUERY, "answer": None, "results": found}


def brave(rows: Sequence[Found]) -> Any:
    found = named(rows, "url", "title", "description", "page_age")
    return {"type": "search", "web": {"type": "search", "results": found}}


def github(rows: Sequence[Found]) -> Any:
    more = {"stargazers_count": 12, "license": {"spdx_id": "MIT"}, "language": "Python", "archived": False}
    found = named(rows, "html_url", "full_name", "description", "pushed_at", **more)
    return {"total_count": len(found), "incomplete_results": False, "items": found}


@dataclass(frozen=True)
class Api:
    """One back end beside the API that it speaks."""

    body: Callable[[Sequence[Found]], Any]
    """What the API answers for rows."""
    at: Callable[[str], Endpoint]
    make: Any
    key_header: str = ""

    @asynccontextmanager
    async def opened(
        self, url: str, allowed: frozenset[str] = frozenset(), timeout_s: float = ANSWER_S
    ) -> AsyncIterator[JsonSearch]:
        with anyio.fail_after(120):
            place = self.at(url).model_copy(update={"timeout_s": timeout_s})
            async with open_http_client([place.host_port]) as client:
                yield self.make(client, place, allowed)

    def answering(self, rows: Sequence[Found] = ROWS) -> Callable[[Request], Reply]:
        """Those rows for every search."""
        good = Reply(self.body(rows))
        return lambda request: good


def _json_search(name: str, api: SearchApi, body: Callable[[Sequence[Found]], Any], key: str = "") -> Api:
    """A `JsonSearch` at a server of ours instead of the API's own."""

    def at(url: str) -> Endpoint:
        if not api.url:
            return api_endpoint(name, api, "ALITA_X_URL", url)
        return api_endpoint(name, api._replace(url=url), "ALITA_X_KEY", key)

    def make(client: Any, at: Endpoint, allowed: frozenset[str]) -> JsonSearch:
        return JsonSearch(client, at, api, allowed)

    return Api(body, at, make, api.key_header if key else "")


APIS = {
    "github": _json_search("github", GITHUB, github),
    "github with a token": _json_search("github", GITHUB, github, KEY),
    "searxng": _json_search("searxng", SEARXNG, searxng),
    "tavily": _json_search("tavily", TAVILY, tavily, KEY),
    "brave": _json_search("brave", BRAVE, brave, KEY),
}
