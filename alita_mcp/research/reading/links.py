"""Numbering of a page's links: `[n]` after each link's words, and the list of targets."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

from alita_mcp.research.values import Link

MOST = 1_000
MAX_TEXT = 200
MAX_URL = 4_000
_TURNING = frozenset({"next", "prev", "previous", "first", "last"})
"""Relations of pages of one list; told in a page's head they are links too."""


class LinkNumbers:
    """Numbers of the links so far; equal targets share a number."""

    def __init__(self, url: str) -> None:
        self._page = urldefrag(url).url
        self._root = url
        self._numbers: dict[str, int] = {}
        self.links: list[Link] = []

    def begin_at(self, href: str) -> None:
        """Sets the base of relative links from the page's `base` element."""
        target = _joined(self._root, href)
        if urlsplit(target).scheme in ("http", "https"):
            self._root = target

    def number(self, href: str, text: str) -> int:
        """The number of a link; 0 for one within the page, to no page, or beyond the limit."""
        target = _joined(self._root, href)
        parts = urlsplit(target)
        if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
            return 0
        if urldefrag(target).url == self._page or len(target) > MAX_URL:
            return 0
        if target not in self._numbers:
            if len(self.links) >= MOST:
                return 0
            self._numbers[target] = len(self.links) + 1
            self.links.append(Link(number=len(self.links) + 1, url=target, text=text[:MAX_TEXT]))
        return self._numbers[target]


def _joined(root: str, href: str) -> str:
    try:
        return urljoin(root, re.sub(r"[\t\n\r]", "", href).strip())
    except ValueError:
        return ""


def number_links(tree: Any, url: str) -> list[Link]:
    """Writes `[n]` after the words of each link of the tree; returns the links by number."""
    numbers = LinkNumbers(url)
    for root in tree.iter("base"):
        if root.get("href"):
            numbers.begin_at(root.get("href"))
            break
    for anchor in tree.iter("a", "area"):
        words = link_words(anchor)
        number = numbers.number(anchor.get("href") or "", words) if anchor.get("href") else 0
        if number and words:
            has_words = (anchor.text_content() or "").strip()
            _append(anchor, f" [{number}]" if has_words else f"{words} [{number}]")
    for hint in tree.iter("link"):
        relation = (hint.get("rel") or "").lower()
        if relation in _TURNING and hint.get("href"):
            numbers.number(hint.get("href"), f"{relation} page")
    return numbers.links


def link_words(anchor: Any) -> str:
    """The label of a link: its words, else those of its image or label."""
    words = " ".join((anchor.text_content() or "").split())
    if not words:
        pictures = [picture.get("alt") or "" for picture in anchor.iter("img")]
        label = anchor.get("aria-label") or anchor.get("title") or anchor.get("alt") or ""
        words = " ".join([label, *pictures])
    return " ".join(words.split())[:MAX_TEXT]


def _append(element: Any, text: str) -> None:
    children = list(element)
    if children:
        children[-1].tail = f"{(children[-1].tail or '').rstrip()}{text}"
    else:
        element.text = f"{(element.text or '').rstrip()}{text}"
