"""A scripted model on loopback that speaks four APIs: every request is kept, every reply comes from a script."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.clients.dialects import CHAT, Dialect, Reply, Turn, dialect_of

Script = Callable[[Turn], Reply]
"""What the model replies to a request; called by one thread at a time."""


class Asked:
    """What was asked of the model."""

    def __init__(self, script: Script) -> None:
        self.turns: list[Turn] = []
        """In the order in which they came."""
        self.elsewhere: list[str] = []
        """Requests that are none for the model: method and path."""
        self._script = script
        self._lock = threading.Lock()

    def reply(self, turn: Turn) -> tuple[Reply, int]:
        with self._lock:
            self.turns.append(turn)
            return self._script(turn), len(self.turns)


@contextmanager
def model_server(script: Script) -> Iterator[tuple[str, Asked]]:
    """Serves the script on a free port; gives the server's root URL and what was asked."""
    asked = Asked(script)
    handler = type("ScriptedHandler", (_Handler,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    asked: Asked
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._elsewhere()

    def do_HEAD(self) -> None:
        self._elsewhere()

    def do_POST(self) -> None:
        said = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.headers.get("content-encoding") == "gzip":
            said = gzip.decompress(said)
        path = self.path.partition("?")[0]
        dialect = dialect_of(path)
        if dialect is None:
            self._elsewhere()
            return
        body = json.loads(said)
        try:
            reply, number = self.asked.reply(dialect.turn(body))
        except Exception as problem:  # noqa: BLE001 - the test's own words, for the client to show
            self._send(400, {"error": {"type": "invalid_request_error", "message": f"{problem!r}"}})
            return
        if body.get("stream") or path.endswith(":streamGenerateContent"):
            self._stream(dialect, reply, number)
        else:
            self._send(200, dialect.whole(reply, number))

    def _elsewhere(self) -> None:
        """Token counts, lists of models, telemetry: nothing that an agent cannot do without."""
        self.asked.elsewhere.append(f"{self.command} {self.path}")
        self._send(404, {"error": {"type": "not_found_error", "message": "scripted models only"}})

    def _stream(self, dialect: Dialect, reply: Reply, number: int) -> None:
        lines = []
        for name, data in dialect.events(reply, number):
            lines.append((f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n")
        if dialect is CHAT:
            lines.append("data: [DONE]\n\n")
        self._write(200, "text/event-stream", "".join(lines).encode())

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(body).encode())

    def _write(self, status: int, kind: str, body: bytes) -> None:
        self.close_connection = True
        with suppress(ConnectionError):
            self.send_response(status)
            for name, value in (
                ("content-type", kind),
                ("content-length", len(body)),
                ("connection", "close"),
            ):
                self.send_header(name, str(value))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        return
