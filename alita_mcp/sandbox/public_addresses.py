"""Which addresses a tool may connect to: an address as text in, the reason against it out."""

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
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",
        "fec0::/10",  # site-local
        "3fff::/20",
    )
)
"""Not public, whatever this Python's own tables say; they differ between releases."""


def address_problem(address: str) -> str:
    """Why nobody may connect to this address; empty for a public one."""
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
    odd = (
        plain.is_multicast
        or plain.is_reserved
        or plain.is_unspecified
        or plain.is_loopback
        or plain.is_link_local
    )
    return "not a public address" if odd or plain.is_private or not plain.is_global else ""
