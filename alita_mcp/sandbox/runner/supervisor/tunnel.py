"""Proxy listener inside the sandbox: connections on loopback are carried to the host as streams of frames."""

from __future__ import annotations

import select
import socket
from dataclasses import dataclass, field

from alita_mcp.sandbox.runner.supervisor.loop import READABLE, WRITABLE, HostLink, Loop
from alita_mcp.sandbox.wire.frames import WINDOW, Frame, Kind

PORT = 3128
MAX_CONNECTIONS = 32
_BROKEN = select.EPOLLHUP | select.EPOLLERR


@dataclass
class Connection:
    """Connection of a program inside to the proxy, and the stream that carries it."""

    stream: int
    socket: socket.socket
    credit: int = WINDOW
    """How many bytes the host still takes."""
    incoming: bytearray = field(default_factory=bytearray)
    """From the host, not yet taken by the program."""
    consumed: int = 0
    program_ended: bool = False
    host_ended: bool = False


class Tunnel:
    """Copies bytes between connections and the host, which alone decides what they may reach."""

    def __init__(self, loop: Loop, link: HostLink) -> None:
        self.admits = False
        """Whether a call runs: streams belong to it and end with it."""
        self._loop = loop
        self._link = link
        self._connections: dict[int, Connection] = {}
        self._opened = 0
        self._listen()

    def _listen(self) -> None:
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # a connection wakes this process once, together with its first bytes
        self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        self._listener.bind(("127.0.0.1", PORT))
        self._listener.listen(MAX_CONNECTIONS)
        self._listener.setblocking(False)
        self._loop.watch(self._listener.fileno(), lambda _events: self._accept())

    def on_frame(self, frame: Frame) -> None:
        """Takes a frame of the host about a stream; streams that are gone are ignored."""
        connection = self._connections.get(frame.stream)
        if connection is None:
            return
        if frame.kind == Kind.DATA:
            connection.incoming += frame.payload
            self._deliver(connection)
        elif frame.kind == Kind.CREDIT:
            connection.credit += int.from_bytes(frame.payload[:4])
            self._arm(connection)
        elif frame.kind == Kind.END:
            connection.host_ended = True
            self._deliver(connection)
        elif frame.kind == Kind.RESET:
            self._close(connection, tell=False)

    def begin(self) -> None:
        """Admits connections of a new call, on a socket that knows none that the call before left waiting."""
        # the kernel sends their bytes again and again, and would take their SYN cookies on the old one
        self._loop.forget(self._listener.fileno())
        self._listener.close()
        self._listen()
        self.admits = True

    def close_all(self) -> None:
        """Ends every stream without a word: the host ends its side when it hears the result."""
        for connection in tuple(self._connections.values()):
            self._close(connection, tell=False)

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return
        if not self.admits:
            accepted.close()
            return
        accepted.setblocking(False)
        self._opened += 1
        connection = Connection(self._opened, accepted)
        self._connections[connection.stream] = connection
        self._loop.watch(accepted.fileno(), lambda events: self._on_ready(connection, events))
        self._link.queue(Kind.OPEN, connection.stream)
        self._collect(connection)
        if len(self._connections) >= MAX_CONNECTIONS:
            self._loop.change(self._listener.fileno(), 0)  # more of them wait in the listener's queue

    def _on_ready(self, connection: Connection, events: int) -> None:
        if events & WRITABLE:
            self._deliver(connection)
        if connection.stream not in self._connections:
            return
        if not connection.program_ended and connection.credit > 0 and events & READABLE:
            self._collect(connection)
        elif events & _BROKEN:
            self._close(connection)

    def _collect(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(min(1 << 16, connection.credit))
        except BlockingIOError:
            return
        except OSError:
            self._close(connection)
            return
        if data:
            connection.credit -= len(data)
            self._link.send(Kind.DATA, connection.stream, data)
        else:
            connection.program_ended = True
            # after the response nobody waits for it: it goes out with the next frame
            tell = self._link.queue if connection.host_ended else self._link.send
            tell(Kind.END, connection.stream)
        self._settle(connection)

    def _deliver(self, connection: Connection) -> None:
        try:
            while connection.incoming:
                count = connection.socket.send(connection.incoming[: 1 << 17])
                del connection.incoming[:count]
                connection.consumed += count
        except BlockingIOError:
            pass
        except OSError:
            self._close(connection)
            return
        if connection.consumed >= WINDOW // 4:
            self._link.send(Kind.CREDIT, connection.stream, connection.consumed.to_bytes(4))
            connection.consumed = 0
        if connection.host_ended and not connection.incoming:
            try:
                connection.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        self._settle(connection)

    def _settle(self, connection: Connection) -> None:
        if connection.host_ended and connection.program_ended and not connection.incoming:
            self._close(connection, tell=False)
        else:
            self._arm(connection)

    def _arm(self, connection: Connection) -> None:
        reads = not connection.program_ended and connection.credit > 0
        events = (select.EPOLLIN if reads else 0) | (WRITABLE if connection.incoming else 0)
        self._loop.change(connection.socket.fileno(), events)

    def _close(self, connection: Connection, *, tell: bool = True) -> None:
        if self._connections.pop(connection.stream, None) is None:
            return
        self._loop.change(self._listener.fileno(), select.EPOLLIN)
        self._loop.forget(connection.socket.fileno())
        connection.socket.close()
        if tell:
            self._link.send(Kind.RESET, connection.stream)
