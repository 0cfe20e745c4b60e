"""Conversion of a body of any supported kind to a `Document`, in the reading process."""

from __future__ import annotations

from alita_mcp.errors import UsageError
from alita_mcp.extras import importing
from alita_mcp.research.reading.decoding import decoded
from alita_mcp.research.reading.kinds import kind_of, media_type
from alita_mcp.research.reading.plain import json_text, plain_text
from alita_mcp.research.values import Document

MOST_CHARACTERS = 8_000_000


def read_document(body: bytes, content_type: str, url: str) -> Document:
    """The document in a body; `url` is also the base of its links.

    Raises:
        ExtraMissing: what reads its kind is not installed; JSON, CSV and text need nothing.
        UsageError: it is of a kind that is not read, damaged, encrypted, or has no text.
    """
    kind = kind_of(content_type, body, url)
    if kind == "pdf":
        with importing("web", "Reading a PDF file"):
            from alita_mcp.research.reading.pdf import pdf_document

        document = pdf_document(body, url)
    elif kind == "html":
        with importing("web", "Reading HTML"):
            from alita_mcp.research.reading.html import html_document

        document = html_document(decoded(body, content_type), url)
    elif kind == "xml":
        with importing("web", "Reading XML"):
            from alita_mcp.research.reading.xml import xml_document

        document = xml_document(body, url)
    else:
        text = decoded(body, content_type)
        document = Document(url=url, text=json_text(text) if kind == "json" else plain_text(text))
    if not document.text.strip():
        raise UsageError("It has no readable text.")
    read = {"content_type": media_type(content_type) or _TYPES[kind], "text": document.text[:MOST_CHARACTERS]}
    return document.model_copy(update=read)


_TYPES = {
    "html": "text/html", "pdf": "application/pdf", "json": "application/json", "xml": "application/xml",
    "csv": "text/csv", "text": "text/plain",
}  # fmt: skip
