"""HTTP client for the public web, and a bounded reader of response bodies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import PublicTransport
from alita_mcp.sandbox.network.public_addresses import Resolve, addresses_of

AGENT_NAME = "alita-mcp-server"
TIMEOUT_S = 10.0


@asynccontextmanager
async def open_http_client(
    allowed: Iterable[str] = (),
    *,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
    resolve: Resolve = addresses_of,
) -> AsyncIterator[httpx.AsyncClient]:
    """A client for public addresses and the `host:port` pairs of `allowed`: no redirects, cookies or proxies."""
    async with httpx.AsyncClient(
        transport=PublicTransport(allowed, resolve=resolve),
        headers={"user-agent": f"{AGENT_NAME}/{__version__}", "accept-encoding": "gzip", **(headers or {})},
        timeout=timeout_s,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=False,
    ) as client:
        yield client


async def read_body(response: httpx.Response, sender: str, max_bytes: int, *, cut: bool = False) -> bytes:
    """The decompressed body; with `cut` only its first `max_bytes`. `sender` names the server in errors.

    Raises:
        UsageError: it is larger than `max_bytes`, damaged, or in an encoding that was not requested.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise UsageError(f"{sender} sent the encoding {encoding[:40]!r}, which was not requested.")
    # httpx inflates a chunk at a time, so that a bomb ends at its first.
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > max_bytes and not cut:
                raise UsageError(f"{sender} sent more than {max_bytes:,} bytes.")
            if len(body) > max_bytes:
                break
    except httpx.DecodingError as damaged:
        raise UsageError(f"{sender} sent a damaged {encoding} body.") from damaged
    return bytes(body[:max_bytes])
