"""Extraction of main text, tables, code and numbered links from an HTML page.

trafilatura finds the main text. Tables of data and code, which it flattens or drops, are taken out before and put back
behind; those whose place it dropped follow at the end, and so do links outside of the main text.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

import trafilatura
from lxml import etree, html

from alita_mcp.errors import UsageError
from alita_mcp.research.reading.blocks import all_text, main_text
from alita_mcp.research.reading.links import MOST as MOST_LINKS
from alita_mcp.research.reading.links import number_links
from alita_mcp.research.reading.tables import holds_data, table_text
from alita_mcp.research.values import Document, Link

LARGE_NODES = 60_000
"""Pages of more elements are read whole: finding the main text of one takes longer than reading it."""
MOST_OTHER_LINKS = 200
ELSEWHERE = "## Elsewhere on this page"
TOO_DEEP = "(the page is nested too deeply; what comes after is not shown)"
OTHER_LINKS = "## Other links on this page"
_UNREAD = ("script", "style", "template", "svg", "canvas", "iframe", "object", "embed", "noscript", "math")
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
_TURNS = re.compile(
    "(next|prev|previous|older|newer|more|first|last|page)\\b.*|\\d{1,4}|[\u00ab\u00bb\u2039\u203a<>\u2190\u2192]+",
    re.IGNORECASE,
)
_NO_MARKUP = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no tree of elements can hold."""
_NAMES = re.compile(r"author|byline", re.IGNORECASE)
"""Classes by which trafilatura drops the names of those who wrote: of posts in a thread, of an article."""
_LONGEST_NAME = 80
_MOST_HEADINGS = 100
_TITLE = 300
_FAILURES = (ValueError, TypeError, AttributeError, LookupError, RecursionError, AssertionError)
"""What trafilatura was seen to raise, or may, over pages that are no pages."""


class _Lifted(NamedTuple):
    """Blocks that were taken out of a page, by the words that stand in their places."""

    texts: dict[str, str]
    pattern: re.Pattern[str]


def html_document(text: str, url: str) -> Document:
    """The document in an HTML page.

    Raises:
        UsageError: it has no text.
    """
    tree, is_cut = _parsed(text)
    _drop_unread(tree)
    _keep_names(tree)
    title = " ".join((tree.findtext(".//title") or "").split())[:_TITLE]
    links = number_links(tree, url)
    lifted = _lifted(tree, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12])
    found = _found(tree, url)
    placed, left = _put_back(found, lifted)
    parts = [placed, *([ELSEWHERE, *left] if left and placed else left), *([TOO_DEEP] if is_cut else [])]
    whole = "\n\n".join(filter(None, parts))
    if whole in ("", TOO_DEEP) and not links:
        hint = "The page may be drawn by scripts, which are not run."
        raise UsageError("It has no readable text.", hint=hint)
    whole = "\n\n".join(filter(None, [whole, _other_links(links, whole)]))
    return Document(url=url, title=title, text=whole, links=tuple(links))


def _parsed(text: str) -> tuple[Any, bool]:
    """The tree of a page, and whether it was too deep to be whole."""
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False)
    source = _NO_MARKUP.sub("", text).encode()
    try:
        tree = html.document_fromstring(source or b"<html></html>", parser=parser)
    except (etree.LxmlError, ValueError, AssertionError) as broken:
        raise UsageError("It is declared as HTML and cannot be read as such.") from broken
    return tree, any("depth" in problem.message for problem in parser.error_log)


def _drop_unread(tree: Any) -> None:
    """Takes out what no reader sees: scripts, and what is hidden by its own attributes."""
    for element in [*tree.iter(*_UNREAD)]:
        element.drop_tree()
    for element in [*tree.iter()]:
        if element.tag in ("html", "body") or element.getparent() is None:
            continue
        if element.get("hidden") is not None or _HIDING.search(element.get("style") or ""):
            element.drop_tree()


def _keep_names(tree: Any) -> None:
    """Lets the names of writers count as text like any other."""
    for element in tree.xpath("//body//*[@class or @id or @rel or @itemprop]"):
        for name in ("class", "id", "rel", "itemprop"):
            if _NAMES.search(element.get(name) or "") and len(element.text_content()) <= _LONGEST_NAME:
                del element.attrib[name]


