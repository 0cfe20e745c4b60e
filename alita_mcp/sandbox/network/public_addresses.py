"""Guard against connections to private addresses (SSRF), for tools and for the page reader.

A name is resolved once for each connection, every address that it has is checked, and the connection goes to one of
these: a name that changes its mind in between reaches nothing else.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from anyio import getaddrinfo

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host and a port to addresses; raises OSError for a name that has none."""

_TRANSLATED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
    )
)
"""IPv6 that carries an IPv4 address: whoever translates it decides where it ends."""
_CLOSED = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and the metadata of some providers
        "168.63.129.16/32",  # a provider's own services for its machines, credentials among them
        "192.0.0.0/24",
        "192.31.196.0/24",  # AS112: whoever is nearest answers
        "192.52.193.0/24",  # tunnels for multicast
        "192.88.99.0/24",  # 6to4 relays
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",
        "2001::/23",  # the IETF's own protocols, some of them called global
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",
    )
)
"""Not public, whatever this Python's own tables say; they differ between releases."""
_UNICAST = ipaddress.ip_network("2000::/3")
"""All of IPv6 that is given out to networks."""


class NotPublic(Exception):
    """A host has addresses that are not public; `problems` are the reasons, by address."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(problems)
        self.problems = problems


async def addresses_of(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, from the machine's own resolver; each once."""
    found = await getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def public_addresses(
    host: str, port: int, resolve: Resolve = addresses_of, reachable: Collection[str] = ()
) -> Sequence[str]:
    """The addresses of a host, all of them public or among `reachable`; empty where it has none.

    Raises:
        OSError: the name does not resolve.
        NotPublic: one of its addresses, or more, is private, loopback, link-local, metadata or reserved.
    """
    try:
        addresses = await resolve(host, port)
    except UnicodeError as unknown:
        raise OSError(str(unknown)) from unknown
    found = {address: address_problem(address) for address in addresses if address not in reachable}
    if problems := {address: problem for address, problem in found.items() if problem}:
        raise NotPublic(problems)
    return addresses


def is_private_host(host: str) -> bool:
    """Whether a host as written, not resolved, is a local name or an address that is not public."""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        try:
            address = socket.inet_ntoa(socket.inet_aton(host))  # 2130706433, 0x7f.1 and 127.1 are loopback
        except (OSError, UnicodeError):
            return False
    return bool(address_problem(address))


def address_problem(address: str) -> str:
    """Reason why an address may not be connected to; empty for a public one."""
    try:
        plain = ipaddress.ip_address(address)
    except ValueError:
        return "no address"
    if plain.version == 6 and (plain.scope_id or any(plain in network for network in _TRANSLATED)):
        return "an IPv4 address or a zone inside IPv6"
    if any(plain in network for network in _CLOSED if network.version == plain.version):
        return "not a public address"
    given_out = plain in _UNICAST if plain.version == 6 else not (plain.is_multicast or plain.is_reserved)
    return "" if given_out and plain.is_global else "not a public address"
