"""Conversion of a body of any supported kind to a `Document`, in the reading process."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from alita_mcp.errors import UsageError
from alita_mcp.extras import extra_imports
from alita_mcp.research.reading.decoding import decode
from alita_mcp.research.values import Document, Link

Kind = Literal["html", "pdf", "json", "text"]
MAX_CHARACTERS = 8_000_000
MAX_INDENTED = 2_000_000
"""Longer JSON stays as it is."""
READ_KINDS = "HTML, PDF, JSON, XML, CSV, plain text and source code are read."
_TYPES_BY_SUFFIX = {
    ".html": "text/html", ".htm": "text/html", ".xhtml": "text/html", ".json": "application/json",
    ".geojson": "application/json", ".xml": "application/xml", ".rss": "application/xml",
    ".atom": "application/xml", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
    ".pdf": "application/pdf",
}  # fmt: skip
_UNTYPED = ("", "application/octet-stream", "binary/octet-stream", "application/download", "unknown/unknown")
_MEDIA = ("image/", "audio/", "video/", "font/")
_HTML = re.compile(rb"(?>\s*<!--.*?-->)*+\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"\s*<\?xml\b|\s*<(?:rss|feed|urlset|sitemapindex)\b", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"'`\\\])}]{4,2000}")
MAX_LINKS = 500
_CONTROL = re.compile(rb"[\0-\x06\x0e-\x19]")
"""Bytes that pictures, archives and programs begin with, and no text holds."""


def read_document(body: bytes, content_type: str, url: str) -> Document:
    """The document in a body; `url` is also the base of its links.

    Raises:
        ExtraMissing: the parser of its kind is not installed; JSON, XML, CSV and text need none.
        UsageError: it is of a kind that is not read, damaged, encrypted, or has no text.
    """
    declared = content_type.partition(";")[0].strip().lower()[:100]
    if declared in _UNTYPED:
        path = url.removeprefix("file:") if url.startswith("file:") else urlsplit(url).path
        by_content = "text/html" if _HTML.match(body[:2_000]) else "text/plain"
        declared = _TYPES_BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), by_content)
    kind = kind_of(declared, body, content_type)
    if kind == "pdf":
        with extra_imports("web", "Reading a PDF file"):
            from alita_mcp.research.reading.pdf import pdf_document

        document = pdf_document(body, url)
    elif kind == "html":
        with extra_imports("web", "Reading HTML"):
            from alita_mcp.research.reading.html import html_document

        document = html_document(decode(body, content_type), url)
    else:
        text = decode(body, content_type)
        if kind == "json" and len(text) <= MAX_INDENTED:
            with suppress(ValueError, RecursionError):  # invalid or very deep JSON is shown as it is
                text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
        targets = dict.fromkeys(islice((match[0] for match in _URL.finditer(text)), MAX_LINKS))
        links = (Link(number=number, url=target, text="") for number, target in enumerate(targets, 1))
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        document = Document(url=url, text=text, links=tuple(links))
    if not document.text.strip():
        raise UsageError("It has no readable text.")
    return document.model_copy(update={"content_type": declared, "text": document.text[:MAX_CHARACTERS]})


def kind_of(declared: str, body: bytes, content_type: str = "") -> Kind:
    """The kind of a body by its first bytes and its declared media type.

    Raises:
        UsageError: it is neither text nor a PDF.
    """
    # The first bytes decide before the declared type: servers send PDFs as HTML, and programs as text.
    if b"%PDF-" in body[:1_024]:
        return "pdf"
    is_wide = body.startswith((b"\xff\xfe", b"\xfe\xff")) or re.search(r"utf-?(16|32)", content_type.lower())
    if _CONTROL.search(body[:4_096]) and not is_wide:
        raise UsageError(f"It is declared as {declared!r} and holds no text.", hint=READ_KINDS)
    # Then the declared type decides: what is never text; HTML, which may be declared as XML and the other way round;
    # JSON; and everything else, XML and feeds among it, which is shown as it is.
    if declared.startswith(_MEDIA) or declared == "application/pdf":
        raise UsageError(f"It is declared as {declared!r} and is not read.", hint=READ_KINDS)
    if declared in ("text/html", "application/xhtml+xml"):
        return "text" if _XML.match(body[:500]) and b"<html" not in body[:4_000].lower() else "html"
    if declared.endswith(("/xml", "+xml")):
        return "html" if _HTML.match(body[:2_000]) else "text"
    return "json" if declared.endswith(("/json", "+json")) else "text"
