"""A local HTTP server that answers from a function: a request in, a reply out, which may be slow, broken or endless."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any = None
    target: str = ""
    """Path and query as they were sent."""


@dataclass(frozen=True)
class Reply:
    body: Any = b""
    """Bytes as they are, anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    how: str = ""
    """`silent`: no answer; `drips`: the body byte by byte, then blanks for ever; `resets`: in the middle of it."""
    send: Callable[[BaseHTTPRequestHandler], None] | None = None
    """Writes the body in its own way."""


Answer = Callable[[Request], Reply]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Answer
    asked: list[Request]
    closing: threading.Event

    def do_GET(self) -> None:
        self.close_connection = True
        said = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=parts.path,
            query={name: values[0] for name, values in parse_qs(parts.query).items()},
            headers={name.lower(): value for name, value in self.headers.items()},
            body=json.loads(said) if said else None,
            target=self.path,
        )
        self.asked.append(request)
        with suppress(ConnectionError, ssl.SSLError):
            self.reply(type(self).answer(request))

    do_POST = do_DELETE = do_GET  # noqa: N815 - as http.server calls them

    def reply(self, reply: Reply) -> None:
        if reply.how == "silent":
            self.closing.wait(60)
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        length = {} if reply.how == "drips" or reply.send else {"content-length": str(len(body))}
        usual = {"content-type": "application/json", "connection": "close"}
        for name, value in {**usual, **length, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if reply.send is not None:
            reply.send(self)
            return
        if reply.how == "resets":
            self.wfile.write(body[: len(body) // 2])
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        self.wfile.write(body)
        while reply.how == "drips" and not self.closing.wait(0.02):
            self.wfile.write(b" ")

    def log_message(self, *arguments: object) -> None:
        return


@contextmanager
def json_server(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[Request]]]:
    """Serves on a free port of loopback; gives the base URL and what was asked."""
    asked: list[Request] = []
    closing = threading.Event()
    parts = {"answer": staticmethod(answer), "asked": asked, "closing": closing}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), parts))
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}", asked
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
