"""Which web addresses may be reached: plain URLs, redirects, and an HTTP transport to public addresses only.

`sandbox.network.public_addresses` decides what is public; the `host:port` pairs of ALITA_WEB_ALLOW are exempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import httpcore
import httpx

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.network.public_addresses import (
    NotPublic,
    Resolve,
    addresses_of,
    is_private_host,
    public_addresses,
)

MAX_URL = 4_000
MAX_ADDRESSES = 3
"""Addresses of one host that are tried."""
CONNECT_TIMEOUT_S = 10.0
PORTS = {"http": 80, "https": 443}


def display_url(url: object) -> str:
    """A URL for messages: cut, and without its query, which may hold a key."""
    return repr(str(url).partition("?")[0][:200])


def parse_url(text: str) -> httpx.URL:
    """The parsed URL without its fragment.

    Raises:
        UsageError: it is not http(s), has no host, holds a user name or password, or is not a URL at all.
    """
    with suppress(httpx.InvalidURL, ValueError):
        url = httpx.URL(text.strip())
        is_valid = urlsplit(text).port != 0  # raises ValueError for ports and brackets that httpx accepts
        if is_valid and len(text) <= MAX_URL and url.scheme in PORTS and url.host and not url.userinfo:
            return url.copy_with(fragment=None)
    raise UsageError(f"{display_url(text)} is not a plain http(s) address.")


def redirect_target(url: httpx.URL, location: str) -> httpx.URL:
    """The target of a redirect from `url`; one from https to http is requested over https.

    Raises:
        UsageError: it is not a plain http(s) address.
    """
    try:
        target = parse_url(str(url.join(location)))
    except (httpx.InvalidURL, ValueError):
        target = parse_url(location)
    return target.copy_with(scheme="https") if (url.scheme, target.scheme) == ("https", "http") else target


def host_port(url: httpx.URL) -> str:
    """`host:port` of a URL: IPv6 in brackets, and the scheme's port where none is written."""
    return _join(url.raw_host.decode("ascii"), url.port or PORTS.get(url.scheme, 0))


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_web_allow(pairs: str) -> frozenset[str]:
    """The `host:port` pairs of ALITA_WEB_ALLOW in one spelling.

    Raises:
        UsageError: a part of it is not a host with a port.
    """
    return frozenset(_parse_pair(part.strip()) for part in pairs.split(",") if part.strip())


def _parse_pair(pair: str) -> str:
    with suppress(httpx.InvalidURL, ValueError):
        url, port = httpx.URL(f"http://{pair}"), int(pair.rpartition(":")[2])
        is_pair = url.host and url.raw_path == b"/" and not url.userinfo and " " not in pair
        if is_pair and 0 < port < 65_536:
            return host_port(url)
    raise UsageError(
        f"Invalid part {pair!r} of ALITA_WEB_ALLOW: expected HOST:PORT.",
        hint="Write pairs such as intranet.example.org:443 or [::1]:8080, separated by commas.",
    )


def web_url(url: object, allowed: frozenset[str] = frozenset()) -> str:
    """The URL if it may be shown and followed, else empty: only public hosts, and the `host:port` pairs of `allowed`.

    Names are not resolved here; the fetcher checks where a page leads.
    """
    if not isinstance(url, str) or not url.isprintable() or " " in url or "\\" in url:
        return ""
    try:
        parsed = parse_url(url)
    except UsageError:
        return ""
    host = parsed.raw_host.decode("ascii").rstrip(".")
    return "" if is_private_host(host) and host_port(parsed) not in allowed else url


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Network back end that connects only to public addresses, and to the `host:port` pairs of `allowed`."""

    def __init__(
        self, allowed: frozenset[str], resolve: Resolve, network: httpcore.AsyncNetworkBackend | None = None
    ) -> None:
        self._allowed = allowed
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
        if _join(host, port) in self._allowed:
            return await self._network.connect_tcp(host, port, timeout, local_address, socket_options)
        # The name is resolved here, once: a name that changes its addresses after the check reaches nothing else.
        addresses: Sequence[str] = ()
        problem = "no address"
        try:
            addresses = await public_addresses(host, port, self._resolve)
        except OSError as unknown:
            raise UsageError(f"The host {host!r} does not resolve.", hint="Check the URL.") from unknown
        except NotPublic as private:
            problem = ", ".join(private.problems)
        if not addresses:
            raise UsageError(
                f"The host {host!r} resolves to {problem}, which is not a public address.",
                hint="To read a host of your own network, add its HOST:PORT to ALITA_WEB_ALLOW.",
            )
        within = min(timeout or CONNECT_TIMEOUT_S, CONNECT_TIMEOUT_S)
        failure: Exception = httpcore.ConnectError(f"{host!r} has no address")
        for address in addresses[:MAX_ADDRESSES]:
            try:
                return await self._network.connect_tcp(address, port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as refused:
                failure = refused
        raise failure


class PublicTransport(httpx.AsyncHTTPTransport):
    """HTTP transport over `PublicNetwork`, without proxies."""

    def __init__(
        self,
        allowed: Iterable[str] = (),
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
            network_backend=PublicNetwork(frozenset(map(_parse_pair, allowed)), resolve, network),
        )
