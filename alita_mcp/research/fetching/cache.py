"""Cache of web pages by the digest of their URL, with how long each is fresh."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from alita_mcp import __version__
from alita_mcp.cache_folder import CacheFolder
from alita_mcp.research.values import Document
from alita_mcp.values import Value

DEFAULT_S = 60.0
"""A page that says nothing counts so long: an agent that reads its second part asks no server again."""
LONGEST_S = 86_400.0


class Freshness(Value):
    """Caching rules of a response."""

    may_keep: bool
    fresh_s: float = 0.0
    """For so many seconds after it came nothing is asked."""
    etag: str = ""
    last_modified: str = ""


def freshness(headers: Mapping[str, str]) -> Freshness:
    """Whether a response may be kept, and how long it is fresh (RFC 9111, a private cache)."""
    parts = (part.strip().partition("=") for part in headers.get("cache-control", "").lower().split(","))
    directives = {name.strip(): value.strip().strip('"') for name, _, value in parts if name}
    if "no-store" in directives or "*" in headers.get("vary", ""):
        return Freshness(may_keep=False)
    if "no-cache" in directives:
        lifetime_s = 0.0
    elif "max-age" in directives:
        lifetime_s = _seconds(directives["max-age"])
    else:
        # `Expires` is not computed: such a page is asked for again, which its tag or date makes cheap.
        lifetime_s = 0.0 if "must-revalidate" in directives or "expires" in headers else DEFAULT_S
    fresh_s = min(max(0.0, lifetime_s - _seconds(headers.get("age", "0"))), LONGEST_S)
    etag, modified = headers.get("etag", "")[:500], headers.get("last-modified", "")[:100]
    return Freshness(
        may_keep=bool(fresh_s or etag or modified), fresh_s=fresh_s, etag=etag, last_modified=modified
    )


def _seconds(text: str) -> float:
    digits = text.strip()
    return float(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0.0


class KeptPage(Value):
    """A cached document with its caching headers."""

    document: Document
    freshness: Freshness
    checked_at: float
    """When the server last said that this is the page; seconds since 1970."""


class PageCache:
    """Cache of documents in one folder; `max_bytes` 0 keeps none."""

    def __init__(self, folder: Path, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self._pages = CacheFolder(folder, KeptPage, max_bytes, noun="A page of the web", clock=clock)
        self._is_used = max_bytes > 0
        self._clock = clock

    async def find(self, key: str) -> KeptPage | None:
        """The cached page of a key; None when there is no reliable one."""
        return await self._pages.find(key) if self._is_used else None

    async def keep(self, key: str, document: Document, freshness: Freshness) -> None:
        """Stores a document, unless it is too large, must not be kept, or cannot be written."""
        if self._is_used and freshness.may_keep:
            page = KeptPage(document=document, freshness=freshness, checked_at=self._clock())
            await self._pages.keep(key, page)

    def is_fresh(self, page: KeptPage) -> bool:
        """Whether a page may be used without asking its server."""
        return 0 <= self._clock() - page.checked_at < page.freshness.fresh_s


def page_key(url: str, *, is_allowed: bool) -> str:
    """Cache key of a page; a page that a person's permission opened has another one."""
    return hashlib.sha256(f"{__version__}\n{is_allowed}\n{url}".encode()).hexdigest()
