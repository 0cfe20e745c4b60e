"""A web site on this machine that answers as a test says, and notes what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple

from tests.research import json_server as server


class Reply(NamedTuple):
    """One answer; `send` writes the body itself, for servers that do not behave."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = {}
    send: Callable[[BaseHTTPRequestHandler], None] | None = None


class Asked(NamedTuple):
    path: str
    headers: Mapping[str, str]


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

    def answer(self, request: server.Request) -> server.Reply:
        asked = Asked(request.target, request.headers)
        self.asked.append(asked)
        found = self.routes.get(asked.path, Reply(b"no", status=404))
        reply = found if isinstance(found, Reply) else found(asked)
        return server.Reply(
            reply.body, reply.status, {"content-type": reply.kind, **reply.headers}, send=reply.send
        )


@contextmanager
def local_site(routes: Mapping[str, Answer]) -> Iterator[Site]:
    """A server on loopback until the end of the block."""
    site = Site(routes)
    with server.json_server(site.answer) as (url, _):
        site.place = url.removeprefix("http://")
        try:
            yield site
        finally:
            site.released.set()
