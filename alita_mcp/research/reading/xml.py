"""Conversion of XML, feeds and site maps to readable text."""

from __future__ import annotations

import re

from lxml import etree

from alita_mcp.errors import UsageError
from alita_mcp.research.values import Document, Link

_TITLE = 200
_FEED_LINKS = 500


def xml_document(body: bytes, url: str) -> Document:
    """The text of XML, feeds and site maps, one element a line; entities are not expanded, nothing is loaded.

    Raises:
        UsageError: it is not XML.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        recover=True,
        huge_tree=False,
        remove_comments=True,
    )
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as broken:
        raise UsageError("It is declared as XML and cannot be read as such.") from broken
    if root is None:
        raise UsageError("It is declared as XML and holds no element.")
    lines: list[str] = []
    links: list[Link] = []
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        lines.append(_element_line(name, element.text or "", element.get("href"), links))
    title = root.find(".//{*}title")
    words = " ".join((title.text or "").split()) if title is not None else ""
    return Document(url=url, title=words[:_TITLE], text="\n".join(filter(None, lines)), links=tuple(links))


def _element_line(name: str, text: str, href: str | None, links: list[Link]) -> str:
    words = _untagged(text) if "<" in text else " ".join(text.split())
    target = href or (words if name.lower() in ("link", "loc") else "")
    number = ""
    if re.match(r"https?://\S+$", target) and len(links) < _FEED_LINKS:
        links.append(Link(number=len(links) + 1, url=target[:4_000], text=words[:200]))
        number = f" [{len(links)}]"
    return f"{name}: {words}{number}" if words or number else ""


def _untagged(text: str) -> str:
    """Text of HTML inside of XML, without its tags."""
    return " ".join(re.sub(r"<[^<>]{0,2000}>", " ", text).split())
