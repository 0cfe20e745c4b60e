"""TLS sockets and buffers of the module `ssl`; see `tls.py`."""

from __future__ import annotations

import base64
import json
from typing import Any

from alita_mcp.sandbox.wasm.guest import sockets
from alita_mcp.sandbox.wasm.guest.tls_words import (
    SSLCertVerificationError,
    SSLEOFError,
    SSLError,
    SSLWantReadError,
)

__name__ = "ssl"


class _Agreed:
    """What both ends agreed on."""

    _facts: dict[str, Any]
    context: Any
    server_hostname: str | None
    server_side = False
    session = None
    session_reused = False

    def getpeercert(self, binary_form: bool = False) -> Any:
        """The certificate of the server, verified."""
        if not self._facts:
            raise ValueError("handshake not done yet")
        if binary_form:
            return base64.b64decode(self._facts["der"])
        return {name: _tuples(value) for name, value in self._facts["certificate"].items()}

    def version(self) -> str | None:
        """As in `TLSv1.3`."""
        return self._facts.get("version")

    def cipher(self) -> Any:
        """Name, protocol, bits."""
        return _tuples(self._facts.get("cipher"))

    def selected_alpn_protocol(self) -> str | None:
        """As in `http/1.1`, where the context asks for protocols."""
        return self._facts.get("alpn") if self.context._alpn else None

    def selected_npn_protocol(self) -> None:
        """None: it is obsolete."""

    def shared_ciphers(self) -> None:
        """None: the host knows them."""

    def compression(self) -> None:
        """None."""

    def get_channel_binding(self, cb_type: str = "tls-unique") -> None:
        """None: the host knows it."""

    def verify_client_post_handshake(self) -> None:
        """Refuses."""
        raise SSLError("client certificates are not carried")


class SSLSocket(_Agreed, sockets.Socket):
    """A socket whose TLS the host does; made by a context."""

    def __init__(self, *_arguments: Any, **_words: Any) -> None:
        raise TypeError("SSLSocket is made by SSLContext.wrap_socket()")

    @property
    def _sslobj(self) -> SSLSocket:
        return self  # httpcore asks it what was agreed on

    @classmethod
    def _wrapping(cls, sock: sockets.Socket, context: Any, name: str | None) -> SSLSocket:
        if not isinstance(sock, sockets.Socket):
            raise TypeError("only a socket can be wrapped")
        self = cls.__new__(cls)
        sockets.Socket.__init__(self, *sock._shape)
        self._seconds, self._peer = sock._seconds, sock._peer
        self._stream, self._first = sock._stream, sock._first
        sock.detach()
        self.context, self.server_hostname, self._facts = context, name, {}
        return self

    def connect(self, address: Any) -> None:
        """Connects, and begins TLS."""
        super().connect(address)
        if self.context._handshakes:
            self.do_handshake()

    def do_handshake(self, block: bool = False) -> None:
        """Has the host begin TLS.

        Raises:
            SSLCertVerificationError: the host could not verify the server.
        """
        if not self._facts:
            self._facts = self.secure(self.server_hostname or self._where()[0])

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        """The next bytes."""
        return self.recv(len) if buffer is None else self.recv_into(buffer, len)

    def write(self, data: Any) -> int:
        """Sends bytes."""
        return self.send(data)

    def pending(self) -> int:
        """How many bytes have arrived."""
        return len(self._arrived)

    def unwrap(self) -> Any:
        """Nothing is left of the connection without TLS."""
        return self


class MemoryBIO:
    """Buffer of bytes between TLS and its transport."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ended = False

    @property
    def pending(self) -> int:
        """How many bytes are in it."""
        return len(self._data)

    @property
    def eof(self) -> bool:
        """Whether all was read and nothing follows."""
        return self._ended and not self._data

    def read(self, n: int = -1) -> bytes:
        """Takes bytes out."""
        count = len(self._data) if n < 0 else n
        data = bytes(self._data[:count])
        del self._data[:count]
        return data

    def write(self, data: Any) -> int:
        """Puts bytes in."""
        self._data += data
        return memoryview(data).nbytes

    def write_eof(self) -> None:
        """Nothing follows."""
        self._ended = True


class SSLObject(_Agreed):
    """TLS over buffers: it asks the socket below for the host's TLS, then hands bytes on as they are."""

    _incoming: MemoryBIO
    _outgoing: MemoryBIO
    _asked: bool
    _answer: bytes

    def __init__(self, *_arguments: Any, **_words: Any) -> None:
        raise TypeError("SSLObject is made by SSLContext.wrap_bio()")

    @classmethod
    def _wrapping(cls, incoming: MemoryBIO, outgoing: MemoryBIO, context: Any, name: str | None) -> SSLObject:
        self = cls.__new__(cls)
        self._incoming, self._outgoing, self._asked, self._answer = incoming, outgoing, False, b""
        self.context, self.server_hostname, self._facts = context, name, {}
        return self

    def do_handshake(self) -> None:
        """Asks once, then waits for the answer in the buffer."""
        if self._facts:
            return
        if not self._asked:
            self._asked = True
            self._outgoing.write(sockets.SECURE + json.dumps(self.server_hostname).encode() + b"\n")
        self._answer += self._incoming.read()
        line, newline, rest = self._answer.partition(b"\n")
        if not newline:
            if self._incoming.eof:
                raise SSLEOFError("the connection ended before TLS began")
            raise SSLWantReadError("The operation did not complete (read)")
        self._incoming.write(rest)
        answer = json.loads(line)
        if "error" in answer:
            name, message = answer["error"]
            raise (SSLCertVerificationError if "Verification" in name else SSLError)(message)
        self._facts = answer["ok"]

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        """The next bytes; empty at the end."""
        count = len or 1024
        data = self._incoming.read(count)
        if not data and not self._incoming.eof:
            raise SSLWantReadError("The operation did not complete (read)")
        if buffer is None:
            return data
        buffer[: memoryview(data).nbytes] = data
        return memoryview(data).nbytes

    def write(self, data: Any) -> int:
        """Sends bytes."""
        return self._outgoing.write(data)

    def pending(self) -> int:
        """How many bytes have arrived."""
        return self._incoming.pending

    def unwrap(self) -> None:
        """Nothing is left of the connection without TLS."""


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
