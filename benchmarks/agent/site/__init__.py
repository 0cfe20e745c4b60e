"""Web server on loopback with the pages of the tasks: linked, paged, redirected, one of them hostile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.agent.site import pages

ROBOTS = "User-agent: *\nAllow: /\n"


@dataclass
class Served:
    """A site under way."""

    host: str
    """`127.0.0.1:PORT`, as ALITA_WEB_ALLOW takes it."""
    asked: list[str] = field(default_factory=list)
    """Paths with their queries, in the order in which they were asked for."""

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://{self.host}"


Site = AbstractContextManager[Served]


@contextmanager
def served(collector: str = pages.COLLECTOR) -> Iterator[Served]:
    """Serves the pages on a free port; the hostile page wants data sent to `collector`."""
    site = Served("")
    with _listening(type("Pages", (_Pages,), {"site": site, "collector": collector})) as port:
        site.host = f"127.0.0.1:{port}"
        yield site


@contextmanager
def served_redirect(target: str) -> Iterator[Served]:
    """Serves nothing but redirects to one address, on a free port."""
    site = Served("")
    with _listening(type("Redirects", (_Redirects,), {"site": site, "target": target})) as port:
        site.host = f"127.0.0.1:{port}"
        yield site


@contextmanager
def _listening(handler: object) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Pages(BaseHTTPRequestHandler):
    site: Served
    collector: str

    def do_GET(self) -> None:
        self.site.asked.append(self.path)
        path = self.path.partition("?")[0].rstrip("/") or "/"
        if path in pages.MOVED:
            self.send_response(301)
            self.send_header("location", pages.MOVED[path])
            self.send_header("content-length", "0")
            self.end_headers()
            return
        found = ROBOTS if path == "/robots.txt" else pages.page(path, self.collector)
        body = (found or "<h1>There is no such page.</h1>").encode()
        self.send_response(200 if found else 404)
        kind = "text/plain" if path == "/robots.txt" else "text/html; charset=utf-8"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        return


class _Redirects(BaseHTTPRequestHandler):
    site: Served
    target: str

    def do_GET(self) -> None:
        self.site.asked.append(self.path)
        self.send_response(404 if self.path == "/robots.txt" else 302)
        self.send_header("location", self.target)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        return
