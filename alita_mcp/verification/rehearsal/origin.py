"""The stand-in for every granted host while a draft is verified: an HTTP request in, a fixed or echoed answer out.

It lives in memory: no socket is opened and nothing leaves the process. docs/rehearsal.md lists what it answers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import anyio
from anyio.abc import ByteStream

from alita_mcp.sandbox.interface import EgressRefused
from alita_mcp.sandbox.network.host_patterns import HostPattern
from alita_mcp.verification.rehearsal.samples import FILES

MAX_REQUEST = 4 << 20
LARGE = 300_000
_SHOWN = {"accept", "authorization", "content-type", "cookie", "host"}
"""Headers that the echo shows, besides those that begin with `x-`; the others depend on the library that sends."""
_BODILESS = {204, 304}
_PLAIN = "text/plain; charset=utf-8"
_JSON = "application/json"


class Request(NamedTuple):
    """One request as the stand-in reads it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """One answer."""

    body: bytes
    kind: str = _PLAIN
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def answer_to(request: Request) -> Answer:
    """The fixed answer of a fixed path, else the request itself as JSON."""
    if request.path.startswith("/status/"):
        return _status(request.path.removeprefix("/status/"))
    fixed = _FIXED.get(request.path)
    return fixed(request) if fixed else _echo(request)


def _status(word: str) -> Answer:
    status = int(word) if word.isascii() and word.isdigit() and len(word) == 3 and word >= "200" else 400
    return Answer(b"" if status in _BODILESS else _as_json({"status": status}), _JSON, status)


def _redirect(request: Request) -> Answer:
    to = "".join(letter for letter in request.query.get("to", "/text") if letter.isprintable())
    return Answer(b"", status=302, headers=(("Location", to),))


def _loop(_request: Request) -> Answer:
    return Answer(b"", status=302, headers=(("Location", "/loop"),))


def _zipped(_request: Request) -> Answer:
    packed = gzip.compress(FILES["sample.txt"].encode(), mtime=0)
    return Answer(packed, headers=(("Content-Encoding", "gzip"),))


def _echo(request: Request) -> Answer:
    shown = {
        name: value for name, value in request.headers.items() if name in _SHOWN or name.startswith("x-")
    }
    return Answer(
        _as_json(
            {
                "method": request.method,
                "path": request.path,
                "query": dict(request.query),
                "headers": shown,
                "body": request.body.decode("utf-8", "replace"),
            }
        ),
        _JSON,
    )


_FIXED: dict[str, Callable[[Request], Answer]] = {
    "/text": lambda _request: Answer(FILES["sample.txt"].encode()),
    "/csv": lambda _request: Answer(FILES["sample.csv"].encode(), "text/csv; charset=utf-8"),
    "/json": lambda _request: Answer(FILES["sample.json"].encode(), _JSON),
    "/html": lambda _request: Answer(FILES["sample.html"].encode(), "text/html; charset=utf-8"),
    "/bytes": lambda _request: Answer(b"\x00\x01\x02\xff", "application/octet-stream"),
    "/large": lambda _request: Answer(b"x" * LARGE),
    "/empty": lambda _request: Answer(b"", status=204),
    "/gzip": _zipped,
    "/redirect": _redirect,
    "/loop": _loop,
}


class RehearsalEgressPolicy:
    """Where the connections of a rehearsed call go: to the stand-in, for the hosts that the draft asks for."""

    def __init__(self, patterns: Iterable[HostPattern], *, any_host: bool) -> None:
        """`any_host`: the draft leaves its hosts to a person, so every name is answered."""
        self._patterns = tuple(patterns)
        self._any_host = any_host

    async def open(self, host: str, port: int) -> ByteStream:
        """A connection to the stand-in; see the seam."""
        if not self._any_host and not any(pattern.covers(host, port) for pattern in self._patterns):
            raise EgressRefused(403, f'grant "network": {host} is not granted')
        if port == 443:
            raise EgressRefused(
                502, "the rehearsal speaks http only: write the examples with http:// addresses"
            )
        return OriginStream()


class OriginStream(ByteStream):
    """The server's end of one connection: takes one request, then gives its answer."""

    def __init__(self) -> None:
        self._received = b""
        self._ended = False
        self._changed = anyio.Event()
        self._answer: bytes | None = None

    async def send(self, item: bytes) -> None:
        """More of the request."""
        self._received += item
        self._wake()

    async def send_eof(self) -> None:
        """The request is over, whole or not."""
        self._ended = True
        self._wake()

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """The next bytes of the answer, once the request is there.

        Raises:
            EndOfStream: all of it was given.
        """
        while self._answer is None:
            self._answer = _answer_in_bytes(self._received, ended=self._ended)
            if self._answer is None:
                await self._changed.wait()
        if not self._answer:
            raise anyio.EndOfStream
        piece, self._answer = self._answer[:max_bytes], self._answer[max_bytes:]
        return piece

    async def aclose(self) -> None:
        """Lets go."""
        await self.send_eof()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _answer_in_bytes(received: bytes, *, ended: bool) -> bytes | None:
    """The answer to a request that is there; None while more of it has to come."""
    head, found, body = received.partition(b"\r\n\r\n")
    if len(received) > MAX_REQUEST:
        return _written(Answer(b"too large\n", status=413), "GET")
    if not found:
        return _written(Answer(b"no HTTP request\n", status=400), "GET") if ended else None
    try:
        request = _read(head, body)
    except ValueError:
        return _written(Answer(b"no HTTP request\n", status=400), "GET")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and len(body) < int(length) and not ended:
        return None
    return _written(answer_to(request), request.method)


def _read(head: bytes, body: bytes) -> Request:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ")
    parts = urlsplit(target)
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return Request(method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, body)


def _written(answer: Answer, method: str) -> bytes:
    headers = [("Content-Type", answer.kind), *answer.headers, ("Content-Length", str(len(answer.body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    shown = b"" if method == "HEAD" else answer.body
    return (
        f"HTTP/1.1 {answer.status} Rehearsal\r\n{head}Connection: close\r\n\r\n".encode("latin-1", "replace")
        + shown
    )


def _as_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
