"""Extraction of a PDF's text page by page, bounded in pages, characters and seconds."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import pypdf
from pypdf.errors import PyPdfError

from alita_mcp.errors import UsageError
from alita_mcp.research.values import Document

MOST_PAGES = 1_000
MOST_CHARACTERS = 4_000_000
SECONDS = 12.0
"""Pages that come later are left out, and the text says so."""
_TITLE = 300
_BROKEN = (
    PyPdfError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError, AssertionError,
    OSError, MemoryError,
)  # fmt: skip
"""What pypdf was seen to raise over damaged files."""


def pdf_document(body: bytes, url: str, clock: Callable[[], float] = time.monotonic) -> Document:
    """The text of a PDF, `--- page 2 of 7 ---` before each page.

    Raises:
        UsageError: it is damaged, or encrypted with a password, or holds no text.
    """
    try:
        reader = _opened(body)
        pages = len(reader.pages)
        title = str((reader.metadata or {}).get("/Title") or "")
    except _BROKEN as broken:
        raise UsageError("The PDF is damaged and cannot be read.") from broken
    parts, words = _texts(reader, pages, clock)
    if not words:
        raise UsageError("The PDF holds no text.", hint="It may be a scan; pictures are not read.")
    return Document(url=url, title=" ".join(title.split())[:_TITLE], text="\n\n".join(parts), pages=pages)


def _opened(body: bytes) -> Any:
    reader = pypdf.PdfReader(io.BytesIO(body), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise UsageError("The PDF is encrypted with a password.", hint="Give a copy without one.")
    return reader


def _texts(reader: Any, pages: int, clock: Callable[[], float]) -> tuple[list[str], bool]:
    """The parts of the text, and whether any of them holds a word."""
    until = clock() + SECONDS
    parts: list[str] = []
    length, read, has_words = 0, 0, False
    while read < min(pages, MOST_PAGES) and length < MOST_CHARACTERS and clock() < until:
        text = _page(reader, read)
        read += 1
        length += len(text)
        has_words = has_words or bool(text)
        parts.append(f"--- page {read} of {pages} ---\n{text or '(no text on this page)'}")
    if read < pages:
        parts.append(f"--- {pages - read} more pages were not read ---")
    return parts, has_words


def _page(reader: Any, number: int) -> str:
    try:
        text = str(reader.pages[number].extract_text())
    except _BROKEN:
        return ""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
