"""One page of the public web: a URL in, its text out; size, type, redirects, addresses and robots are guarded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import anyio
import httpx

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import PublicOnly
from alita_mcp.values import Value

AGENT = f"alita-mcp-server/{__version__}"
MAX_BYTES = 2_000_000
MAX_CHARACTERS = 20_000
MAX_REDIRECTS = 5
TIMEOUT_S = 20.0
READABLE = ("text/", "application/json", "application/xml", "application/xhtml+xml")


class Page(Value):
    """What was read at a URL; the text is a stranger's."""

    url: str
    """Where it was found in the end, after redirects."""
    title: str
    text: str


class PageReader:
    """Fetches pages; every request, redirects and robots.txt included, passes the same guards."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def read(self, url: str) -> Page:
        """The page at `url`.

        Raises:
            UsageError: not http(s), not public, forbidden by robots.txt, too large, not text, or not answered.
        """
        for _hop in range(MAX_REDIRECTS + 1):
            _require_web(url)
            await self._require_permission(url)
            response = await self._get(url)
            if not response.has_redirect_location:
                return await anyio.to_thread.run_sync(_extracted, str(response.url), response)
            url = str(response.url.join(response.headers["location"]))
        raise UsageError(f"More than {MAX_REDIRECTS} redirects, the last to {url[:200]!r}.")

    async def _get(self, url: str) -> httpx.Response:
        try:
            async with self._client.stream("GET", url) as response:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        raise UsageError(f"{url[:200]!r} is larger than {MAX_BYTES:,} bytes.")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as failed:
            raise UsageError(f"{url[:200]!r} did not answer: {type(failed).__name__}.") from failed
        return httpx.Response(
            response.status_code,
            headers=_plain(response.headers),
            content=bytes(body),
            request=httpx.Request("GET", url),
        )

    async def _require_permission(self, url: str) -> None:
        parts = urlsplit(url)
        robots = RobotFileParser()
        try:
            answer = await self._get(f"{parts.scheme}://{parts.netloc}/robots.txt")
        except UsageError as unknown:
            if "public address" in unknown.message:
                raise
            return
        robots.parse(answer.text.splitlines() if answer.is_success else [])
        if answer.is_success and not robots.can_fetch(AGENT, url):
            raise UsageError(f"robots.txt of {parts.netloc!r} forbids {url[:200]!r}.")


def _require_web(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise UsageError(f"{url[:200]!r} is not a plain http(s) address.")


def _plain(headers: httpx.Headers) -> list[tuple[str, str]]:
    """Headers without those that describe an encoding which is undone already."""
    return [
        (key, value) for key, value in headers.items() if key not in ("content-encoding", "content-length")
    ]


def _extracted(url: str, response: httpx.Response) -> Page:
    if not response.is_success:
        raise UsageError(f"{url[:200]!r} answered {response.status_code}.")
    kind = response.headers.get("content-type", "text/html").lower()
    if not kind.startswith(READABLE):
        raise UsageError(f"{url[:200]!r} is {kind.partition(';')[0]!r}, not text.")
    if "html" not in kind:
        return Page(url=url, title="", text=response.text[:MAX_CHARACTERS])
    import trafilatura

    found: Any = trafilatura.bare_extraction(response.text, url=url, with_metadata=True, include_links=False)
    if found is None or not found.text:
        raise UsageError(f"{url[:200]!r} has no readable text.")
    return Page(url=url, title=found.title or "", text=found.text[:MAX_CHARACTERS])


@asynccontextmanager
async def open_page_reader(also: Iterable[str] = ()) -> AsyncIterator[PageReader]:
    """A reader of the public web; `also` names `host:port` pairs that are allowed although not public."""
    async with httpx.AsyncClient(
        transport=PublicOnly(also), headers={"user-agent": AGENT}, timeout=TIMEOUT_S, follow_redirects=False
    ) as client:
        yield PageReader(client)
