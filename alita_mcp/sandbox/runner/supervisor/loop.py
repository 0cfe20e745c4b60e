"""Event loop of the supervisor over epoll, and its connection to the host."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable

from alita_mcp.sandbox.wire.frames import Decoder, Frame, Kind, encode

READABLE = select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR
WRITABLE = select.EPOLLOUT
PIECE = 1 << 16
"""Read at once: no pipe holds more, and for larger buffers memory would be mapped each time."""
Handler = Callable[[int], object]


class Loop:
    """Event loop over epoll: calls the handler of each ready file descriptor, and one of an alarm."""

    def __init__(self) -> None:
        self._alarm: tuple[float, Callable[[], None]] | None = None
        self._poll = select.epoll()
        self._handlers: dict[int, Handler] = {}
        self._events: dict[int, int] = {}

    def watch(self, fd: int, handler: Handler, events: int = READABLE) -> None:
        """Starts to watch; EPOLLHUP and EPOLLERR always come too."""
        self._handlers[fd] = handler
        self._events[fd] = events
        self._poll.register(fd, events)

    def change(self, fd: int, events: int) -> None:
        """Waits for other events of a watched file descriptor."""
        if self._events.get(fd, events) != events:
            self._events[fd] = events
            self._poll.modify(fd, events)

    def forget(self, fd: int) -> None:
        """Stops to watch; unknown file descriptors are fine."""
        if self._handlers.pop(fd, None) is not None:
            del self._events[fd]
            self._poll.unregister(fd)

    def alarm(self, at: float, handler: Callable[[], None]) -> None:
        """Calls once when the monotonic clock has reached `at`, in place of any alarm before."""
        self._alarm = (at, handler)

    def quiet(self) -> None:
        """Takes the alarm back."""
        self._alarm = None

    def run(self) -> None:
        """Runs until the process ends."""
        while True:
            wait = -1.0 if self._alarm is None else max(0.0, self._alarm[0] - time.monotonic())
            for fd, events in self._poll.poll(wait):
                handler = self._handlers.get(fd)
                if handler is not None:
                    handler(events)
            if self._alarm is not None and time.monotonic() >= self._alarm[0]:
                _, ring = self._alarm
                self._alarm = None
                ring()


class HostLink:
    """Frames to and from the host over stdin and stdout; when the host is gone, so is this process."""

    def __init__(self, loop: Loop, token: bytes, on_frame: Callable[[Frame], None]) -> None:
        self._loop = loop
        self._token = token
        self._on_frame = on_frame
        self._decoder = Decoder()
        self._waiting = bytearray()
        os.set_blocking(0, False)
        os.set_blocking(1, False)
        loop.watch(0, self._read)
        loop.watch(1, self._write, 0)

    def queue(self, kind: Kind, stream: int = 0, payload: bytes = b"") -> None:
        """Queues a frame: several go out in one write, and wake the host once."""
        self._waiting += encode(kind, stream, payload, self._token)

    def send(self, kind: Kind, stream: int = 0, payload: bytes = b"") -> None:
        """Queues a frame and writes what the pipe takes now."""
        self.queue(kind, stream, payload)
        self._write()

    def send_json(self, kind: Kind, value: object) -> None:
        """Sends a frame whose payload is JSON."""
        self.send(kind, 0, json.dumps(value).encode())

    def drain(self) -> None:
        """Writes everything that waits, however long it takes."""
        os.set_blocking(1, True)
        while self._waiting:
            del self._waiting[: os.write(1, self._waiting)]

    def _read(self, _events: int) -> None:
        try:
            data = os.read(0, PIECE)
        except BlockingIOError:
            return
        if not data:
            os._exit(0)  # PID 1 ends, and with it everything in the sandbox
        for frame in self._decoder.feed(data):
            self._on_frame(frame)

    def _write(self, events: int = 0) -> None:
        if events & (READABLE & ~WRITABLE):
            os._exit(0)
        try:
            while self._waiting:
                del self._waiting[: os.write(1, self._waiting[: 1 << 18])]
        except BlockingIOError:
            pass
        self._loop.change(1, WRITABLE if self._waiting else 0)
