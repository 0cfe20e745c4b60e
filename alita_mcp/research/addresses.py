"""Which hosts the server itself may fetch from: names at public addresses, reached at the address that was checked.

A name is resolved once for each connection, and the connection goes to an address that passed: a name that changes
its mind in between reaches nothing else. Hosts that a person named with their port are reached as they are.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore
import httpx
from anyio import getaddrinfo

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.network.public_addresses import address_problem

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""A host and a port in, its addresses out; raises OSError for a name that has none."""
MOST_ADDRESSES = 3
"""How many of a host's addresses are tried."""
CONNECT_WITHIN_S = 10.0
PORTS = {"http": 80, "https": 443}


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the system resolves it."""
    return [str(entry[4][0]) for entry in await getaddrinfo(host, port, type=socket.SOCK_STREAM)]


async def public_addresses(host: str, port: int, resolve: Resolve = resolved) -> Sequence[str]:
    """The addresses of `host`, all of them public.

    Raises:
        UsageError: the name does not resolve, or also to a private, loopback, link-local or metadata address.
    """
    try:
        addresses = await resolve(host, port)
    except (OSError, UnicodeError) as unknown:
        raise UsageError(f"The host {host!r} does not resolve.", hint="Check the URL.") from unknown
    refused = [address for address in addresses if address_problem(address)]
    if refused or not addresses:
        where = ", ".join(refused) or "no address"
        raise UsageError(
            f"{host!r} is at {where}, which is not a public address.",
            hint="Only the public web is read, and what ALITA_WEB_ALLOW names by host and port.",
        )
    return addresses


def allowed_places(said: str) -> frozenset[str]:
    """The `host:port` pairs of ALITA_WEB_ALLOW in one spelling.

    Raises:
        UsageError: a part of it is no host with a port.
    """
    return frozenset(_place(part.strip()) for part in said.split(",") if part.strip())


def _place(pair: str) -> str:
    try:
        url = httpx.URL(f"http://{pair}")
        written = int(pair.rpartition(":")[2])
    except (httpx.InvalidURL, ValueError, UnicodeError):
        written, url = 0, httpx.URL()
    if not 0 < written < 65_536 or not url.host or url.raw_path != b"/" or url.userinfo or " " in pair:
        raise UsageError(
            f"ALITA_WEB_ALLOW names {pair!r}, which is no host with a port.",
            hint="Write pairs such as intranet.example.org:443 or [::1]:8080, with commas between.",
        )
    return place_of(url)


def place_of(url: httpx.URL) -> str:
    """`host:port` of a URL, IPv6 in brackets, the scheme's port where none is written."""
    return _joined(url.raw_host.decode("ascii"), url.port or PORTS.get(url.scheme, 0))


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections, each to an address that was resolved and checked for it."""

    def __init__(
        self, also: frozenset[str], resolve: Resolve, network: httpcore.AsyncNetworkBackend | None = None
    ) -> None:
        self._also = also
        self._resolve = resolve
        self._network = network or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address that answers; raises UsageError for a host that is not public."""
        if _joined(host, port) in self._also:
            return await self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        failure: Exception = httpcore.ConnectError(f"{host!r} has no address")
        within = min(timeout or CONNECT_WITHIN_S, CONNECT_WITHIN_S)
        for address in (await public_addresses(host, port, self._resolve))[:MOST_ADDRESSES]:
            try:
                return await self._network.connect_tcp(address, port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as refused:
                failure = refused
        raise failure


class PublicOnly(httpx.AsyncHTTPTransport):
    """Sends requests to the public web, and to the `host:port` pairs of `also`; takes no proxy from the environment."""

    def __init__(
        self,
        also: Iterable[str] = (),
        *,
        resolve: Resolve = resolved,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        context = httpx.create_ssl_context()
        super().__init__(verify=context)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=32,
            max_keepalive_connections=8,
            keepalive_expiry=5.0,
            network_backend=CheckedNetwork(frozenset(_place(pair) for pair in also), resolve, network),
        )
