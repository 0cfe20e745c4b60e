"""Process of one call: waits for its arguments, calls the function once and reports on its channel.

What it touches of the zygote's memory is copied, and that is most of its cost. Hence no `threading`, which tidies up
after each fork, and no `signal.pthread_sigmask`, which makes an enum of each signal.
"""

from __future__ import annotations

import os
import resource
import struct
import sys
from _signal import SIG_SETMASK, pthread_sigmask  # type: ignore[import-not-found]
from _thread import allocate_lock
from typing import Any

from alita_mcp.sandbox.runner.tool.calling import Caller

CHANNEL = 3
HEADER = struct.Struct(">cI")


class Child:
    """Process of one call; made before the tool is imported, so that it keeps the modules a tool may replace."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.caller = Caller(options["limits"], self._exchange)
        self._asking = allocate_lock()
        self._read, self._write, self._exit = os.read, os.write, os._exit

    def run(self, fds: list[int], function: Any) -> None:
        """Everything from the fork to the end of the process; never returns."""
        try:
            self._enter(fds)
            self._say(b"H", b"")
            kind, arguments = self._hear()
            if kind == b"C":
                report, result = self.caller.call(function, arguments.decode())
                head = report.encode()
                self._say(b"R", len(head).to_bytes(4) + head + result)
                self._exit(0)  # nothing runs after it: no exit handlers, no threads, no destructors
        finally:
            self._exit(96)

    def _exchange(self, question: str) -> str:
        """Asks the host; several threads wait for each other."""
        with self._asking:
            self._say(b"A", question.encode())
            return self._hear()[1].decode()

    def _enter(self, fds: list[int]) -> None:
        os.setsid()
        out, err, channel = fds
        # the last one closes the zygote's control socket
        for source, target in ((out, 1), (err, 2), (channel, CHANNEL)):
            os.dup2(source, target, inheritable=target != CHANNEL)
            os.close(source)
        pthread_sigmask(SIG_SETMASK, ())
        # Linux hands it to a fork, gVisor only shows it there: it counts for the process that set it
        resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU))
        os.chdir("/tmp")
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed()  # the one generator that does not reseed itself after a fork

    def _say(self, kind: bytes, payload: bytes) -> None:
        data = memoryview(HEADER.pack(kind, len(payload)) + payload)
        while data:
            data = data[self._write(CHANNEL, data) :]

    def _hear(self) -> tuple[bytes, bytes]:
        kind, length = HEADER.unpack(self._exactly(HEADER.size))
        return kind, self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            piece = self._read(CHANNEL, min(length - len(data), 1 << 20))
            if not piece:
                self._exit(0)
            data += piece
        return bytes(data)
