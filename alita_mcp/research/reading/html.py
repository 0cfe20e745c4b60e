"""Extraction of main text and numbered links from an HTML page.

trafilatura finds the main text and writes it as Markdown. It keeps few links, so each gets its number in the page
before, and those outside of the main text are listed behind it.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import trafilatura
from lxml import etree, html
from lxml.html import defs

from alita_mcp.errors import UsageError
from alita_mcp.research.values import Document, Link

LARGE_NODES = 60_000
"""Pages of more elements are read whole: finding the main text of one takes longer than reading it."""
SHORT_TEXT = 2_000
MAX_LINKS = 1_000
MAX_LISTED_LINKS = 200
MAX_LINK_TEXT = 200
MAX_URL = 4_000
MAX_TITLE = 300
TOO_DEEP = "(The page is nested too deeply; the rest is not shown.)"
OTHER_LINKS = "## Other links on this page"
_UNREAD = ("script", "style", "template", "svg", "canvas", "iframe", "object", "embed", "noscript", "math")
_BLOCKS = {*defs.block_tags, "br", "caption", "dd", "dt", "li", "option", "summary", "tr"} - {"td", "th"}
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
_NO_MARKUP = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no tree of elements can hold."""
_PAGING_LABEL = re.compile(
    "(next|prev|previous|older|newer|more|first|last|page)\\b.*|\\d{1,4}|[\u00ab\u00bb\u2039\u203a<>\u2190\u2192]+",
    re.IGNORECASE,
)
_CODE_OR_ESCAPE = re.compile(r"(```.*?```|`[^`\n]*`)|\\([\\`*_\[\]<>#+.()!~-])", re.DOTALL)
_EXTRACTION_ERRORS = (ValueError, TypeError, AttributeError, LookupError, RecursionError, AssertionError)
"""What trafilatura raises, or may, over pages that are no pages."""


def html_document(text: str, url: str) -> Document:
    """The document in an HTML page.

    Raises:
        UsageError: it has no text.
    """
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=False)
    source = _NO_MARKUP.sub("", text).encode()
    try:
        tree = html.document_fromstring(source or b"<html></html>", parser=parser)
    except (etree.LxmlError, ValueError, AssertionError) as broken:
        raise UsageError("It is declared as HTML and cannot be read as such.") from broken
    # What no reader sees goes first: scripts, and elements hidden by their own attributes.
    for element in [*tree.iter(*_UNREAD)]:
        element.drop_tree()
    for element in [*tree.iter()]:
        is_hidden = element.get("hidden") is not None or _HIDING.search(element.get("style") or "")
        if is_hidden and element.tag not in ("html", "body") and element.getparent() is not None:
            element.drop_tree()
    title = " ".join((tree.findtext(".//title") or "").split())[:MAX_TITLE]
    links = number_links(tree, url)
    text = _main_text(tree) or _whole_text(tree)
    if not text and not links:
        hint = "The page may be drawn by scripts, which are not run."
        raise UsageError("It has no readable text.", hint=hint)
    is_cut = any("depth" in problem.message for problem in parser.error_log)
    parts = [text, TOO_DEEP if is_cut else "", _other_links(links, text)]
    return Document(url=url, title=title, text="\n\n".join(filter(None, parts)), links=tuple(links))


def _main_text(tree: Any) -> str:
    """The main text and the comments as Markdown without its escapes; empty where none is found."""
    if sum(1 for _ in tree.iter()) > LARGE_NODES:
        return ""
    # trafilatura keeps as code only what stands in `pre` and `code`.
    for block in [*tree.iter("pre")]:
        for line_break in block.iter("br"):
            line_break.tail = f"\n{line_break.tail or ''}"
        text = "".join(block.itertext())
        block.clear(keep_tail=True)
        etree.SubElement(block, "code").text = text
    try:
        found = trafilatura.extract(
            tree, output_format="markdown", include_formatting=True, include_tables=True, favor_recall=True
        )
    except _EXTRACTION_ERRORS:
        return ""
    plain = _CODE_OR_ESCAPE.sub(lambda match: match[1] or match[2], found or "")
    if len(plain) < SHORT_TEXT and "|" not in plain and tree.find(".//td") is not None:
        return ""  # of pages with little text trafilatura gives bare words, which lose the rows of tables
    return "\n".join(line.rstrip() for line in plain.split("\n")).strip()


def _whole_text(tree: Any) -> str:
    """All text of a page, a block or a row of a table a line; the tree is changed."""
    body = tree.find("body")
    if body is None:
        return ""
    for element in body.iter(*_BLOCKS):
        element.text = f"\n{'| ' if element.tag == 'tr' else ''}{element.text or ''}"
        element.tail = f"\n{element.tail or ''}"
    for cell in body.iter("td", "th"):
        cell.tail = f" | {(cell.tail or '').strip()}"
    lines = "".join(body.itertext()).split("\n")
    return "\n".join(words for words in (" ".join(line.split()) for line in lines) if words)


def number_links(tree: Any, url: str) -> list[Link]:
    """Writes `[n]` after the words of each link to another page; equal targets share a number."""
    bases = [found.get("href") for found in tree.iter("base") if found.get("href")]
    root = (_join(url, bases[0]) if bases else "") or url
    links: dict[str, Link] = {}

    def number(href: str | None, text: str) -> int:
        """The number of a link; 0 for one within the page, to no page, or beyond the limit."""
        target = _join(root, href or "")
        if not href or not target or urldefrag(target).url == urldefrag(url).url:
            return 0
        if target not in links and len(links) < MAX_LINKS:
            links[target] = Link(number=len(links) + 1, url=target, text=text)
        return links[target].number if target in links else 0

    for anchor in tree.iter("a", "area"):
        words = " ".join((anchor.text_content() or "").split())
        pictures = " ".join(picture.get("alt") or "" for picture in anchor.iter("img"))
        label = words or anchor.get("aria-label") or anchor.get("title") or anchor.get("alt") or pictures
        label = " ".join(label.split())[:MAX_LINK_TEXT]
        found = number(anchor.get("href"), label)
        if found and label:
            suffix = f" [{found}]" if words else f"{label} [{found}]"
            if len(anchor):
                anchor[-1].tail = f"{(anchor[-1].tail or '').rstrip()}{suffix}"
            else:
                anchor.text = f"{(anchor.text or '').rstrip()}{suffix}"
    return [*links.values()]


def _join(root: str, href: str) -> str:
    """The absolute http(s) address of a link; empty for other ones."""
    try:
        joined = urljoin(root, re.sub(r"[\t\n\r]", "", href).strip())
        parts = urlsplit(joined)
    except ValueError:
        return ""
    is_web = parts.scheme in ("http", "https") and parts.netloc and "@" not in parts.netloc
    return joined if is_web and len(joined) <= MAX_URL else ""


def _other_links(links: list[Link], text: str) -> str:
    """The links that the text does not name, those that turn pages first."""
    named = {int(number) for number in re.findall(r"\[(\d{1,4})\]", text)}
    others = [link for link in links if link.number not in named and link.text]
    others.sort(key=lambda link: (not _PAGING_LABEL.fullmatch(link.text), link.number))
    lines = [f"- {link.text} [{link.number}]" for link in others[:MAX_LISTED_LINKS]]
    if len(others) > MAX_LISTED_LINKS:
        lines.append(f"({len(others) - MAX_LISTED_LINKS:,} more links are not listed here)")
    if len(links) >= MAX_LINKS:
        lines.append("(links after these have no numbers)")
    return "\n".join([OTHER_LINKS, "", *lines]) if lines else ""
