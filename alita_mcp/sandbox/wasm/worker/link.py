"""Worker's connection to the host: reads orders, writes frames with the host's token.

A thread reads, also while a call runs: where the wire ends the server is gone, and so is this process then.
"""

from __future__ import annotations

import json
import os
import threading
from queue import SimpleQueue
from typing import Any

from alita_mcp.sandbox.wire.frames import Decoder, Frame, Kind, encode, pieces

_READ = 1 << 18


class Link:
    """Connection of frames over two descriptors; its end ends the process."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._token = b""
        self._decoder = Decoder()
        self._arrived: SimpleQueue[Frame] = SimpleQueue()
        self._sending = threading.Lock()

    def admit(self) -> dict[str, Any]:
        """The host's first words; one of them is the token that goes before each frame from here on."""
        while self._arrived.empty():
            self._read()
        words: dict[str, Any] = json.loads(self._arrived.get().payload)
        self._token = bytes.fromhex(words["token"])
        return words

    def listen(self) -> None:
        """Reads in a thread of its own from now on."""
        threading.Thread(target=self._read_on, daemon=True).start()

    def receive(self) -> Frame:
        """The next frame."""
        return self._arrived.get()

    def send(self, kind: Kind, payload: bytes, stream: int = 0, *, whole: bool = False) -> None:
        """Sends what may be longer than a frame in several ones, unless it has to stay whole."""
        parts = [payload] if whole else list(pieces(payload)) or [b""]
        data = memoryview(b"".join(encode(kind, stream, part, self._token) for part in parts))
        with self._sending:
            while data:
                data = data[os.write(self._sink, data) :]

    def send_json(self, kind: Kind, value: dict[str, Any]) -> None:
        """A frame of JSON."""
        self.send(kind, json.dumps(value).encode())

    def _read_on(self) -> None:
        while True:
            self._read()

    def _read(self) -> None:
        data = os.read(self._source, _READ)
        if not data:
            os._exit(0)
        for frame in self._decoder.feed(data):
            self._arrived.put(frame)
