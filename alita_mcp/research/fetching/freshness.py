"""Freshness of cached responses from their headers (RFC 9111, a private cache)."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import httpx

from alita_mcp.values import Value

UNSAID_S = 60.0
"""A page that says nothing counts so long: an agent that reads its second part asks no server again."""
LONGEST_S = 86_400.0


class Freshness(Value):
    """Caching rules of a response."""

    may_keep: bool
    fresh_s: float = 0.0
    """For so many seconds after it came nothing is asked."""
    etag: str = ""
    last_modified: str = ""


def freshness(headers: httpx.Headers) -> Freshness:
    """Whether a response may be kept, and how long it is fresh."""
    said = _directives(headers.get("cache-control", ""))
    if "no-store" in said or "*" in headers.get("vary", ""):
        return Freshness(may_keep=False)
    etag, modified = headers.get("etag", "")[:500], headers.get("last-modified", "")[:100]
    fresh_s = min(max(0.0, _lifetime(said, headers) - _seconds(headers.get("age", "0"))), LONGEST_S)
    return Freshness(
        may_keep=bool(fresh_s or etag or modified), fresh_s=fresh_s, etag=etag, last_modified=modified
    )


def _lifetime(said: dict[str, str], headers: httpx.Headers) -> float:
    if "no-cache" in said:
        return 0.0
    if "max-age" in said:
        return _seconds(said["max-age"])
    if "expires" in headers:
        return _between(headers.get("date", ""), headers["expires"])
    return 0.0 if "must-revalidate" in said else UNSAID_S


def _directives(line: str) -> dict[str, str]:
    parts = (part.strip().partition("=") for part in line.lower().split(","))
    return {name.strip(): value.strip().strip('"') for name, _, value in parts if name}


def _seconds(text: str) -> float:
    digits = text.strip()
    return float(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0.0


def _between(begin: str, end: str) -> float:
    try:
        return (parsedate_to_datetime(end) - parsedate_to_datetime(begin)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0
