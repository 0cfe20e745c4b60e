"""Fetcher of web documents; each request is checked against the rules of addresses and robots.txt."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

import anyio
import httpx
from anyio import to_thread
from pydantic import Field

from alita_mcp.errors import UsageError
from alita_mcp.extras import extra_imports, require_extra
from alita_mcp.research.addresses import display_url, parse_url, parse_web_allow, redirect_target
from alita_mcp.research.http_client import AGENT_NAME, open_http_client, read_body
from alita_mcp.research.reading.readers import Readers, open_readers
from alita_mcp.research.values import Document, MayFollow
from alita_mcp.sandbox.network.public_addresses import Resolve, addresses_of
from alita_mcp.settings import Settings
from alita_mcp.values import Value

ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/*;q=0.9,application/json;q=0.9,*/*;q=0.5"
MAX_REDIRECTS = 5
FEATURE = "Reading a web page"
MAX_RULES_BYTES = 1_000_000
"""Rules of a robots.txt beyond are not read."""
RULES_MAX_AGE_S = 3_600.0
MAX_ORIGINS = 256

FetchRules = Callable[[httpx.URL], Awaitable[tuple[int, bytes]]]
"""Takes the URL of a robots.txt; returns its status and body after redirects."""


class _Rules(NamedTuple):
    expires_at: float
    parsed: Any
    """None where the server failed, so nothing may be read."""


class Robots:
    """Rules of robots.txt (RFC 9309), fetched once an hour for each of the recently used origins."""

    def __init__(self, fetch_rules: FetchRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch_rules = fetch_rules
        self._clock = clock
        self._rules: dict[str, _Rules] = {}
        self._locks: dict[str, anyio.Lock] = {}

    async def require_allowed(self, url: httpx.URL) -> None:
        """Returns if the URL may be read.

        Raises:
            ExtraMissing: the parser of robots.txt is not installed.
            UsageError: the rules forbid it, or the server failed to send them.
        """
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        async with self._locks.setdefault(origin, anyio.Lock()):
            rules = self._rules.get(origin)
            if rules is None or rules.expires_at < self._clock():
                rules = await self._read_rules(origin)
            self._rules[origin] = rules
        if len(self._locks) > MAX_ORIGINS:
            self._rules.clear()
            self._locks.clear()
        if rules.parsed is None:
            why = f"robots.txt of {origin!r} cannot be read, so nothing is read there."
            raise UsageError(why, hint="Try again later.")
        # In a thread: matching a megabyte of rules takes up to a second.
        if not await to_thread.run_sync(rules.parsed.can_fetch, str(url), AGENT_NAME):
            raise UsageError(
                f"robots.txt of {origin!r} forbids {display_url(url)}.", hint="Read another page."
            )

    async def _read_rules(self, origin: str) -> _Rules:
        with extra_imports("web", FEATURE):
            from protego import Protego
        status, body = await self._fetch_rules(httpx.URL(f"{origin}/robots.txt"))
        # RFC 9309: a server that fails forbids everything, and one without rules allows everything.
        if status >= 500:
            return _Rules(self._clock(), None)
        text = body.decode("utf-8", "replace") if status < 300 else ""
        return _Rules(self._clock() + RULES_MAX_AGE_S, await to_thread.run_sync(Protego.parse, text))


class FetchLimits(Value):
    """Caps of one document."""

    bytes: int = Field(default=5_000_000, ge=1)
    """Decompressed."""
    seconds: float = Field(default=20.0, gt=0)
    """From the first request to the last byte, with redirects and robots.txt."""


class _Response(NamedTuple):
    status: int
    headers: httpx.Headers
    body: bytes


class WebFetcher:
    """Fetcher of documents."""

    def __init__(self, client: httpx.AsyncClient, readers: Readers, limits: FetchLimits) -> None:
        self._client = client
        self._readers = readers
        self._limits = limits
        self._robots = Robots(self._fetch_rules)

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """The document at a URL, whole up to the caps; raises as `WebAgent.fetch`."""
        require_extra("web", FEATURE)
        here, deadline = parse_url(url), anyio.current_time() + self._limits.seconds
        for _hop in range(MAX_REDIRECTS + 1):
            found = await self._read_page(here, deadline)
            if isinstance(found, Document):
                return found
            elsewhere = found.netloc != here.netloc
            if elsewhere and may_follow is not None and not may_follow(str(found)):
                raise UsageError(
                    f"{display_url(here)} redirects to {display_url(found)}, which this task may not read.",
                    hint="Read another page.",
                )
            here = found
        raise UsageError(f"More than {MAX_REDIRECTS} redirects, the last to {display_url(here)}.")

    async def _read_page(self, url: httpx.URL, deadline: float) -> Document | httpx.URL:
        """The document at a URL, or the URL that it redirects to."""
        try:
            with anyio.fail_after(deadline - anyio.current_time()):
                await self._robots.require_allowed(url)
                status, headers, body = await self._get(url, self._limits.bytes)
        except (TimeoutError, httpx.TimeoutException) as slow:
            raise UsageError(f"{display_url(url)} took longer than {self._limits.seconds:g} s.") from slow
        # Three cases: the page is elsewhere; there is none; this is it.
        if status in (301, 302, 303, 307, 308) and "location" in headers:
            return redirect_target(url, headers["location"])
        if not 200 <= status < 300:
            later = headers.get("retry-after", "")
            hint = f"Try again in {later} s." if later.isdigit() and len(later) < 7 else ""
            raise UsageError(f"{display_url(url)} answered {status}.", hint=hint)
        read = await self._readers.read_document(body, headers.get("content-type", ""), str(url))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return read.model_copy(update={"retrieved_at": now})

    async def _get(self, url: httpx.URL, max_bytes: int, *, cut: bool = False) -> _Response:
        try:
            async with self._client.stream("GET", url) as response:
                if response.has_redirect_location:
                    return _Response(response.status_code, response.headers, b"")
                body = await read_body(response, display_url(url), max_bytes, cut=cut)
                return _Response(response.status_code, response.headers, body)
        except httpx.TimeoutException:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as failed:
            raise UsageError(f"{display_url(url)} did not answer: {type(failed).__name__}.") from failed

    async def _fetch_rules(self, url: httpx.URL) -> tuple[int, bytes]:
        """Status and body of a robots.txt; one that redirects for ever counts as none."""
        for _hop in range(MAX_REDIRECTS + 1):
            status, headers, body = await self._get(url, MAX_RULES_BYTES, cut=True)
            if "location" not in headers or not 300 <= status < 400:
                return status, body
            url = redirect_target(url, headers["location"])
        return 404, b""


@asynccontextmanager
async def open_fetcher(
    settings: Settings, *, limits: FetchLimits | None = None, resolve: Resolve = addresses_of
) -> AsyncIterator[WebFetcher]:
    """A fetcher of public pages; ALITA_WEB_ALLOW names private hosts that may be read.

    Raises:
        UsageError: ALITA_WEB_ALLOW names something that is not a host with a port.
    """
    allowed, limits = parse_web_allow(settings.web_allow), limits or FetchLimits()
    client = open_http_client(allowed, headers={"accept": ACCEPT}, timeout_s=limits.seconds, resolve=resolve)
    async with client as opened, open_readers() as readers:
        yield WebFetcher(opened, readers, limits)
