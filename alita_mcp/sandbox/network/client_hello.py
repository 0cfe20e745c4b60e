"""Server name in the first bytes of a TLS connection (RFC 6066 §3), as OpenSSL reads it."""

from __future__ import annotations

import ssl

MAX_HELLO = 16 << 10


class NotTls(ValueError):
    """Error: the bytes cannot be the beginning of a TLS connection."""


def server_name(data: bytes) -> str | None:
    """The server name that the client sends, lower case; empty when it sends none; None when more bytes are needed.

    Raises:
        NotTls: this is no TLS of version 1.2 or later, or a hello that no client sends.
    """
    if data[:1] not in {b"", b"\x16"}:  # OpenSSL waits for more of what SSL 2 might have sent
        raise NotTls("no handshake")
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _connection, name, _context: names.append(name)
    incoming = ssl.MemoryBIO()
    incoming.write(data)
    try:
        # without a certificate the handshake ends as soon as the hello was read
        context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True).do_handshake()
    except ssl.SSLWantReadError as cut:
        if len(data) > MAX_HELLO:
            raise NotTls("a hello without an end") from cut
        return None
    except ssl.SSLError as broken:
        if not names:
            raise NotTls(broken.reason or "no hello") from broken
    return (names[0] or "").lower().removesuffix(".")
