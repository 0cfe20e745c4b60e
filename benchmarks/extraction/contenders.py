"""Contenders that extract text, table rows and links from a page."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urljoin

from benchmarks.extraction import measures

Read = Callable[[str, str], Any]
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")


def available() -> dict[str, Read]:
    """Ours, trafilatura with all that it can keep, and readability where it is installed."""
    found: dict[str, Read] = {"ours": ours, "trafilatura": trafilatura_alone}
    if importlib.util.find_spec("readability"):
        found["readability"] = readability
    return found


def ours(page: str, url: str) -> Any:
    """Our reading; links that are listed behind the text are no main text."""
    from alita_mcp.research.reading.documents import read_document
    from alita_mcp.research.reading.html import OTHER_LINKS

    document = read_document(page.encode(), "text/html; charset=utf-8", url)
    text = re.sub(r" ?\[\d+\]", "", document.text.partition(OTHER_LINKS)[0])
    return measures.Kept(
        text, measures.rows_of_bars(document.text), frozenset(link.url for link in document.links)
    )


def trafilatura_alone(page: str, url: str) -> Any:
    """Trafilatura's own Markdown, with links, tables and formatting."""
    import trafilatura

    text = trafilatura.extract(
        page,
        url=url,
        output_format="markdown",
        include_links=True,
        include_tables=True,
        include_formatting=True,
    )
    links = frozenset(urljoin(url, target) for _, target in _LINK.findall(text or ""))
    plain = _LINK.sub(r"\1", text or "")
    return measures.Kept(plain.replace("\\", ""), measures.rows_of_bars(plain), links)


def readability(page: str, url: str) -> Any:
    """readability-lxml's summary, its own HTML read for tables and links."""
    from lxml import html
    from readability import Document

    document = Document(page, url=url)
    tree = html.document_fromstring(document.summary() or "<p></p>")
    rows = [row for table in tree.iter("table") for row in measures.rows_of(table)]
    links = frozenset(urljoin(url, link.get("href")) for link in tree.iter("a") if link.get("href"))
    return measures.Kept(measures.spaced_text(tree), rows, links)
