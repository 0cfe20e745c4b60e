"""Host names inside the component: an invented address stands for each, and the host resolves the name."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

_names: dict[str, str] = {}
"""Addresses that stand for names."""


class _State:
    """Who refuses what no grant covers."""

    check: Callable[[str], Any]


def install(check: Callable[[str], Any]) -> None:
    """Replaces name resolution; `check` raises where the grant is missing."""
    _State.check = staticmethod(check)
    socket.getaddrinfo = _getaddrinfo
    socket.getfqdn = lambda name="": name or "localhost"
    for name in ("gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        setattr(socket, name, _resolve(name))


def of(address: str) -> str:
    """The name that an address stands for, or the address."""
    return _names.get(address, address)


def checked(host: Any) -> str:
    """A host's name as it is sent.

    Raises:
        socket.gaierror: it can be none.
    """
    text = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if not text.isascii():
        text = text.encode("idna").decode()
    if not text or any(letter <= " " or letter in "/?#@[]\x7f" for letter in text):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return text


def _getaddrinfo(
    host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
) -> list[Any]:
    """One address, which stands for the name: what it is, the host finds out when it connects."""
    name = "127.0.0.1" if host is None else checked(host)
    _State.check(name)
    if family not in (0, socket.AF_INET, socket.AF_INET6):
        raise socket.gaierror(socket.EAI_FAMILY, "Address family not supported")
    number = {"http": 80, "https": 443, None: 0, "": 0}.get(port, port)
    kind = socket.SocketKind(type or socket.SOCK_STREAM)
    address, own = _address_of(name, flags)
    if family not in (0, own):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    where = (address, int(number)) if own == socket.AF_INET else (address, int(number), 0, 0)
    return [(own, kind, proto or 6, "", where)]


def _address_of(name: str, flags: int) -> tuple[str, socket.AddressFamily]:
    try:
        literal = ipaddress.ip_address(name)
    except ValueError:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
    else:
        return str(literal), socket.AF_INET if literal.version == 4 else socket.AF_INET6
    for address, known in _names.items():
        if known == name:
            return address, socket.AF_INET
    # RFC 2544: addresses that belong to no host
    address = str(ipaddress.IPv4Address("198.18.0.1") + len(_names))
    _names[address] = name
    return address, socket.AF_INET


def _resolve(function: str) -> Callable[..., Any]:
    def resolve(host: Any, *_more: Any) -> Any:
        if function in ("gethostbyname", "gethostbyname_ex"):
            address = _getaddrinfo(host, 0)[0][4][0]
            return address if function == "gethostbyname" else (host, [], [address])
        raise socket.herror(1, "Unknown host")

    return resolve
