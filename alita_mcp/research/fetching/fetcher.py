"""Fetcher of web documents, with checks of addresses and robots.txt for each request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import NamedTuple

import anyio
import httpx
from pydantic import Field

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.extras import require
from alita_mcp.research.addresses import (
    PublicOnly,
    allowed_places,
    display_url,
    parse_url,
    place_of,
    redirect_target,
)
from alita_mcp.research.bodies import ENCODINGS, read_body
from alita_mcp.research.fetching import robots
from alita_mcp.research.fetching.cache import PageCache, freshness, page_key
from alita_mcp.research.interface import MayFollow
from alita_mcp.research.reading.readers import Readers, open_readers
from alita_mcp.research.values import Document
from alita_mcp.sandbox.network.public_addresses import Resolve, addresses_of
from alita_mcp.settings import Settings
from alita_mcp.values import Value

AGENT = f"{robots.AGENT_NAME}/{__version__}"
ACCEPTED = "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5"
MAX_REDIRECTS = 5
CACHE_BYTES = 64_000_000
"""Room for pages that were read."""
_NOT_MODIFIED = 304


class FetchLimits(Value):
    """Caps of one document."""

    bytes: int = Field(default=5_000_000, ge=1)
    """After its compression is undone."""
    seconds: float = Field(default=20.0, gt=0)
    """From the first request to the last byte, with redirects, robots.txt and the wait for the host's turn."""
    per_host: int = Field(default=2, ge=1)
    """Requests to one host at a time."""


class _Answer(NamedTuple):
    status: int
    headers: httpx.Headers
    body: bytes


class WebFetcher:
    """Fetcher of documents; implements `research.interface.Fetcher`."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        readers: Readers,
        cache: PageCache,
        *,
        allowed: frozenset[str] = frozenset(),
        limits: FetchLimits | None = None,
    ) -> None:
        self._client = client
        self._readers = readers
        self._cache = cache
        self._allowed = allowed
        self._limits = limits or FetchLimits()
        self._robots = robots.Robots(self._ask_rules)
        self._slots: dict[str, anyio.CapacityLimiter] = {}
        self._can_read = False

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """The document at a URL, whole up to the caps; follows the redirects that `may_follow` allows.

        Raises:
            ExtraMissing: what reads pages is not installed; nothing is asked for then.
            UsageError: not http(s), not public, forbidden by robots.txt, too large, too slow, no text, not answered,
                or redirected to where it may not be followed.
        """
        if not self._can_read:
            require("web", robots.FEATURE)
            self._can_read = True
        here, deadline = parse_url(url), anyio.current_time() + self._limits.seconds
        for _hop in range(MAX_REDIRECTS + 1):
            found = await self._read(here, deadline)
            if isinstance(found, Document):
                return found
            if may_follow is not None and not may_follow(str(found)):
                raise UsageError(
                    f"{display_url(here)} redirects to {display_url(found)}, which this task may not read.",
                    hint="Redirects are followed freely only from addresses that were given to the task.",
                )
            here = found
        raise UsageError(f"More than {MAX_REDIRECTS} redirects, the last to {display_url(here)}.")

    async def _read(self, url: httpx.URL, deadline: float) -> Document | httpx.URL:
        """The document at a URL, or the URL that it redirects to.

        A cached page is given without a request while it is fresh, and again when its server confirms it.
        """
        place = place_of(url)
        key = page_key(str(url), is_allowed=place in self._allowed)
        kept = await self._cache.find(key)
        if kept is not None and self._cache.is_fresh(kept):
            return kept.document.model_copy(update={"cached": True})
        validators: dict[str, str] = {}
        if kept is not None:
            known = {"if-none-match": kept.freshness.etag, "if-modified-since": kept.freshness.last_modified}
            validators = {name: value for name, value in known.items() if value}
        slots = self._slots.setdefault(place, anyio.CapacityLimiter(self._limits.per_host))
        try:
            with anyio.fail_after(deadline - anyio.current_time()):
                async with slots:
                    await self._robots.require(url)
                    answer = await self._get(url, validators, self._limits.bytes)
        except (TimeoutError, httpx.TimeoutException) as slow:
            raise UsageError(f"{display_url(url)} took longer than {self._limits.seconds:g} s.") from slow
        finally:
            if not slots.borrowed_tokens and not slots.statistics().tasks_waiting:
                self._slots.pop(place, None)
        if answer.status == _NOT_MODIFIED and kept is not None:
            document = kept.document.model_copy(update={"retrieved_at": _now()})
            before = {"etag": kept.freshness.etag, "last-modified": kept.freshness.last_modified}
            headers = {**{name: value for name, value in before.items() if value}, **dict(answer.headers)}
            await self._cache.keep(key, document, freshness(headers))
            return document.model_copy(update={"cached": True})
        if answer.status in (301, 302, 303, 307, 308) and "location" in answer.headers:
            return redirect_target(url, answer.headers["location"])
        if not 200 <= answer.status < 300:
            later = answer.headers.get("retry-after", "")
            hint = f"Try again in {later} s." if later.isdigit() and len(later) < 7 else ""
            raise UsageError(f"{display_url(url)} answered {answer.status}.", hint=hint)
        content_type = answer.headers.get("content-type", "")
        read = await self._readers.read(answer.body, content_type, str(url))
        document = read.model_copy(update={"retrieved_at": _now()})
        await self._cache.keep(key, document, freshness(answer.headers))
        return document

    async def _get(self, url: httpx.URL, headers: dict[str, str], most: int, *, cut: bool = False) -> _Answer:
        try:
            async with self._client.stream("GET", url, headers=headers) as response:
                if response.has_redirect_location or response.status_code == _NOT_MODIFIED:
                    return _Answer(response.status_code, response.headers, b"")
                body = await read_body(response, display_url(url), most, cut=cut)
                return _Answer(response.status_code, response.headers, body)
        except httpx.TimeoutException:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as failed:
            raise UsageError(f"{display_url(url)} did not answer: {type(failed).__name__}.") from failed

    async def _ask_rules(self, url: httpx.URL) -> tuple[int, bytes]:
        for _hop in range(MAX_REDIRECTS + 1):
            answer = await self._get(url, {}, robots.MAX_BYTES, cut=True)
            if "location" not in answer.headers or not 300 <= answer.status < 400:
                return answer.status, answer.body
            url = redirect_target(url, answer.headers["location"])
        return 404, b""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@asynccontextmanager
async def open_fetcher(
    settings: Settings,
    *,
    limits: FetchLimits | None = None,
    resolve: Resolve = addresses_of,
    cache_bytes: int = CACHE_BYTES,
) -> AsyncIterator[WebFetcher]:
    """A fetcher with the cache of the home; ALITA_WEB_ALLOW names what may be read although it is not public.

    Raises:
        UsageError: ALITA_WEB_ALLOW names something that is no host with a port.
    """
    allowed = allowed_places(settings.web_allow)
    caps = limits or FetchLimits()
    cache = PageCache(settings.home / "web_pages", cache_bytes)
    headers = {"user-agent": AGENT, "accept": ACCEPTED, "accept-encoding": ENCODINGS}
    async with (
        httpx.AsyncClient(
            transport=PublicOnly(allowed, resolve=resolve), headers=headers, timeout=caps.seconds,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])), follow_redirects=False, trust_env=False,
        ) as client,
        open_readers() as readers,
    ):  # fmt: skip
        yield WebFetcher(client, readers, cache, allowed=allowed, limits=caps)
