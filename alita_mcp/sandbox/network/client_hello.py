"""Parser of the server name in the first bytes of a TLS connection (RFC 8446 §4.1.2, RFC 6066 §3)."""

from __future__ import annotations

MAX_HELLO = 16 << 10
_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME = 22, 1, 0


class NotTls(ValueError):
    """Error: the bytes cannot be the beginning of a TLS connection."""


class _Cut(Exception):
    """The bytes end before the hello does."""


class _Reader:
    """Takes fields off the front of bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def rest(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if self.rest < count:
            raise _Cut
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width))

    def block(self, width: int) -> _Reader:
        """What stands behind its own length."""
        return _Reader(self.take(self.number(width)))


def server_name(data: bytes) -> str | None:
    """The server name that the client sends, lower case; empty when it sends none; None when more bytes are needed.

    Raises:
        NotTls: this is no TLS, or a hello that no client sends.
    """
    try:
        handshake = _handshake(_Reader(data))
    except _Cut as cut:
        if len(data) > MAX_HELLO:
            raise NotTls("a hello without an end") from cut
        return None
    try:
        return _name_in(handshake)
    except _Cut as cut:
        raise NotTls("a hello whose fields do not fit") from cut


def _handshake(records: _Reader) -> _Reader:
    """The first handshake message, which may be cut into several records."""
    data = b""
    while True:
        if records.number(1) != _HANDSHAKE or records.number(1) != 3:
            raise NotTls("no handshake")
        records.take(1)
        length = records.number(2)
        if not 0 < length <= MAX_HELLO:
            raise NotTls("a record without a sensible length")
        data += records.take(length)
        if data[0] != _CLIENT_HELLO:
            raise NotTls("no hello")
        if len(data) >= 4 and len(data) - 4 >= (length := int.from_bytes(data[1:4])):
            return _Reader(data[4 : 4 + length])


def _name_in(hello: _Reader) -> str:
    hello.take(2 + 32)  # version and random
    hello.block(1)  # session
    hello.block(2)  # cipher suites
    hello.block(1)  # compression
    extensions = hello.block(2) if hello.rest else _Reader(b"")
    names = []
    while extensions.rest:
        kind, body = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            names.append(_single_name(body))
    if len(names) > 1:
        raise NotTls("more than one server name")
    return names[0] if names else ""


def _single_name(body: _Reader) -> str:
    names = body.block(2)
    kind, name = names.number(1), names.block(2)
    text = name.take(name.rest)
    if kind != 0 or names.rest or body.rest or not text.isascii():
        raise NotTls("an odd server name")
    return text.decode("ascii").lower().removesuffix(".")
