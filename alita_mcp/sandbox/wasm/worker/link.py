"""The worker's end of the wire: orders of the host in, frames with the host's token out. One thread reads."""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from typing import Any

from alita_mcp.sandbox.frames import Decoder, Frame, Kind, encode, pieces

_READ = 1 << 18


class Link:
    """Frames over two descriptors; the end of the wire ends the process."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._token = b""
        self._decoder = Decoder()
        self._arrived: deque[Frame] = deque()
        self._sending = threading.Lock()

    def admit(self, token: bytes) -> None:
        """The token that goes before each frame."""
        self._token = token

    def receive(self) -> Frame:
        """The next frame."""
        while not self._arrived:
            data = os.read(self._source, _READ)
            if not data:
                os._exit(0)
            self._arrived.extend(self._decoder.feed(data))
        return self._arrived.popleft()

    def send(self, kind: Kind, payload: bytes, stream: int = 0) -> None:
        """Sends what may be longer than a frame in several ones."""
        parts = list(pieces(payload)) or [b""]
        self._write(b"".join(encode(kind, stream, part, self._token) for part in parts))

    def send_whole(self, kind: Kind, payload: bytes, stream: int) -> None:
        """Sends one frame.

        Raises:
            FrameError: the payload is longer than fits.
        """
        self._write(encode(kind, stream, payload, self._token))

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._sending:
            while view:
                view = view[os.write(self._sink, view) :]

    def send_json(self, kind: Kind, value: dict[str, Any]) -> None:
        """A frame of JSON."""
        self.send(kind, json.dumps(value).encode())
