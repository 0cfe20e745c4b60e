"""Cache of web pages by the digest of their URL, with how long each is fresh."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from alita_mcp import __version__
from alita_mcp.cache_folder import CacheFolder
from alita_mcp.research.fetching.freshness import Freshness
from alita_mcp.research.values import Document
from alita_mcp.values import Value


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
