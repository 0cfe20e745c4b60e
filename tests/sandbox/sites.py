"""Web sites on loopback for tests of the proxy: plain and TLS, honest, slow and lying ones."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import trustme

NAME = "api.test"
"""The name under which the sites are granted; nothing but a test's own resolver knows it."""


class Site(ThreadingHTTPServer):
    """Requests as they came are in `seen`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.seen: list[list[Any]] = []
        self.hold = threading.Event()
        """`/held` answers once this is set."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        return None


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError, ssl.SSLError):
            super().handle()

    def do_GET(self) -> None:
        self.server.seen.append([self.path, self.headers.get_all("Host"), self.headers.get("X-Own")])
        if self.path.startswith("/big/"):
            self._answer(b"x" * int(self.path[5:]))
        elif self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.path[4:]}/moved")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/broken":
            self.close_connection = True
        elif self.path == "/held":
            self.server.hold.wait(60)
            self._answer(b"at last")
        else:
            self._answer(json.dumps(self.server.seen[-1]).encode())

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.seen.append([self.path, self.headers.get_all("Host"), None])
        self._answer(str(len(self.rfile.read(length))).encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def running_site(authority: trustme.CA | None = None) -> Iterator[Site]:
    """A site that listens while the context is open; with an authority it speaks TLS as `api.test`."""
    site = Site()
    if authority is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(NAME, "other.test", "127.0.0.1").configure_cert(context)
        site.socket = context.wrap_socket(site.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield site
    finally:
        site.hold.set()
        site.shutdown()
        site.server_close()
        thread.join()


async def resolved(host: str, port: int) -> list[str]:
    """`*.test` is here, everything else is nowhere."""
    if not host.endswith(".test"):
        raise OSError("unknown")
    return ["127.0.0.1"]


HERE = frozenset({"127.0.0.1"})
