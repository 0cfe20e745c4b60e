"""Which hosts the server itself may fetch from: names at public addresses, reached at the address that was checked."""

from __future__ import annotations

import socket
from collections.abc import Iterable

import anyio
import httpx
from anyio import getaddrinfo

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.public_addresses import address_problem


async def public_address(host: str, port: int) -> str:
    """An address of `host` that is public.

    Raises:
        UsageError: the name does not resolve, or to a private, loopback, link-local or metadata address.
    """
    try:
        found = await getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as unknown:
        raise UsageError(f"The host {host!r} does not resolve.", hint="Check the URL.") from unknown
    addresses = [str(entry[4][0]) for entry in found]
    refused = [address for address in addresses if address_problem(address)]
    if refused or not addresses:
        raise UsageError(
            f"{host!r} is at {', '.join(refused)}, which is not a public address.",
            hint="Only the public web is read.",
        )
    return addresses[0]


class PublicOnly(httpx.AsyncBaseTransport):
    """Connects to the very address that was checked, so that a name cannot change its mind in between."""

    def __init__(self, also: Iterable[str] = ()) -> None:
        self._also = frozenset(also)
        self._inner = httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Resolves, checks, and sends the request to the checked address under its own name."""
        host = request.url.host
        port = request.url.port or {"http": 80, "https": 443}[request.url.scheme]
        if f"{host}:{port}" not in self._also:
            request.extensions = {**request.extensions, "sni_hostname": host}
            request.headers["host"] = request.url.netloc.decode("ascii")
            request.url = request.url.copy_with(host=await public_address(host, port))
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Closes the connections."""
        with anyio.CancelScope(shield=True):
            await self._inner.aclose()
