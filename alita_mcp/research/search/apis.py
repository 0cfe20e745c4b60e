"""Search back ends over JSON APIs, a table entry each; and the conversion of rows to hits."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import httpx

from alita_mcp.library.words.everyday_words import WORDS
from alita_mcp.library.words.stems import STOP_WORDS
from alita_mcp.research.addresses import web_url
from alita_mcp.research.json_api import Endpoint, JsonApi, rows_of
from alita_mcp.research.texts import MAX_QUERY, iso_date, one_line, without_markup
from alita_mcp.research.values import SearchHit

MAX_TITLE, MAX_SNIPPET = 200, 600
MAX_RESULTS = 20
"""What Tavily and Brave return at most."""
MAX_BRAVE_WORDS = 50
MAX_GITHUB_RESULTS, MAX_GITHUB_WORDS = 30, 5
"""GitHub requires every word of a query; with more of them it finds nothing."""
_WORD = re.compile(r"\w(?:[\w.+-]*\w)?")
_COMMON_WORDS = {
    *STOP_WORDS, *WORDS.split(), "library", "libraries", "package", "packages", "module", "modules", "pip",
    "install", "installation", "latest", "newest", "version", "repository", "repo", "github", "code",
}  # fmt: skip
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


def keywords(query: str, limit: int) -> list[str]:
    """The most distinctive words in lower case, in order, once each; everyday ones only where there are no others."""
    words = list(dict.fromkeys(_WORD.findall(one_line(query, MAX_QUERY).lower())))
    distinctive = [word for word in words if word not in _COMMON_WORDS and len(word) > 1]
    return (distinctive or words)[:limit]


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


def _ask_tavily(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    body = {"query": query, "max_results": min(limit, MAX_RESULTS), "search_depth": "basic"}
    return api.post("/search", body)


def _ask_brave(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    words = " ".join(query.split()[:MAX_BRAVE_WORDS])
    parameters = {"q": words, "count": str(min(limit, MAX_RESULTS)), "text_decorations": "false"}
    return api.get("/res/v1/web/search", parameters)


def _ask_repositories(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    words = f"{' '.join(keywords(query, MAX_GITHUB_WORDS))} in:name,description,topics,readme"
    parameters = {"q": words, "per_page": str(min(limit, MAX_GITHUB_RESULTS))}
    return api.get("/search/repositories", parameters, accept="application/vnd.github+json")


def _repository_row(found: dict[str, Any]) -> Row:
    licence, pushed = found.get("license"), found.get("pushed_at")
    spdx = licence.get("spdx_id") if isinstance(licence, dict) else None
    facts = (
        found.get("description"),
        found.get("language"),
        f"{found['stargazers_count']} stars" if isinstance(found.get("stargazers_count"), int) else "",
        f"licence {spdx}" if spdx and spdx != "NOASSERTION" else "no known licence",
        f"last push {iso_date(pushed)}" if iso_date(pushed) else "",
        "archived" if found.get("archived") is True else "",
    )
    description = "; ".join(fact for fact in facts if isinstance(fact, str) and fact)
    return found.get("html_url"), found.get("full_name"), description, pushed


SEARXNG = SearchApi(
    "", lambda api, query, _limit: api.get("/search", {"q": query, "format": "json"}), ("results",),
    fields("url", "title", "content", "publishedDate"),
)  # fmt: skip
TAVILY = SearchApi(
    "https://api.tavily.com", _ask_tavily, ("results",), fields("url", "title", "content", "published_date")
)
BRAVE = SearchApi(
    "https://api.search.brave.com", _ask_brave, ("web", "results"),
    fields("url", "title", "description", "page_age"), "x-subscription-token",
)  # fmt: skip
GITHUB = SearchApi("https://api.github.com", _ask_repositories, ("items",), _repository_row)


class JsonSearch:
    """Search back end over one API: one request a query, results in its own order, no retries."""

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
        """At most `limit` hits, best first.

        Raises:
            UsageError: the back end did not answer, refused, or sent something else; no message holds a key.
        """
        reply = await self._api.request(self._client, one_line(query, MAX_QUERY), limit)
        rows = map(self._api.row_of, rows_of(self.name, reply, *self._api.path))
        return hits_of(self.name, rows, limit, self._allowed)
