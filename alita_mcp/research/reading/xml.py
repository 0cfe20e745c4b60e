"""Conversion of XML, feeds and site maps to readable text."""

from __future__ import annotations

import re

from lxml import etree

from alita_mcp.errors import UsageError
from alita_mcp.research.values import Document, Link

MAX_LINKS = 500


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
        name, text = etree.QName(element).localname, element.text or ""
        words = " ".join(re.sub(r"<[^<>]{0,2000}>", " ", text).split())  # some feeds hold HTML
        target = element.get("href") or (words if name.lower() in ("link", "loc") else "")
        number = ""
        if re.match(r"https?://\S+$", target) and len(links) < MAX_LINKS:
            links.append(Link(number=len(links) + 1, url=target[:4_000], text=words[:200]))
            number = f" [{len(links)}]"
        if words or number:
            lines.append(f"{name}: {words}{number}")
    title = root.find(".//{*}title")
    words = " ".join((title.text or "").split()) if title is not None else ""
    return Document(url=url, title=words[:200], text="\n".join(lines), links=tuple(links))
