"""Sockets of the component, whose connections to granted hosts are carried by requests to the host.

A connection begins with its first line or with TLS, not with `connect`: as behind the proxy of the other sandboxes,
the host sees first what is wanted, and answers a refused request in words. No name is resolved, here or before that.
"""

from __future__ import annotations

import base64
import errno
import json
import socket
import time
import weakref
from collections.abc import Callable
from typing import Any

from alita_mcp.sandbox.wasm.guest import names

Ask = Callable[[dict[str, Any]], Any]
SECURE = b"\x16\x03\x01alita"
"""Begins the TLS of a connection that is wrapped by its bytes, as in asyncio; a line of JSON follows, and answers."""
_PIECE = 256 << 10
_LINE = 16 << 10
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_FIRST_NUMBER = 1 << 12
_REFUSED = (
    "bind", "listen", "accept", "sendto", "recvfrom", "recvfrom_into", "recvmsg", "recvmsg_into", "share",
)  # fmt: skip
_ERRORS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        OSError, PermissionError, TimeoutError, ConnectionError, ConnectionResetError, RuntimeError, ValueError,
    )
}  # fmt: skip
"""What an error of the host may be inside; any other is an OSError."""
_opened: weakref.WeakValueDictionary[int, Socket] = weakref.WeakValueDictionary()


class _Network:
    """What the tool may ask the host about connections."""

    ask: Ask | None = None


def permit(ask: Ask | None) -> None:
    """Sets the function by which sockets ask the host; None where the grant is missing."""
    _Network.ask = ask


def register(*kinds: type[Exception]) -> None:
    """Registers more errors that the host may name."""
    _ERRORS.update({kind.__name__: kind for kind in kinds})


def ask(where: str, **question: Any) -> Any:
    """Asks the host about a connection; `where` is for the message of a missing grant."""
    if _Network.ask is None:
        raise PermissionError(
            f'a connection to {where} needs the grant "network", which this tool does not have'
        )
    answer = _Network.ask(question)
    if "error" in answer:
        name, message = answer["error"]
        raise _ERRORS.get(name, OSError)(message)
    return answer["ok"]


