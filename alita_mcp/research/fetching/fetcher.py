"""Fetcher of web documents, with checks of addresses and robots.txt for each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import NamedTuple

import anyio
import httpx
from pydantic import Field

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.extras import require
from alita_mcp.research.addresses import PublicOnly, allowed_places, place_of
from alita_mcp.research.fetching import robots
from alita_mcp.research.fetching.bodies import ENCODINGS, read_body
from alita_mcp.research.fetching.cache import KeptPage, PageCache, page_key
from alita_mcp.research.fetching.freshness import freshness
from alita_mcp.research.fetching.urls import redirected, shown, web_url
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
    """From the first request to the last byte, redirects and robots.txt included; waiting for a slot is not."""
    per_host: int = Field(default=2, ge=1)
    """Requests to one host at a time."""


class _Allowance:
    """The seconds that a document has left for its requests."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    @contextmanager
    def spent(self) -> Iterator[None]:
        """Counts what is done in it, and ends it when nothing is left; raises TimeoutError."""
        begun = anyio.current_time()
        try:
            with anyio.fail_after(max(0.0, self._left)):
                yield
        finally:
            self._left -= anyio.current_time() - begun


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
        asked, allowance = web_url(url), _Allowance(self._limits.seconds)
        for _hop in range(MAX_REDIRECTS + 1):
            found = await self._at(asked, allowance)
            if isinstance(found, Document):
                return found
            if may_follow is not None and not may_follow(str(found)):
                raise UsageError(
                    f"{shown(asked)} redirects to {shown(found)}, which this task may not read.",
                    hint="A redirect is followed from an address that was given to the task, letter by letter.",
                )
            asked = found
        raise UsageError(f"More than {MAX_REDIRECTS} redirects, the last to {shown(asked)}.")

    async def _at(self, url: httpx.URL, allowance: _Allowance) -> Document | httpx.URL:
        """What is at a URL: a document, or the URL that it redirects to."""
        key = page_key(str(url), is_allowed=place_of(url) in self._allowed)
        kept = await self._cache.find(key)
        if kept is not None and self._cache.is_fresh(kept):
            return kept.document.model_copy(update={"cached": True})
        async with self._slot(url):
            answer = await self._asked(url, kept, allowance)
        if answer.status == _NOT_MODIFIED and kept is not None:
            document = kept.document.model_copy(update={"retrieved_at": _now()})
            await self._cache.keep(key, document, freshness(_refreshed(kept, answer.headers)))
            return document.model_copy(update={"cached": True})
        if answer.status in (301, 302, 303, 307, 308) and "location" in answer.headers:
            return redirected(url, answer.headers["location"])
        _require_success(url, answer)
        kind = answer.headers.get("content-type", "")
        read = await self._readers.read(answer.body, kind, str(url))
        document = read.model_copy(update={"retrieved_at": _now()})
        await self._cache.keep(key, document, freshness(answer.headers))
        return document

    async def _asked(self, url: httpx.URL, kept: KeptPage | None, allowance: _Allowance) -> _Answer:
        try:
            with allowance.spent():
                await self._robots.require(url)
                return await self._get(url, _conditions(kept), self._limits.bytes)
        except TimeoutError as slow:
            raise UsageError(f"{shown(url)} took longer than {self._limits.seconds:g} s.") from slow

    async def _get(self, url: httpx.URL, headers: dict[str, str], most: int, *, cut: bool = False) -> _Answer:
        try:
            async with self._client.stream("GET", url, headers=headers) as response:
                if response.has_redirect_location or response.status_code == _NOT_MODIFIED:
                    return _Answer(response.status_code, response.headers, b"")
                _require_length(response, most, cut=cut)
                body = await read_body(response, most, cut=cut)
                return _Answer(response.status_code, response.headers, body)
        except httpx.TimeoutException as slow:
            raise UsageError(f"{shown(url)} took longer than {self._limits.seconds:g} s.") from slow
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as failed:
            raise UsageError(f"{shown(url)} did not answer: {type(failed).__name__}.") from failed

    async def _ask_rules(self, url: httpx.URL) -> tuple[int, bytes]:
        for _hop in range(MAX_REDIRECTS + 1):
            answer = await self._get(url, {}, robots.MAX_BYTES, cut=True)
            if "location" not in answer.headers or not 300 <= answer.status < 400:
                return answer.status, answer.body
            url = redirected(url, answer.headers["location"])
        return 404, b""

    @asynccontextmanager
    async def _slot(self, url: httpx.URL) -> AsyncIterator[None]:
        place = place_of(url)
        slots = self._slots.setdefault(place, anyio.CapacityLimiter(self._limits.per_host))
        try:
            async with slots:
                yield
        finally:
            if not slots.borrowed_tokens and not slots.statistics().tasks_waiting:
                self._slots.pop(place, None)


def _conditions(kept: KeptPage | None) -> dict[str, str]:
    if kept is None:
        return {}
    said = {"if-none-match": kept.freshness.etag, "if-modified-since": kept.freshness.last_modified}
    return {name: value for name, value in said.items() if value}


def _refreshed(kept: KeptPage, headers: httpx.Headers) -> httpx.Headers:
    """The headers of an answer that repeats none of what it confirms."""
    before = {"etag": kept.freshness.etag, "last-modified": kept.freshness.last_modified}
    return httpx.Headers({**{name: value for name, value in before.items() if value}, **dict(headers)})


def _require_length(response: httpx.Response, most: int, *, cut: bool) -> None:
    said = response.headers.get("content-length", "")
    if not cut and said.isdigit() and len(said) < 20 and int(said) > most:
        raise UsageError(f"{shown(response.url)} is larger than {most:,} bytes.")


def _require_success(url: httpx.URL, answer: _Answer) -> None:
    if 200 <= answer.status < 300:
        return
    later = answer.headers.get("retry-after", "")
    hint = f"It may be asked again after {later} s." if later.isdigit() and len(later) < 7 else ""
    raise UsageError(f"{shown(url)} answered {answer.status}.", hint=hint)


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
