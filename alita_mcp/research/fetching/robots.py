"""Rules of robots.txt (RFC 9309), fetched once per origin and kept for a while."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
import httpx
from anyio import to_thread

from alita_mcp.errors import UsageError
from alita_mcp.extras import importing
from alita_mcp.research.addresses import display_url

AGENT_NAME = "alita-mcp-server"
"""The name that rules for us are under."""
FEATURE = "Reading a web page"
MAX_BYTES = 1_000_000
"""Rules beyond are not read."""
KEPT_S = 3_600.0
MAX_ORIGINS = 256

AskRules = Callable[[httpx.URL], Awaitable[tuple[int, bytes]]]
"""The URL of a robots.txt in; status and body after redirects out."""


class _Rules(NamedTuple):
    until: float
    rules: Any
    """None: the server could not say, so nothing may be read."""


class Robots:
    """Cache of the rules of recently used origins."""

    def __init__(self, ask: AskRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._known: dict[str, _Rules] = {}
        self._asking: dict[str, anyio.Lock] = {}

    async def require(self, url: httpx.URL) -> None:
        """Returns where the URL may be read.

        Raises:
            ExtraMissing: there is nothing to read rules with.
            UsageError: the rules forbid it, or the origin fails to say what its rules are.
        """
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        async with self._asking.setdefault(origin, anyio.Lock()):
            found = self._known.get(origin)
            if found is None or found.until < self._clock():
                found = await self._read_rules(origin)
                self._known.pop(origin, None)
                self._known[origin] = found
        while len(self._known) > MAX_ORIGINS:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._asking.pop(oldest, None)
        if found.rules is None:
            raise UsageError(
                f"robots.txt of {origin!r} cannot be read, so nothing is read there.", hint="Try again later."
            )
        # In a thread: a megabyte of rules takes up to a second.
        if not await to_thread.run_sync(found.rules.can_fetch, str(url), AGENT_NAME):
            raise UsageError(
                f"robots.txt of {origin!r} forbids {display_url(url)}.", hint="Read another page."
            )

    async def _read_rules(self, origin: str) -> _Rules:
        with importing("web", FEATURE):
            from protego import Protego
        status, body = await self._ask(httpx.URL(f"{origin}/robots.txt"))
        if status >= 500:
            return _Rules(self._clock(), None)
        text = body.decode("utf-8", "replace") if status < 300 else ""
        return _Rules(self._clock() + KEPT_S, await to_thread.run_sync(Protego.parse, text))
