"""Process of one call: waits for its arguments, calls the function once and reports on its channel.

What it touches of the zygote's memory is copied, and that is most of its cost. Hence no `threading`, which tidies up
after each fork, and no `signal.pthread_sigmask`, which makes an enum of each signal.
"""

from __future__ import annotations

import json
import os
import resource
import struct
import sys
from _signal import SIG_SETMASK, pthread_sigmask  # type: ignore[import-not-found]
from _thread import allocate_lock
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from alita_mcp.sandbox.runner.tool import failures, grants, shapes
from alita_mcp.sandbox.wire.strict_json import NotJson, encode_strict

CHANNEL = 3
HEADER = struct.Struct(">cI")
MAX_QUESTION = 1 << 20


class Child:
    """Process of one call; made before the tool is imported, so that it keeps the modules a tool may replace."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._limits: dict[str, int] = options["limits"]
        self._running = False
        self._asking = allocate_lock()
        self._read, self._write, self._exit = os.read, os.write, os._exit
        self._dumps, self._read_json = json.dumps, json.JSONDecoder().raw_decode
        self._streams = (sys.stdout, sys.stderr)
        self._encode, self._not_json, self._head = encode_strict, NotJson, failures.head
        self.before_call: list[Callable[[], None]] = []
        """What makes the world of a rehearsed call the same each time."""
        self._to_parameters, self._to_json, self._finish = shapes.to_parameters, shapes.to_json, grants.finish

    def run(self, fds: list[int], function: Any) -> None:
        """Everything from the fork to the end of the process; never returns."""
        try:
            self._enter(fds)
            self._say(b"H", b"")
            kind, arguments = self._hear()
            if kind == b"C":
                self._running = True
                self._call(function, self._read_json(arguments.decode())[0])
        finally:
            self._exit(96)

    def ask(self, service: str, words: dict[str, Any]) -> Any:
        """The host's answer to a request of `alita_tool`; several threads wait for each other."""
        if not self._running:
            raise RuntimeError("alita_tool works only during a call, not while the module is imported")
        question = self._dumps({"door": service, "words": words}, allow_nan=False).encode()
        if len(question) > MAX_QUESTION:
            raise ValueError(f"a question of {len(question)} bytes is longer than {MAX_QUESTION}")
        with self._asking:
            self._say(b"A", question)
            _kind, data = self._hear()
        answer = self._read_json(data.decode())[0]
        if "error" in answer:
            name, message = answer["error"]
            raise grants.ERRORS.get(name, RuntimeError)(message)
        return answer["ok"]

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

    def _call(self, function: Any, arguments: dict[str, Any]) -> None:
        limits, head, bad, exhausted = self._limits, self._head, self._not_json, MemoryError
        try:
            for begin in self.before_call:
                begin()
            value = function(**self._to_parameters(function, arguments))
            if isinstance(value, CoroutineType):
                import asyncio

                value = asyncio.run(value)
            self._finish()
            data = self._encode(self._to_json(value), limits["result_bytes"], limits["json_depth"])
        except bad as problem:
            self._end({"status": "bad_result", "message": str(problem)})
        except exhausted as problem:
            self._end(head("memory", problem))
        except BaseException as problem:
            self._end(head("error", problem, limits))
        else:
            self._end({"status": "ok"}, data)

    def _end(self, head: dict[str, Any], result: bytes = b"") -> None:
        """The outcome; nothing runs after it: no exit handlers, no threads, no destructors."""
        for stream in self._streams:
            try:
                stream.flush()
            except BaseException:
                pass
        text = self._dumps(head).encode()
        self._say(b"R", len(text).to_bytes(4) + text + result)
        self._exit(0)

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
