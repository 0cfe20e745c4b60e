"""Detection of a body's kind from its declared type, first bytes and name."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from alita_mcp.errors import UsageError

Kind = Literal["html", "pdf", "json", "xml", "csv", "text"]

_BY_TYPE: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/csv": "csv",
    "text/xml": "xml",
    "application/xml": "xml",
    "application/json": "json",
    "text/json": "json",
}
_TEXTS = frozenset(
    f"application/{name}"
    for name in (
        "javascript", "ecmascript", "x-javascript", "typescript", "x-sh", "x-python", "x-python-code", "x-ruby",
        "x-perl", "x-tex", "x-latex", "x-yaml", "yaml", "toml", "sql", "graphql", "x-ndjson", "ndjson", "jsonl",
        "rtf", "x-httpd-php", "x-subrip", "mbox", "x-patch",
    )
)  # fmt: skip
_BY_SUFFIX: dict[str, Kind] = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".pdf": "pdf", ".json": "json", ".geojson": "json",
    ".xml": "xml", ".rss": "xml", ".atom": "xml", ".csv": "csv", ".tsv": "csv",
}  # fmt: skip
_TEXT_SUFFIX = re.compile(
    r"\.(txt|md|rst|log|py|[jt]sx?|java|c|h|cc|[ch]pp|cs|go|rs|rb|pl|php|sh|bat|ps1|sql|r|jl|lua|scala|kt|swift|m|f90|"
    r"tex|bib|ya?ml|toml|ini|cfg|conf|env|diff|patch|ipynb|jsonl|ndjson|srt|vtt|ics|vcf|proto|s?css|dockerfile|makefile)"
)
_UNSAID = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/download", "unknown/unknown"}
)
_MARKUP = re.compile(
    rb"(?>\s*<!--.*?-->)*+\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_XML = re.compile(rb"\s*<\?xml\b|\s*<(?:rss|feed|urlset|sitemapindex)\b", re.IGNORECASE)
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_NUL_FREE = 4_096
_PACKED = (
    b"\x89PNG",
    b"GIF8",
    b"\xff\xd8\xff",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x7fELF",
    b"RIFF",
    b"OggS",
    b"MZ\x90",
)


def media_type(content_type: str) -> str:
    """The media type without parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()[:100]


def kind_of(content_type: str, body: bytes, name: str) -> Kind:
    """The kind of a body; its first bytes count more than its declared type. `name` is a URL or file name.

    Raises:
        UsageError: it is no text and no PDF.
    """
    declared = media_type(content_type)
    if b"%PDF-" in body[:1_024]:
        return "pdf"
    if body.startswith(_PACKED) or (b"\0" in body[:_NUL_FREE] and not _is_wide_text(body, content_type)):
        raise UsageError(f"It is {declared or 'without a content type'!r} and holds no text.", hint=_HINT)
    kind = _declared(declared) or (_named(body, name) if declared in _UNSAID else None)
    if kind is None:
        raise UsageError(f"It is {declared or 'without a content type'!r}, which is not read.", hint=_HINT)
    return _seen(kind, body)


_HINT = "HTML, PDF, JSON, XML, CSV and plain text or source code are read."


def _declared(declared: str) -> Kind | None:
    if declared in _BY_TYPE:
        return _BY_TYPE[declared]
    if declared.endswith("+json"):
        return "json"
    if declared.endswith("+xml") and not declared.startswith("image/"):
        return "xml"
    return "text" if declared.startswith("text/") or declared in _TEXTS else None


def _named(body: bytes, name: str) -> Kind | None:
    """What a body without a declared type is, by its first bytes and the end of its name."""
    path = urlsplit(name).path if "://" in name else name
    suffix = PurePosixPath(path.lower()).suffix or f".{PurePosixPath(path.lower()).name}"
    if suffix in _BY_SUFFIX:
        return None if _BY_SUFFIX[suffix] == "pdf" else _BY_SUFFIX[suffix]
    if _MARKUP.match(body[:2_000]):
        return "html"
    return "text" if _TEXT_SUFFIX.fullmatch(suffix) else None


def _seen(kind: Kind, body: bytes) -> Kind:
    """HTML that is declared as XML or the other way round, as its first bytes show."""
    if kind == "xml" and _MARKUP.match(body[:2_000]):
        return "html"
    if kind == "html" and _XML.match(body[:500]) and b"<html" not in body[:4_000].lower():
        return "xml"
    if kind == "pdf":
        raise UsageError("It is declared as a PDF and is none.", hint=_HINT)
    return kind


def _is_wide_text(body: bytes, content_type: str) -> bool:
    return body.startswith(_WIDE) or re.search(r"utf-?(16|32)", content_type.lower()) is not None
