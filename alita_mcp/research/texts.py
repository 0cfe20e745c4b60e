"""Sanitising of strangers' texts, URLs and dates for display."""

from __future__ import annotations

import html
import re
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from alita_mcp.sandbox.network.public_addresses import is_private_host
from alita_mcp.texts import clipped

MAX_URL, MAX_QUERY = 2_000, 400
_MAX_MARKUP = 5_000
PORTS = {"http": 80, "https": 443}
_UNSEEN = re.compile(
    r"[\x00-\x20\x7f-\xa0\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff"
    r"\U000e0000-\U000e007f]+"
)
"""White space, control characters, and what hides or reorders text."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def one_line(text: Any, most: int) -> str:
    """A text in one line, without control, reordering and hidden characters; empty for other values."""
    if not isinstance(text, str):
        return ""
    plain = text[: most * 4].encode("utf-8", "replace").decode("utf-8")
    plain = _UNSEEN.sub(" ", plain).strip()
    return clipped(plain, most)


def without_markup(text: Any) -> str:
    """The text of an HTML snippet from a back end."""
    snippet = text[:_MAX_MARKUP] if isinstance(text, str) else ""
    return html.unescape(re.sub(r"</?[A-Za-z][^<>]{0,200}>", "", snippet))


def web_url(url: Any, allowed: frozenset[str] = frozenset()) -> str:
    """The URL if it may be shown and followed; else empty.

    Addresses that are not public are left out, but for `host:port` pairs in `allowed`. A name is not resolved here:
    the fetcher checks where a page leads.
    """
    if not isinstance(url, str) or len(url) > MAX_URL or _UNSEEN.search(url) or "\\" in url:
        return ""
    try:
        url.encode("utf-8")
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    if not host or not port or parts.username is not None or parts.scheme not in PORTS:
        return ""
    written = f"[{host}]" if ":" in host else host
    return url if f"{written}:{port}" in allowed or not is_private_host(host) else ""


def day(text: Any) -> str:
    """The ISO 8601 date at the start of a text; empty where there is none."""
    found = _DATE.match(text) if isinstance(text, str) else None
    try:
        return date.fromisoformat(found[0]).isoformat() if found else ""
    except ValueError:
        return ""
