"""HTTP of the component: `http.client`, and `urllib.request` over it, by one question to the host for each request.

The host opens the connection and does TLS, for hosts that the tool was granted. Redirects are followed here, so the
host checks each hop. There are no sockets and there is no `ssl`.
"""

from __future__ import annotations

import base64
import errno
import http.client
import io
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

_PIECE = 256 << 10
_NO_SOCKETS = (
    "the embedded sandbox has no sockets: use urllib.request or http.client, or install Docker or bubblewrap, where "
    "sockets and the packages that need them work"
)
_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        OSError, PermissionError, TimeoutError, ConnectionError, ConnectionResetError, RuntimeError, ValueError,
    )
}  # fmt: skip
"""What an error of the host may be inside; any other is an OSError."""


class Grant:
    """The function by which HTTP asks the host; None where the grant is missing."""

    ask: Callable[[dict[str, Any]], Any] | None = None


def _ask_host(**question: Any) -> Any:
    assert Grant.ask is not None  # noqa: S101 - nobody connects without it
    answer = Grant.ask(question)
    if "error" in answer:
        name, message = answer["error"]
        raise _ERRORS.get(name, OSError)(message)
    return answer["ok"]


class Channel:
    """Stand-in for the socket of an HTTP connection: takes a request as it is written, gives its response to read."""

    def __init__(self, host: str, port: int, seconds: Any, *, secure: bool) -> None:
        self._to = {"host": host, "port": port, "secure": secure}
        self._seconds = socket.getdefaulttimeout() if seconds is socket._GLOBAL_DEFAULT_TIMEOUT else seconds  # type: ignore[attr-defined]
        self._written = b""
        self._sent: dict[str, Any] = {}

    def sendall(self, data: Any) -> None:
        """Takes the next bytes of the request."""
        self._written += data

    def send_request(self) -> None:
        """Has the host send the request that was written.

        Raises:
            OSError: no connection to its host could be made.
        """
        written, self._written = self._written, b""
        while len(written) > _PIECE:
            _ask_host(do="upload", data=base64.b64encode(written[:_PIECE]).decode())
            written = written[_PIECE:]
        last = base64.b64encode(written).decode()
        self._sent = _ask_host(do="send", **self._to, data=last, seconds=self._seconds)

    def makefile(self, *_mode: Any) -> io.BufferedReader:
        """The response as the server sends it."""
        if self._written:
            self.send_request()
        return io.BufferedReader(_Reply(self._sent, self._seconds), _PIECE)

    def settimeout(self, value: float | None) -> None:
        """Seconds for each step of the requests that follow; None: as long as the host waits."""
        self._seconds = value

    def gettimeout(self) -> float | None:
        """Seconds; None: as long as the host waits."""
        return self._seconds

    def close(self) -> None:
        """Does nothing: a response is closed by itself."""


class _Reply(io.RawIOBase):
    """Bytes of one response."""

    def __init__(self, sent: dict[str, Any], seconds: float | None) -> None:
        super().__init__()
        self._arrived = base64.b64decode(sent["data"])
        self._connection = sent["connection"]
        self._seconds = seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes into a buffer; 0 at the end."""
        if not self._arrived and self._connection:
            piece = _ask_host(do="receive", connection=self._connection, seconds=self._seconds)
            self._arrived = base64.b64decode(piece)
            self._connection = self._connection if piece else 0
        count = min(len(buffer), len(self._arrived))
        buffer[:count], self._arrived = self._arrived[:count], self._arrived[count:]
        return count

    def close(self) -> None:
        """Has the host close the connection of a response that was not read to its end."""
        connection, self._connection = self._connection, 0
        if connection and not self.closed:
            _ask_host(do="drop", connection=connection)
        super().close()


class HTTPSConnection(http.client.HTTPConnection):
    """As in `http.client`; `context` changes nothing, for the host verifies certificates by its own authorities."""

    default_port = http.client.HTTPS_PORT

    def __init__(self, host: str, port: int | None = None, *, context: Any = None, **options: Any) -> None:
        super().__init__(host, port, **options)


def _connect(self: http.client.HTTPConnection) -> None:
    host: str = self.host if self.host.isascii() else self.host.encode("idna").decode()
    sys.audit("http.client.connect", self, host, self.port)
    if Grant.ask is None:
        message = f'a connection to {host} needs the grant "network", which this tool does not have'
        raise PermissionError(message)
    if self._tunnel_host:  # type: ignore[attr-defined]
        raise OSError("the host connects by itself: a tunnel through a proxy is not carried")
    self.sock = Channel(host, self.port, self.timeout, secure=isinstance(self, HTTPSConnection))


def _send_request(
    self: http.client.HTTPConnection,
    *request: Any,
    _send: Any = http.client.HTTPConnection._send_request,  # type: ignore[attr-defined]
) -> None:
    """A whole request: a connection that cannot be made is an error of `request`, not of `getresponse`."""
    _send(self, *request)
    if isinstance(self.sock, Channel):
        self.sock.send_request()


def _refuse_sockets(*_arguments: Any, **_words: Any) -> NoReturn:
    raise PermissionError(errno.EPERM, _NO_SOCKETS)


class Socket(socket.socket):
    """The class `socket.socket`, of which there can be no object."""

    __init__ = _refuse_sockets


def install() -> None:
    """Installs HTTP, and refuses sockets; called before `urllib.request` is imported."""
    http.client.HTTPConnection.connect = _connect
    http.client.HTTPConnection._send_request = _send_request  # type: ignore[attr-defined]
    http.client.HTTPSConnection = HTTPSConnection  # type: ignore[misc]
    http.client._create_https_context = lambda _http_version: None  # type: ignore[attr-defined]
    http.client.__all__.append("HTTPSConnection")
    socket.socket = socket.SocketType = Socket  # type: ignore[misc]
    for name in (
        "create_connection", "create_server", "socketpair", "fromfd", "getaddrinfo", "gethostbyname",
        "gethostbyname_ex", "gethostbyaddr", "getnameinfo",
    ):  # fmt: skip
        setattr(socket, name, _refuse_sockets)
