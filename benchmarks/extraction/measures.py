"""Recall of an extraction against what the page's author marked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urljoin

MARKS = ("data-main", "data-table", "data-link")
"""Attributes that say what is main text, a table of data, a link that a reader may need; no extraction sees them."""


class Truth(NamedTuple):
    """Content that the page's author marked."""

    words: list[str]
    rows: list[list[str]]
    links: frozenset[str]


class Kept(NamedTuple):
    """Content that an extraction kept."""

    text: str
    rows: list[list[str]]
    links: frozenset[str]


def page_and_truth(source: str, url: str) -> tuple[str, Truth]:
    """A saved page without its marks, and the truth that the marks state."""
    from lxml import html

    tree = html.document_fromstring(source.encode(), parser=html.HTMLParser(encoding="utf-8"))
    main = [element for element in tree.iter() if element.get("data-main") is not None]
    truth = Truth(
        words=[word for element in main for word in words_of(spaced_text(element))],
        rows=[
            row
            for table in tree.iter("table")
            if table.get("data-table") is not None
            for row in rows_of(table)
        ],
        links=frozenset(
            urljoin(url, link.get("href")) for link in tree.iter("a") if link.get("data-link") is not None
        ),
    )
    return re.sub(rf" ({'|'.join(MARKS)})\b", "", source), truth


def spaced_text(element: Any) -> str:
    """The text of an element with a space between its parts."""
    return " ".join(element.itertext())


def rows_of(table: Any) -> list[list[str]]:
    """The written cells of a table, each once, whatever it spans."""
    rows = ([cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr"))
    return [[plain("".join(cell.itertext())) for cell in row] for row in rows]


def plain(text: str) -> str:
    """A cell's words without marks of Markdown."""
    named = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"\[\d+\]|[`*\\]", "", named).split())


def words_of(text: str) -> list[str]:
    """Words and numbers in small letters; letters of scripts without spaces are words of their own."""
    return re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u4e00-\u9fff]+", text.lower())


def rows_of_bars(text: str) -> list[list[str]]:
    """Rows of `|` in a text, without the lines that part head and body."""
    lines = (line.strip() for line in text.split("\n"))
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in lines if line.startswith("|")]
    return [
        [plain(cell) for cell in row]
        for row in rows
        if not all(re.fullmatch(r"[\s:-]*", cell) for cell in row)
    ]


def f1_of_words(kept: Sequence[str], truth: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of words, each counted as often as it stands there."""
    common = sum((Counter(kept) & Counter(truth)).values())
    return 2 * common / (len(kept) + len(truth)) if common else 0.0


def cells_kept(kept: Sequence[Sequence[str]], truth: Sequence[Sequence[str]]) -> int:
    """Number of cells that stand in one row with the others of their row."""
    counted = [Counter(row) for row in kept]
    return sum(max((sum((Counter(row) & other).values()) for other in counted), default=0) for row in truth)
