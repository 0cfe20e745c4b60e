"""Base of search back ends with a JSON API, and the conversion of rows to hits: web URLs only, texts in one line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import httpx

from alita_mcp.research.replies import Endpoint, JsonApi, rows_of
from alita_mcp.research.texts import day, one_line, web_url
from alita_mcp.research.values import SearchHit

MAX_TITLE, MAX_SNIPPET = 200, 600
Row = tuple[Any, Any, Any, Any]
"""URL, title, snippet and date, as the back end sent them: each may be anything."""


def hits_of(
    backend: str, rows: Iterable[Row], limit: int, allowed: frozenset[str] = frozenset()
) -> tuple[SearchHit, ...]:
    """The first `limit` rows with a web URL, as hits."""
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
        rows = rows_of(self.name, await self.ask(query, limit), *self.path)
        return hits_of(self.name, map(self.row, rows), limit, self._allowed)

    def row(self, found: dict[str, Any]) -> Row:
        """One result as a row."""
        url, title, snippet, published = map(found.get, self.fields)
        return url, title, snippet, published
