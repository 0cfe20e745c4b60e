"""A web server on this machine that answers as a test says, and notes what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Reply(NamedTuple):
    """One answer; `send` writes the body itself, for servers that do not behave."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = {}
    send: Callable[[BaseHTTPRequestHandler], None] | None = None


class Asked(NamedTuple):
    path: str
    headers: dict[str, str]


Answer = Reply | Callable[[Asked], Reply]


class Site:
    """Where a server is, what it answers and what it was asked."""

    def __init__(self, routes: Mapping[str, Answer]) -> None:
        self.routes = dict(routes)
        self.asked: list[Asked] = []
        self.place = ""
        self.released = threading.Event()
        """Set at the end: answers that wait for it end then."""

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"

    def paths(self) -> list[str]:
        """What was asked for, but for robots.txt."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def reply(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        answer = self.routes.get(asked.path, Reply(b"no", status=404))
        return answer if isinstance(answer, Reply) else answer(asked)


@contextmanager
def local_site(routes: Mapping[str, Answer]) -> Iterator[Site]:
    """A server on loopback until the end of the block."""
    site = Site(routes)

    class Pages(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            reply = site.reply(
                Asked(self.path, {name.lower(): value for name, value in self.headers.items()})
            )
            self.send_response(reply.status)
            if reply.kind:
                self.send_header("content-type", reply.kind)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.send is None:
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                with suppress(OSError):
                    self.wfile.write(reply.body)
                return
            self.close_connection = True
            self.send_header("connection", "close")
            self.end_headers()
            with suppress(OSError):
                reply.send(self)

        def log_message(self, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    site.place = f"127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        site.released.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
