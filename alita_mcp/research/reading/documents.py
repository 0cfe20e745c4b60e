"""Conversion of a body of any supported kind to a `Document`, in the reading process.

What a body is, its first bytes, its declared type and its name say, in that order.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from alita_mcp.errors import UsageError
from alita_mcp.extras import importing
from alita_mcp.research.reading.decoding import decode
from alita_mcp.research.values import Document

Kind = Literal["html", "pdf", "json", "xml", "csv", "text"]
MAX_CHARACTERS = 8_000_000
MAX_INDENTED = 2_000_000
"""Longer JSON stays as it is."""
KINDS = "HTML, PDF, JSON, XML, CSV and plain text or source code are read."
_TYPES: dict[Kind, str] = {
    "html": "text/html", "pdf": "application/pdf", "json": "application/json", "xml": "application/xml",
    "csv": "text/csv", "text": "text/plain",
}  # fmt: skip
_KINDS: dict[str, Kind] = {
    **{media_type: kind for kind, media_type in _TYPES.items()},
    "application/xhtml+xml": "html", "application/x-pdf": "pdf", "text/tab-separated-values": "csv",
    "application/csv": "csv", "text/xml": "xml", "text/json": "json",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".json": "json", ".geojson": "json", ".xml": "xml",
    ".rss": "xml", ".atom": "xml", ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
"""By media type, and by suffix for what comes without one."""
_TEXT_TYPE = re.compile(
    r"text/.*|application/(x-)?(javascript|ecmascript|typescript|sh|python|python-code|ruby|perl|tex|latex|yaml|toml|"
    r"sql|graphql|ndjson|jsonl|rtf|httpd-php|subrip|mbox|patch)"
)
_TEXT_SUFFIX = re.compile(
    r"\.(txt|md|rst|log|py|[jt]sx?|java|c|h|cc|[ch]pp|cs|go|rs|rb|pl|php|sh|bat|ps1|sql|r|jl|lua|scala|kt|swift|m|f90|"
    r"tex|bib|ya?ml|toml|ini|cfg|conf|env|diff|patch|ipynb|jsonl|ndjson|srt|vtt|ics|vcf|proto|s?css|dockerfile|makefile)"
)
_UNTYPED = ("", "application/octet-stream", "binary/octet-stream", "application/download", "unknown/unknown")
_HTML = re.compile(rb"(?>\s*<!--.*?-->)*+\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"\s*<\?xml\b|\s*<(?:rss|feed|urlset|sitemapindex)\b", re.IGNORECASE)
_BINARY = (
    b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"\x7fELF", b"RIFF", b"OggS", b"MZ\x90",
)  # fmt: skip


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

        document = html_document(decode(body, content_type), url)
    elif kind == "xml":
        with importing("web", "Reading XML"):
            from alita_mcp.research.reading.xml import xml_document

        document = xml_document(body, url)
    else:
        text = decode(body, content_type)
        if kind == "json":
            text = _indented(text)
        document = Document(url=url, text=text.replace("\r\n", "\n").replace("\r", "\n"))
    if not document.text.strip():
        raise UsageError("It has no readable text.")
    read = {
        "content_type": _media_type(content_type) or _TYPES[kind],
        "text": document.text[:MAX_CHARACTERS],
    }
    return document.model_copy(update=read)


def kind_of(content_type: str, body: bytes, name: str) -> Kind:
    """The kind of a body; `name` is a URL or file name.

    Raises:
        UsageError: it is no text and no PDF.
    """
    declared = _media_type(content_type)
    if b"%PDF-" in body[:1_024]:
        return "pdf"
    is_wide = body.startswith((b"\xff\xfe", b"\xfe\xff")) or re.search(r"utf-?(16|32)", content_type.lower())
    if body.startswith(_BINARY) or (b"\0" in body[:4_096] and not is_wide):
        raise UsageError(f"It is {declared or 'without a content type'!r} and holds no text.", hint=KINDS)
    kind = _KINDS.get(declared)
    if declared in _UNTYPED:
        path = PurePosixPath((urlsplit(name).path if "://" in name else name).lower())
        suffix = path.suffix or f".{path.name}"
        kind = _KINDS.get(suffix) or ("html" if _HTML.match(body[:2_000]) else None)
        kind = kind or ("text" if _TEXT_SUFFIX.fullmatch(suffix) else None)
    elif declared.endswith("+json"):
        kind = "json"
    elif declared.endswith("+xml") and not declared.startswith("image/"):
        kind = kind or "xml"
    elif _TEXT_TYPE.fullmatch(declared):
        kind = kind or "text"
    # HTML that is declared as XML, or the other way round
    if kind == "xml" and _HTML.match(body[:2_000]):
        return "html"
    if kind == "html" and _XML.match(body[:500]) and b"<html" not in body[:4_000].lower():
        return "xml"
    if kind == "pdf":
        raise UsageError("It is declared as a PDF and is none.", hint=KINDS)
    if kind is None:
        raise UsageError(f"It is {declared or 'without a content type'!r}, which is not read.", hint=KINDS)
    return kind


def _media_type(content_type: str) -> str:
    """The media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()[:100]


def _indented(text: str) -> str:
    """JSON in indented lines; invalid, very deep or very large JSON stays as it is."""
    if len(text) > MAX_INDENTED:
        return text
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
