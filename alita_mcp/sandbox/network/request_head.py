"""Strict parser of the head of a proxy request; what two servers could read differently is refused (RFC 9112)."""

from __future__ import annotations

import re
from typing import NamedTuple

from alita_mcp.sandbox.interface import EgressRefused

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_HOP_BY_HOP = frozenset(
    {b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive", b"host", b"te", b"upgrade"}
)
_PLAIN = "http://"
Headers = list[tuple[bytes, bytes]]


class Target(NamedTuple):
    """Destination of a request, and the bytes to send there first."""

    host: str
    """Lower case, without a dot at its end."""
    port: int
    opening: bytes
    """Empty for CONNECT."""
    body_bytes: int | None
    """How much of the request's body follows; None: a tunnel, everything goes both ways."""

    @property
    def upload_bytes(self) -> int | None:
        """Bytes that go to the server in all; None: no end."""
        return None if self.body_bytes is None else len(self.opening) + self.body_bytes


def read_target(head: bytes) -> Target:
    """Parses a request's head (without the empty line): CONNECT and absolute `http://` URLs.

    Raises:
        EgressRefused: 400 or 411; the reason says which rule it breaks.
    """
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]) or words[2] not in {b"HTTP/1.1", b"HTTP/1.0"}:
        raise EgressRefused(400, "no HTTP request")
    try:
        where = words[1].decode("ascii")
    except UnicodeDecodeError as strange:
        raise EgressRefused(400, "the target is not ASCII") from strange
    headers = _headers(lines[1:])
    if words[0] == b"CONNECT":
        return Target(*_host_and_port(where, None), b"", None)
    return _plain_target(words[0], where, headers)


def _plain_target(method: bytes, where: str, headers: Headers) -> Target:
    if not where.lower().startswith(_PLAIN) or not where.isprintable():
        raise EgressRefused(400, "only CONNECT and absolute http:// URLs are served")
    authority = re.split("[/?#]", where[len(_PLAIN) :], maxsplit=1)[0]
    path = where[len(_PLAIN) + len(authority) :].partition("#")[0]
    host, port = _host_and_port(authority, 80)
    for name, value in headers:
        if name == b"host" and _host_and_port(value.decode("latin-1"), 80) != (host, port):
            raise EgressRefused(400, "the Host header names another host than the URL")
    body_bytes = _body_bytes(headers)
    path = path if path.startswith("/") else f"/{path}"
    opening = b"%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n" % (
        method, path.encode(), authority.encode()
    )  # fmt: skip
    opening += b"".join(b"%s: %s\r\n" % header for header in headers if header[0] not in _dropped(headers))
    return Target(host, port, opening + b"\r\n", body_bytes)


def _headers(lines: list[bytes]) -> Headers:
    """Names in lower case and values; a name that may stand once stands once."""
    found: Headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise EgressRefused(400, "a header line that is none")
        found.append((name.lower(), value.strip(b" \t")))
    names = [name for name, _ in found]
    for single in (b"host", b"content-length", b"transfer-encoding"):
        if names.count(single) > 1:
            raise EgressRefused(400, f"more than one {single.decode()} header")
    return found


def _dropped(headers: Headers) -> frozenset[bytes]:
    """What is meant for this hop only, what `Connection` names included."""
    named = b",".join(value for name, value in headers if name == b"connection").lower().split(b",")
    # a Content-Length that is dropped would turn the body into a second request
    return _HOP_BY_HOP | {name.strip() for name in named} - {b"content-length"}


def _host_and_port(authority: str, default_port: int | None) -> tuple[str, int]:
    if "@" in authority:
        raise EgressRefused(400, "user names in URLs are not served")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise EgressRefused(400, "no host, or no port")
    port = int(match["port"] or default_port or 0)
    if not 0 < port < 65536:
        raise EgressRefused(400, "no port")
    return match["host"].strip("[]").removesuffix(".").lower(), port


def _body_bytes(headers: Headers) -> int:
    named = dict(headers)
    if b"transfer-encoding" in named:
        if b"content-length" in named:
            raise EgressRefused(400, "both Content-Length and Transfer-Encoding")
        raise EgressRefused(411, "a request's body needs a Content-Length")
    length = named.get(b"content-length", b"0")
    if not _LENGTH.fullmatch(length):
        raise EgressRefused(400, "Content-Length is no number")
    return int(length)
