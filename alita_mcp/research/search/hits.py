"""Conversion of a back end's rows to hits, with web URLs only and texts in one line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

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
