"""Rules of robots.txt (RFC 9309), fetched once an hour for each origin."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
import httpx
from anyio import to_thread

from alita_mcp.errors import UsageError
from alita_mcp.extras import extra_imports
from alita_mcp.research.addresses import display_url
from alita_mcp.research.http_client import AGENT_NAME

FEATURE = "Reading a web page"
MAX_BYTES = 1_000_000
"""Rules beyond are not read."""
MAX_AGE_S = 3_600.0
MAX_ORIGINS = 256

FetchRules = Callable[[httpx.URL], Awaitable[tuple[int, bytes]]]
"""Takes the URL of a robots.txt; returns its status and body after redirects."""


class _Rules(NamedTuple):
    expires_at: float
    parsed: Any
    """None where the server failed, so nothing may be read."""


class Robots:
    """Cache of the rules of recently used origins."""

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
            rules = self._rules.pop(origin, None)
            if rules is None or rules.expires_at < self._clock():
                rules = await self._read_rules(origin)
            self._rules[origin] = rules
        while len(self._rules) > MAX_ORIGINS:
            oldest = next(iter(self._rules))
            del self._rules[oldest]
            self._locks.pop(oldest, None)
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
        return _Rules(self._clock() + MAX_AGE_S, await to_thread.run_sync(Protego.parse, text))
