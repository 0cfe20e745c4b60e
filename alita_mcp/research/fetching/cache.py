"""Page cache: documents in one file each, bounded, shared by all processes of a home.

What lies there is a guess about the past: a damaged, strange or missing file means that the page is read again, and a
disk that is full means that nothing is kept. URLs are not file names; their digests are.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio.to_thread
from pydantic import ValidationError

from alita_mcp import __version__
from alita_mcp.research.fetching.freshness import Freshness
from alita_mcp.research.values import Document
from alita_mcp.values import Value

FORMAT = 1
MAX_AGE_S = 30 * 86_400.0
LARGEST_SHARE = 8
"""No document takes more than one part in so many of the cache."""
ROOM_AFTER = 0.9
"""How full the cache is after the least recently used documents have made room."""
LOOK_EVERY = 16
"""After so many documents kept, and at the first, the size of the whole is looked at."""
_ORPHANED_S = 3_600.0

_log = logging.getLogger(__name__)


class KeptPage(Value):
    """A cached document with its caching headers."""

    document: Document
    freshness: Freshness
    checked_at: float
    """When the server last said that this is the page; seconds since 1970."""


class PageCache:
    """Cache of documents in one folder; `max_bytes` 0 keeps none."""

    def __init__(self, folder: Path, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept = 0

    async def find(self, key: str) -> KeptPage | None:
        """The cached page of a key; None when there is no reliable one."""
        return await anyio.to_thread.run_sync(self._find, key) if self._max_bytes else None

    async def keep(self, key: str, document: Document, freshness: Freshness) -> None:
        """Stores a document, unless it is too large, must not be kept, or cannot be written."""
        if self._max_bytes and freshness.may_keep:
            page = KeptPage(document=document, freshness=freshness, checked_at=self._clock())
            await anyio.to_thread.run_sync(self._keep, key, page)

    def is_fresh(self, page: KeptPage) -> bool:
        """Whether a page may be used without asking its server."""
        return 0 <= self._clock() - page.checked_at < page.freshness.fresh_s

    def _find(self, key: str) -> KeptPage | None:
        place = self._place(key)
        try:
            if place.stat().st_size > self._max_bytes // LARGEST_SHARE:
                return None
            mark, _, content = place.read_bytes().partition(b"\n")
            if mark != _mark(key, content):
                return None
            page = KeptPage.model_validate_json(content)
            if not 0 <= self._clock() - page.checked_at <= MAX_AGE_S:
                return None
            with suppress(OSError):
                os.utime(place)
        except (OSError, ValueError, ValidationError):
            return None
        return page

    def _keep(self, key: str, page: KeptPage) -> None:
        content = json.dumps(page.model_dump(mode="json"), ensure_ascii=True).encode()
        if len(content) > self._max_bytes // LARGEST_SHARE:
            return
        try:
            _write(self._place(key), _mark(key, content) + b"\n" + content)
            if self._kept % LOOK_EVERY == 0:
                self._make_room()
            self._kept += 1
        except OSError as failure:
            _log.info("A page of the web is not kept: %s", failure)

    def _make_room(self) -> None:
        """Drops what is too old, then the least recently used, and what crashed processes left."""
        found = []
        for place in self._folder.glob("*/*"):
            with suppress(OSError):
                found.append((place.stat().st_mtime, place.stat().st_size, place))
        found.sort(key=lambda one: one[0], reverse=True)
        total = sum(size for _, size, _ in found)
        room = self._max_bytes * ROOM_AFTER if total > self._max_bytes else self._max_bytes
        now, so_far = time.time(), 0
        for used_at, size, place in found:
            so_far += size
            longest = _ORPHANED_S if place.suffix == ".new" else MAX_AGE_S
            if so_far > room or used_at < now - longest:
                with suppress(OSError):
                    place.unlink()

    def _place(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def page_key(url: str, *, is_allowed: bool) -> str:
    """Cache key of a page; a page that a person's permission opened has another one."""
    return hashlib.sha256(f"{FORMAT}\n{__version__}\n{is_allowed}\n{url}".encode()).hexdigest()


def _mark(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).hexdigest().encode()


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, aside = tempfile.mkstemp(dir=place.parent, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(aside).replace(place)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
