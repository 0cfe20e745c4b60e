"""Check of addresses that tools and the page reader may connect to: public ones only."""

from __future__ import annotations

import ipaddress

_METADATA = frozenset({"168.63.129.16"})
"""Addresses that look public and belong to the machine's provider: its own services, credentials among them."""
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


def address_problem(address: str) -> str:
    """Reason why an address may not be connected to; empty for a public one."""
    try:
        plain = ipaddress.ip_address(address)
    except ValueError:
        return "no address"
    if plain.version == 6 and (plain.scope_id or any(plain in network for network in _TRANSLATED)):
        return "an IPv4 address or a zone inside IPv6"
    if str(plain) in _METADATA or any(
        plain in network for network in _CLOSED if network.version == plain.version
    ):
        return "not a public address"
    given_out = plain in _UNICAST if plain.version == 6 else not (plain.is_multicast or plain.is_reserved)
    return "" if given_out and plain.is_global else "not a public address"