class Socket(socket.socket):
    """A TCP socket towards a granted host; it never has a descriptor of the system."""

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
        if fileno is not None:
            raise OSError(errno.EBADF, "no descriptor is a socket here")
        kind = socket.SOCK_STREAM if type == -1 else type & 0xF
        if family not in (-1, *_FAMILIES) or kind not in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            raise PermissionError(errno.EPERM, "only TCP to granted hosts is carried")
        self._io_refs = 0
        self._closed = self._gone = False
        self._shape = (socket.AF_INET if family == -1 else family, kind, max(proto, 0))
        self._seconds = socket.getdefaulttimeout()
        self._peer: tuple[str, int] | None = None
        self._stream: int | None = None
        self._first = b""
        self._arrived = b""
        self._number = _FIRST_NUMBER + len(_opened)
        while self._number in _opened:
            self._number += 1
        _opened[self._number] = self

    family = property(lambda self: socket.AddressFamily(self._shape[0]))
    type = property(lambda self: socket.SocketKind(self._shape[1]))
    proto = property(lambda self: self._shape[2])
    timeout = property(lambda self: self._seconds)

    def connect(self, address: Any) -> None:
        """Notes where to; see the module."""
        if self._shape[1] != socket.SOCK_STREAM:
            raise PermissionError(errno.EPERM, "only TCP to granted hosts is carried")
        host, port = names.checked(address[0]), address[1]
        if not isinstance(port, int) or not 0 < port < 65536:
            raise OverflowError("connect(): port must be 1-65535.")
        if _Network.ask is None:
            ask(host)
        self._peer = (names.of(host), port)

    def connect_ex(self, address: Any) -> int:
        """As `connect`; the number of the error."""
        try:
            self.connect(address)
        except OSError as problem:
            return problem.errno or errno.EPERM
        return 0

    def send(self, data: Any, flags: int = 0) -> int:
        """Sends at most 256 KB."""
        piece = bytes(memoryview(data).cast("B")[:_PIECE])
        if piece:
            self._write(piece)
        return len(piece)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Sends all of it."""
        view = memoryview(data).cast("B")
        for start in range(0, len(view), _PIECE):
            self._write(bytes(view[start : start + _PIECE]))

    def sendmsg(self, buffers: Any, *_more: Any) -> int:
        """Sends the first bytes of several buffers."""
        return self.send(b"".join(buffers))

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """The next bytes; empty at the end."""
        if flags & ~socket.MSG_PEEK:
            raise OSError(errno.EOPNOTSUPP, "flags are not carried")
        if not self._arrived and bufsize:
            self._arrived = self._read(bufsize)
        data = self._arrived[:bufsize]
        if not flags:
            self._arrived = self._arrived[bufsize:]
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """The next bytes into a buffer; how many there are."""
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view), flags)
        view[: len(data)] = data
        return len(data)

    def shutdown(self, how: int) -> None:
        """Says that nothing more is sent."""
        self._where()
        if how != socket.SHUT_RD and self._stream is not None:
            self.ask(do="end")

    def settimeout(self, value: float | None) -> None:
        """Seconds; None waits, 0 never does."""
        if value is not None and value < 0:
            raise ValueError("Timeout value out of range")
        self._seconds = value

    def gettimeout(self) -> float | None:
        """Seconds."""
        return self._seconds

    def setblocking(self, flag: bool) -> None:
        """Whether it waits."""
        self._seconds = None if flag else 0.0

    def getblocking(self) -> bool:
        """Whether it waits."""
        return self._seconds != 0

    def setsockopt(self, *_option: Any) -> None:
        """Nothing here has options."""

    def getsockopt(self, level: int, option: int, buflen: int = 0) -> Any:
        """0, or its kind."""
        return int(self._shape[1]) if (level, option) == (socket.SOL_SOCKET, socket.SO_TYPE) else 0

    def getpeername(self) -> Any:
        """Where it is connected to."""
        return self._where()

    def getsockname(self) -> Any:
        """No address: this end has none."""
        return ("127.0.0.1", 0)

    def fileno(self) -> int:
        """A number for `select`; no call of the system takes it."""
        return -1 if self._gone else self._number

    def detach(self) -> int:
        """Lets go of the connection without closing it."""
        number = self.fileno()
        self._closed = self._gone = True
        self._stream = None
        _opened.pop(self._number, None)
        return number

    def dup(self) -> Any:
        """Refuses."""
        raise OSError(errno.EOPNOTSUPP, "a connection has one socket")

    def ask(self, **question: Any) -> Any:
        """What the host answers about this connection, within the time-out."""
        words = {"seconds": self._seconds} | question
        if self._stream is not None:
            words["streams"] = [self._stream]
        try:
            return ask(str(self._peer), **words)
        except TimeoutError:
            if self._seconds == 0:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable") from None
            raise

    def is_ready(self) -> bool:
        """Whether bytes have arrived here."""
        return bool(self._arrived) or self._peer is None

    def secure(self, name: str) -> dict[str, Any]:
        """Begins TLS; what was agreed on."""
        host, port = self._where()
        if self._stream is not None:
            raise OSError("TLS begins with the connection here, not after other bytes")
        facts: dict[str, Any] = self.ask(do="open", host=host, port=port, tls=name)
        self._stream = facts["stream"]
        return facts

    def _where(self) -> tuple[str, int]:
        if self._gone:
            raise OSError(errno.EBADF, "Bad file descriptor")
        if self._peer is None:
            raise OSError(errno.ENOTCONN, "Socket is not connected")
        return self._peer

    def _write(self, data: bytes) -> None:
        self._where()
        if self._stream is None:
            self._first += data
            data = self._opening()
        if data:
            # what a full queue refused would be sent again by a caller that does not wait
            seconds = self._seconds or None
            self.ask(do="send", data=base64.b64encode(data).decode(), seconds=seconds)

    def _read(self, count: int) -> bytes:
        self._where()
        if self._stream is None and self._first and self._seconds != 0:
            self._send_first()
        if self._stream is None:
            if self._seconds == 0:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            raise TimeoutError("nothing was sent that could be answered: the network carries HTTP and TLS")
        return base64.b64decode(self.ask(do="receive", count=min(count, _PIECE)))

    def _opening(self) -> bytes:
        """The first bytes, once their first line is whole: a proxy reads the host in it."""
        if self._first.startswith(SECURE):
            line, newline, rest = self._first.partition(b"\n")
            if newline:
                self._first = rest
                self._secure_by_bytes(json.loads(line[len(SECURE) :]))
            return b""
        line, newline, rest = self._first.partition(b"\n")
        if not newline and len(self._first) < _LINE:
            return b""
        return self._begun()

    def _begun(self) -> bytes:
        self._stream = ask(str(self._peer), do="open")["stream"]
        first, self._first = self._first, b""
        host, port = self._where()
        method, space, rest = first.partition(b" ")
        if not space or not rest.startswith(b"/"):
            return first
        authority = f"[{host}]" if ":" in host else host
        return b"%s http://%s:%d%s" % (method, authority.encode("ascii", "replace"), port, rest)

    def _send_first(self) -> None:
        """Sends a first line that has no end: the host says what is wrong with it."""
        data = self._begun()
        self.ask(do="send", data=base64.b64encode(data).decode())
        self.ask(do="end")

    def _secure_by_bytes(self, name: str) -> None:
        seconds, self._seconds = self._seconds, self._seconds or None
        try:
            answer: dict[str, Any] = {"ok": self.secure(name)}
        except OSError as problem:
            answer = {"error": [type(problem).__name__, str(problem)]}
        finally:
            self._seconds = seconds
        self._arrived += json.dumps(answer).encode() + b"\n"

    def _real_close(self, *_more: Any) -> None:
        self._gone = True
        _opened.pop(self._number, None)
        if self._stream is not None and _Network.ask is not None:
            _Network.ask({"do": "close", "streams": [self._stream]})
            self._stream = None


def ready(numbers: list[int], seconds: float | None) -> list[int]:
    """Waits until one of these sockets has bytes and returns those that have; None: as long as the call."""
    found = [_opened[number] for number in numbers if number in _opened]
    here = [each._number for each in found if each.is_ready()]
    if here:
        return here
    streams = {each._stream: each._number for each in found if each._stream is not None}
    if streams:
        known = ask("", do="ready", streams=list(streams), seconds=seconds)
        return [streams[stream] for stream in known]
    if seconds:
        time.sleep(seconds)
    elif seconds is None:
        raise RuntimeError("deadlock: nothing was asked for that could arrive")
    return []


def is_ours(number: int) -> bool:
    """Whether a descriptor is one of these sockets."""
    return number in _opened


def install() -> None:
    """Replaces the sockets of the standard library; called before anything else imports them."""
    socket.socket = socket.SocketType = Socket  # type: ignore[misc]
    names.install(lambda host: ask(host) if _Network.ask is None else None)
    for name in ("socketpair", "fromfd", "create_server", "send_fds", "recv_fds"):
        setattr(socket, name, _refuse(name))
    for name in _REFUSED:
        setattr(Socket, name, _refuse(name))


def _refuse(name: str) -> Callable[..., Any]:
    def refused(*_arguments: Any, **_words: Any) -> Any:
        raise PermissionError(
            errno.EPERM, f"{name} is not carried: a tool connects to granted hosts, nothing else"
        )

    return refused
