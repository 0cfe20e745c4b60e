"""Parser of search tools' results in common shapes: structured values and texts."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from alita_mcp.research.search.hits import Row

_URL_NAMES = ("url", "link", "href", "uri", "html_url", "page_url")
_TITLE_NAMES = ("title", "name", "heading")
_SNIPPET_NAMES = ("snippet", "description", "content", "summary", "text", "abstract", "body", "highlights")
_DATE_NAMES = ("published", "publishedDate", "published_date", "date", "page_age", "updated_at")
_MOST_VISITED, _MOST_ROWS, _MOST_LINES = 10_000, 200, 20_000
_LONGEST_LINE, _LONGEST_JSON = 5_000, 2_000_000
_FIELD = re.compile(r"[-*#>\s\d.)]{0,12}[*_]{0,2}([A-Za-z ]{3,16}?)[*_]{0,2}:[*_]{0,2}[ \t]*(\S.{0,3000})")
_MARKDOWN = re.compile(
    r"\[([^\]\[\n]{1,300}+)\]\((https?://[^\s()<>]{1,2000}+(?:\([^\s()<>]{0,200}+\)[^\s()<>]{0,500}+)?+)\)"
)
_BARE = re.compile(r"https?://[^\s<>\"'`)\]]{4,2000}")


def rows_in_value(value: Any) -> list[Row]:
    """Rows of the outermost list whose objects have a URL."""
    waiting = deque([value])
    for _ in range(_MOST_VISITED):
        if not waiting:
            break
        here = waiting.popleft()
        if isinstance(here, list):
            here = here[:_MOST_ROWS]
            if rows := [_row(each) for each in here if isinstance(each, dict) and _has_url(each)]:
                return rows
            waiting.extend(here)
        elif isinstance(here, dict):
            waiting.extend(list(here.values())[:_MOST_ROWS])
        elif isinstance(here, str) and here[:1] in ("{", "[") and len(here) <= _LONGEST_JSON:
            waiting.append(_parsed(here))
    return [_row(value)] if isinstance(value, dict) and _has_url(value) else []


def rows_in_text(text: str) -> list[Row]:
    """Rows of a text: JSON, blocks of `Title:` and `URL:`, Markdown links, or lines with a URL."""
    if text.lstrip()[:1] in ("{", "[") and (rows := rows_in_value(_parsed(text))):
        return rows
    lines = [line[:_LONGEST_LINE] for line in text.splitlines()[:_MOST_LINES]]
    return (list(_blocks(lines)) or list(_links(lines)) or list(_bare(lines)))[:_MOST_ROWS]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _has_url(said: dict[str, Any]) -> bool:
    return any(isinstance(said.get(name), str) for name in _URL_NAMES)


def _row(said: dict[str, Any]) -> Row:
    url, title, snippet, day = (
        next((said[name] for name in names if said.get(name)), "")
        for names in (_URL_NAMES, _TITLE_NAMES, _SNIPPET_NAMES, _DATE_NAMES)
    )
    if isinstance(snippet, list):
        snippet = " … ".join(part for part in snippet if isinstance(part, str))
    return url, title, snippet, day


def _blocks(lines: list[str]) -> Iterator[Row]:
    """Blocks of `Name: value` lines, each begun by a name that the block before has already."""
    said: dict[str, Any] = {}
    last = ""
    for line in lines:
        field = _FIELD.match(line)
        name = field[1].strip().lower().replace(" ", "_") if field else ""
        known = name in _URL_NAMES + _TITLE_NAMES + _SNIPPET_NAMES + _DATE_NAMES
        if field and known and name in said and _has_url(said):
            yield _row(said)
            said = {}
        if field and known:
            said[name], last = field[2].strip(), name
        elif last in _SNIPPET_NAMES and line.strip() and len(said[last]) < 2_000:
            said[last] += f" {line.strip()}"
        elif not line.strip():
            last = ""
    if _has_url(said):
        yield _row(said)


def _links(lines: list[str]) -> Iterator[Row]:
    """Markdown links; the rest of a link's line and the lines up to the next one are its snippet."""
    links: list[tuple[str, str, list[str]]] = []
    for line in lines:
        links += [(match[2], match[1], []) for match in _MARKDOWN.finditer(line)]
        if links and (text := _MARKDOWN.sub("", line).strip(" \t-*#>|:.0123456789)")):
            links[-1][2].append(text)
    for url, title, texts in links:
        yield url, title, " ".join(texts), ""


def _bare(lines: list[str]) -> Iterator[Row]:
    for line in lines:
        for match in _BARE.finditer(line):
            yield match[0].rstrip(".,;"), line.replace(match[0], "").strip(" \t-*#>|:"), "", ""
