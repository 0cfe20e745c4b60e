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

MAX_PAGES = 1_000
MAX_CHARACTERS = 4_000_000
SECONDS = 12.0
"""Pages that come later are left out, and the text says so."""
_ERRORS = (
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
        reader: Any = pypdf.PdfReader(io.BytesIO(body), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UsageError(
                "The PDF is encrypted with a password.", hint="Provide a copy without a password."
            )
        pages = len(reader.pages)
        title = str((reader.metadata or {}).get("/Title") or "")
    except _ERRORS as broken:
        raise UsageError("The PDF is damaged and cannot be read.") from broken
    until = clock() + SECONDS
    parts: list[str] = []
    length, has_words = 0, False
    while len(parts) < min(pages, MAX_PAGES) and length < MAX_CHARACTERS and clock() < until:
        try:
            text = str(reader.pages[len(parts)].extract_text()).strip()
        except _ERRORS:
            text = ""
        length += len(text)
        has_words = has_words or bool(text)
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"--- page {len(parts) + 1} of {pages} ---\n{lines or '(no text on this page)'}")
    if not has_words:
        raise UsageError("The PDF holds no text.", hint="It may be a scan; images are not read.")
    if len(parts) < pages:
        parts.append(f"--- {pages - len(parts)} more pages were not read ---")
    return Document(url=url, title=" ".join(title.split())[:300], text="\n\n".join(parts))
