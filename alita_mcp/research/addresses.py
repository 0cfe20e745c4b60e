"""Which web addresses may be reached: URLs, redirects, and an HTTP transport to public addresses only.

The addresses are checked by `sandbox.network.public_addresses`; hosts that a person named are reached as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import httpcore
import httpx

from alita_mcp.errors import UsageError
from alita_mcp.research.texts import PORTS
from alita_mcp.sandbox.network.public_addresses import NotPublic, Resolve, addresses_of, public_addresses

MAX_URL = 4_000
MOST_ADDRESSES = 3
"""How many of a host's addresses are tried."""
CONNECT_WITHIN_S = 10.0


def display_url(url: object) -> str:
    """A URL for messages: cut, and without its query, which may hold a key."""
    return repr(str(url).partition("?")[0][:200])


def parse_url(text: str) -> httpx.URL:
    """The parsed URL without its fragment.

    Raises:
        UsageError: it is not http(s), has no host, holds a name or password, or is no URL at all.
    """
    try:
        url = httpx.URL(text.strip())
        if len(text) <= MAX_URL and url.scheme in PORTS and url.host and not url.userinfo:
            return url.copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError, UnicodeError) as broken:
        raise UsageError(f"{display_url(text)} is not a plain http(s) address.") from broken
    raise UsageError(f"{display_url(text)} is not a plain http(s) address.")


def redirect_target(url: httpx.URL, location: str) -> httpx.URL:
    """The target of a redirect from `url`; one from https to http is requested over https.

    Raises:
        UsageError: it leads to no plain http(s) address, or from https to http at another port than the usual one.
    """
    try:
        target = parse_url(str(url.join(location)))
    except (httpx.InvalidURL, ValueError, UnicodeError) as broken:
        raise UsageError(f"{display_url(location)} is not a plain http(s) address.") from broken
    if (url.scheme, target.scheme) != ("https", "http"):
        return target
    if target.port is not None:
        raise UsageError(f"{display_url(url)} redirects from https to http, at {display_url(target)}.")
    return target.copy_with(scheme="https")


async def web_addresses(host: str, port: int, resolve: Resolve) -> Sequence[str]:
    """The public addresses of `host`, at least one.

    Raises:
        UsageError: the name does not resolve, or also to a private, loopback, link-local or metadata address.
    """
    try:
        if addresses := await public_addresses(host, port, resolve):
            return addresses
        where = "no address"
    except OSError as unknown:
        raise UsageError(f"The host {host!r} does not resolve.", hint="Check the URL.") from unknown
    except NotPublic as private:
        where = ", ".join(private.problems)
    raise UsageError(
        f"{host!r} is at {where}, which is not a public address.",
        hint="Only the public web is read, and what ALITA_WEB_ALLOW names by host and port.",
    )


def allowed_places(pairs: str) -> frozenset[str]:
    """The `host:port` pairs of ALITA_WEB_ALLOW in one spelling.

    Raises:
        UsageError: a part of it is no host with a port.
    """
    return frozenset(_place(part.strip()) for part in pairs.split(",") if part.strip())


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
    """Network back end that connects only to addresses that were resolved and checked."""

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
        """Connects to the first address that responds; raises UsageError for a host that is not public."""
        if _joined(host, port) in self._also:
            return await self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        failure: Exception = httpcore.ConnectError(f"{host!r} has no address")
        within = min(timeout or CONNECT_WITHIN_S, CONNECT_WITHIN_S)
        for address in (await web_addresses(host, port, self._resolve))[:MOST_ADDRESSES]:
            try:
                return await self._network.connect_tcp(address, port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as refused:
                failure = refused
        raise failure


class PublicOnly(httpx.AsyncHTTPTransport):
    """HTTP transport to the public web and to the `host:port` pairs of `also`, without proxies."""

    def __init__(
        self,
        also: Iterable[str] = (),
        *,
        resolve: Resolve = addresses_of,
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
