"""Sanitizing of texts and dates from the web for display."""

from __future__ import annotations

import html
import re
from datetime import date
from typing import Any

from alita_mcp import texts as plain_texts
from alita_mcp.unseen import HIDDEN

MAX_QUERY = 400
_MAX_MARKUP = 5_000
_URL = re.compile(r"https?://[^\s<>\"'`|)\]}]+")


def one_line(text: Any, limit: int) -> str:
    """A text in one line of at most `limit` characters, without invisible characters; empty for other values."""
    if not isinstance(text, str):
        return ""
    return plain_texts.one_line(HIDDEN.sub(" ", text[: limit * 4]), limit)


def urls_in(text: str) -> list[str]:
    """The http(s) URLs in a text, each without the punctuation of the sentence after it."""
    return [found.rstrip(".,;:!?") for found in _URL.findall(text)]


def without_markup(text: Any) -> str:
    """The text of an HTML snippet; empty for other values."""
    snippet = text[:_MAX_MARKUP] if isinstance(text, str) else ""
    return html.unescape(re.sub(r"</?[A-Za-z][^<>]{0,200}>", "", snippet))


def iso_date(text: Any) -> str:
    """The ISO 8601 date at the start of a text; empty where there is none."""
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except (ValueError, TypeError, KeyError):
        return ""
