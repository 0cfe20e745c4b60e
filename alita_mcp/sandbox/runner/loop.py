"""The supervisor's event loop over epoll, and its end of the wire to the host."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Iterable

from alita_mcp.sandbox.frames import Decoder, Frame, Kind, encode, pieces

READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
WRITABLE = select.EPOLLOUT
Handler = Callable[[int], None]


class Loop:
    """Calls a handler when its file descriptor is ready, and one more when the deadline passes."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.on_deadline: Callable[[], None] = lambda: None
        self._poll = select.epoll()
        self._handlers: dict[int, Handler] = {}

    def watch(self, fd: int, handler: Handler, events: int = select.EPOLLIN) -> None:
        """Starts to watch; EPOLLHUP and EPOLLERR always come too."""
        self._handlers[fd] = handler
        self._poll.register(fd, events)

    def change(self, fd: int, events: int) -> None:
        """Waits for other events of a watched file descriptor."""
        if fd in self._handlers:
            self._poll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Stops to watch; unknown file descriptors are fine."""
        if self._handlers.pop(fd, None) is not None:
            self._poll.unregister(fd)

    def run(self) -> None:
        """Runs until the process ends."""
        while True:
            wait = -1.0 if self.deadline is None else max(0.0, self.deadline - time.monotonic())
            for fd, events in self._poll.poll(wait):
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler(events)
            if self.deadline is not None and time.monotonic() >= self.deadline:
                self.deadline = None
                self.on_deadline()


class HostLink:
    """Frames to and from the host over stdin and stdout; when the host is gone, so is this process."""

    FULL = 1 << 20
    """With more than this many bytes waiting, whoever produces them should pause."""

    def __init__(self, loop: Loop, token: bytes, on_frame: Callable[[Frame], None]) -> None:
        self.on_room: Callable[[], None] = lambda: None
        """Called when all that was waiting has been written."""
        self._loop = loop
        self._token = token
        self._on_frame = on_frame
        self._decoder = Decoder()
        self._waiting = bytearray()
        os.set_blocking(0, False)
        os.set_blocking(1, False)
        loop.watch(0, self._read)
        loop.watch(1, self._write, 0)

    @property
    def full(self) -> bool:
        """Whether producers should pause."""
        return len(self._waiting) > self.FULL

    def send(self, kind: Kind, stream: int = 0, payload: bytes = b"") -> None:
        """Queues a frame and writes what the pipe takes now."""
        self._waiting += encode(kind, stream, payload, self._token)
        self._write(0)

    def send_json(self, kind: Kind, value: object) -> None:
        """Queues a frame whose payload is JSON."""
        self.send(kind, 0, json.dumps(value).encode())

    def finish(self, parts: Iterable[bytes], result: object) -> None:
        """Sends the parts as CHUNK frames and the result, waits for the host to close the wire, and ends."""
        os.set_blocking(1, True)
        for part in parts:
            for piece in pieces(part):
                self._waiting += encode(Kind.CHUNK, 0, piece, self._token)
                self._drain()
        self._waiting += encode(Kind.RESULT, 0, json.dumps(result).encode(), self._token)
        self._drain()
        os.set_blocking(0, True)
        while os.read(0, 1 << 16):
            continue
        os._exit(0)

    def _drain(self) -> None:
        while self._waiting:
            del self._waiting[: os.write(1, self._waiting)]

    def _read(self, _events: int) -> None:
        try:
            data = os.read(0, 1 << 18)
        except BlockingIOError:
            return
        if not data:
            os._exit(0)  # PID 1 ends, and with it everything in the sandbox
        for frame in self._decoder.feed(data):
            self._on_frame(frame)

    def _write(self, events: int) -> None:
        if events & (READABLE & ~WRITABLE):
            os._exit(0)
        had = bool(self._waiting)
        try:
            while self._waiting:
                del self._waiting[: os.write(1, self._waiting[: 1 << 18])]
        except BlockingIOError:
            pass
        self._loop.change(1, WRITABLE if self._waiting else 0)
        if had and not self._waiting:
            self.on_room()