def _lifted(tree: Any, mark: str) -> _Lifted:
    texts: dict[str, str] = {}
    for element in [*tree.iter("table", "pre")]:
        is_table = element.tag == "table"
        if element.getparent() is None or (is_table and not holds_data(element)):
            continue
        text = table_text(element) if is_table else _code(element)
        if not text:
            continue
        word = f"block{mark}n{len(texts)}x"
        texts[word] = text
        stand_in = etree.Element("p")
        stand_in.text, stand_in.tail = word, element.tail
        element.getparent().replace(element, stand_in)
    return _Lifted(texts, re.compile(f"block{mark}n\\d+x"))


def _code(element: Any) -> str:
    for broken in element.iter("br"):
        broken.tail = f"\n{broken.tail or ''}"
    text = "".join(element.itertext()).strip("\n").rstrip()
    fence = "````" if "```" in text else "```"
    return f"{fence}\n{text}\n{fence}" if text else ""


def _found(tree: Any, url: str) -> str:
    """The main text of a page; all of its text where none is found."""
    text = _main(tree, url) if sum(1 for _ in tree.iter()) <= LARGE_NODES else ""
    body = tree.find("body")
    return text or (all_text(body) if body is not None else "")


def _main(tree: Any, url: str) -> str:
    """The main text; found with more patience where the page has headings that are not in it."""
    text = _extracted(tree, url, patient=False)
    headings = _headings(tree)
    if text and len(headings) > 1 and _headed(text, headings) * 2 < len(headings):
        more = _extracted(tree, url, patient=True)
        return more if _headed(more, headings) > _headed(text, headings) else text
    return text


def _extracted(tree: Any, url: str, *, patient: bool) -> str:
    try:
        found: Any = trafilatura.bare_extraction(
            tree, url=url, include_tables=True, include_comments=True, favor_recall=patient
        )
    except _FAILURES:
        return ""
    if found is None or found.body is None:
        return ""
    text = main_text(found.body)
    comments = main_text(found.commentsbody) if found.commentsbody is not None else ""
    return "\n\n".join(filter(None, [text, f"## Comments\n\n{comments}" if comments else ""]))


def _headings(tree: Any) -> list[str]:
    """The words of the headings that are not part of a menu, a side bar, a head or a foot."""
    found = [
        " ".join(heading.text_content().split())
        for heading in tree.iter("h1", "h2", "h3")
        if next(heading.iterancestors("nav", "aside", "header", "footer", "form"), None) is None
    ]
    return [words for words in found if words][:_MOST_HEADINGS]


def _headed(text: str, headings: list[str]) -> int:
    """How many of the headings a text has."""
    lines = {line.lstrip("# ") for line in text.split("\n") if line.startswith("#")}
    return sum(words in lines for words in headings)


def _put_back(text: str, lifted: _Lifted) -> tuple[str, list[str]]:
    """The text with its blocks in their places, and the blocks whose places it does not have."""
    left = dict(lifted.texts)

    def block(match: re.Match[str]) -> str:
        return f"\n\n{left.pop(match[0], '')}\n\n"

    placed = lifted.pattern.sub(block, text)
    return re.sub(r"\n{3,}", "\n\n", placed).strip("\n"), list(left.values())


def _other_links(links: list[Link], text: str) -> str:
    """Links that the text does not name, those that turn pages first."""
    named = {int(number) for number in re.findall(r"\[(\d{1,4})\]", text)}
    others = [link for link in links if link.number not in named and link.text]
    others.sort(key=lambda link: (not _TURNS.fullmatch(link.text), link.number))
    lines = [f"- {link.text} [{link.number}]" for link in others[:MOST_OTHER_LINKS]]
    left = len(others) - len(lines)
    lines += [f"({left:,} more links are not listed here)"] if left else []
    lines += ["(links after these have no numbers)"] if len(links) >= MOST_LINKS else []
    return "\n".join([OTHER_LINKS, "", *lines]) if lines else ""
