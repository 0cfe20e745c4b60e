"""Stand-in HTTP server for every granted host during verification, with fixed or echoed responses.

No socket is opened and nothing leaves the process. docs/rehearsal.md lists the responses.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import anyio
from anyio.abc import ByteStream

from alita_mcp.sandbox.interface import EgressRefused
from alita_mcp.sandbox.network.host_patterns import HostPattern

FILES = {
    "sample.txt": "The quick brown fox\njumps over\nthe lazy dog.\n",
    "sample.csv": "city,month,amount\nBerlin,2026-01,12.50\nParis,2026-01,7.25\nBerlin,2026-02,3.10\nParis,2026-02,\n",
    "sample.json": '{"name": "sample", "items": [1, 2, 3], "nested": {"ok": true}}\n',
    "sample.html": "<!doctype html><title>Sample</title><h1>Sample</h1><p>One <a href='/text'>link</a>.</p>\n",
    "notes/plans.md": "# Plans\n\n- buy bread\n- call Ada\n",
}
"""The workspace, by path; the stand-in host serves the samples too."""

ANSWER_CHARACTERS = 200


def complete_prompt(prompt: str) -> str:
    """Completion of the stand-in model: the last non-empty line of the prompt, cut to 200 characters."""
    lines = [line.strip() for line in prompt.splitlines() if line.strip()]
    return f"Rehearsal: {lines[-1][:ANSWER_CHARACTERS]}" if lines else "Rehearsal:"


MAX_REQUEST = 4 << 20
LARGE = 300_000
_SHOWN = {"accept", "authorization", "content-type", "cookie", "host"}
"""Headers that the echo shows, besides those that begin with `x-`; the others depend on the library that sends."""
_BODILESS = {204, 304}
_PLAIN = "text/plain; charset=utf-8"
_JSON = "application/json"


class Request(NamedTuple):
    """HTTP request as the stand-in reads it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class StandInResponse(NamedTuple):
    """HTTP response of the stand-in."""

    body: bytes
    kind: str = _PLAIN
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def response_to(request: Request) -> StandInResponse:
    """Response to a request: the fixed one of a fixed path, else the request itself as JSON."""
    if request.path.startswith("/status/"):
        word = request.path.removeprefix("/status/")
        status = int(word) if word.isascii() and word.isdigit() and len(word) == 3 and word >= "200" else 400
        return StandInResponse(b"" if status in _BODILESS else _as_json({"status": status}), _JSON, status)
    if request.path == "/redirect":
        target = "".join(letter for letter in request.query.get("to", "/text") if letter.isprintable())
        return StandInResponse(b"", status=302, headers=(("Location", target),))
    fixed = _FIXED.get(request.path)
    if fixed is not None:
        return fixed
    headers = {
        name: value for name, value in request.headers.items() if name in _SHOWN or name.startswith("x-")
    }
    echo = request._asdict() | {"headers": headers, "body": request.body.decode("utf-8", "replace")}
    return StandInResponse(_as_json(echo), _JSON)


_FIXED = {
    "/text": StandInResponse(FILES["sample.txt"].encode()),
    "/csv": StandInResponse(FILES["sample.csv"].encode(), "text/csv; charset=utf-8"),
    "/json": StandInResponse(FILES["sample.json"].encode(), _JSON),
    "/html": StandInResponse(FILES["sample.html"].encode(), "text/html; charset=utf-8"),
    "/bytes": StandInResponse(b"\x00\x01\x02\xff", "application/octet-stream"),
    "/large": StandInResponse(b"x" * LARGE),
    "/empty": StandInResponse(b"", status=204),
    "/gzip": StandInResponse(
        gzip.compress(FILES["sample.txt"].encode(), mtime=0), headers=(("Content-Encoding", "gzip"),)
    ),
    "/loop": StandInResponse(b"", status=302, headers=(("Location", "/loop"),)),
}


class RehearsalEgressPolicy:
    """Egress policy of a rehearsed call: connects the hosts that the draft asks for to the stand-in."""

    def __init__(self, patterns: Iterable[HostPattern], *, any_host: bool) -> None:
        """`any_host`: the draft leaves its hosts to a person, so every host is admitted."""
        self._patterns = tuple(patterns)
        self._any_host = any_host

    async def open(self, host: str, port: int) -> ByteStream:
        """A connection to the stand-in; see the interface."""
        if not self._any_host and not any(pattern.covers(host, port) for pattern in self._patterns):
            raise EgressRefused(403, f'grant "network": {host} is not granted')
        if port == 443:
            why = "the rehearsal speaks http only: write the examples with http:// addresses"
            raise EgressRefused(502, why)
        return OriginStream()


class OriginStream(ByteStream):
    """Server side of one connection: takes one request, then sends its response."""

    def __init__(self) -> None:
        self._received = b""
        self._ended = False
        self._changed = anyio.Event()
        self._response: bytes | None = None

    async def send(self, item: bytes) -> None:
        """Takes more bytes of the request."""
        self._received += item
        self._wake()

    async def send_eof(self) -> None:
        """Marks the end of the request, complete or not."""
        self._ended = True
        self._wake()

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """The next bytes of the response, once the request is there.

        Raises:
            EndOfStream: all of it was given.
        """
        while self._response is None:
            self._response = _response_bytes(self._received, ended=self._ended)
            if self._response is None:
                await self._changed.wait()
        if not self._response:
            raise anyio.EndOfStream
        piece, self._response = self._response[:max_bytes], self._response[max_bytes:]
        return piece

    async def aclose(self) -> None:
        """Closes the connection."""
        await self.send_eof()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _response_bytes(received: bytes, *, ended: bool) -> bytes | None:
    """The response to a complete request; None while more of it has to come."""
    not_http = StandInResponse(b"no HTTP request\n", status=400)
    head, found, body = received.partition(b"\r\n\r\n")
    # The request is (1) too large, (2) not whole yet, (3) not HTTP, or (4) answered.
    if len(received) > MAX_REQUEST:
        return _encode_response(StandInResponse(b"too large\n", status=413), "GET")
    if not found:
        return _encode_response(not_http, "GET") if ended else None
    try:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _version = first.split(" ")
        parts = urlsplit(target)
    except ValueError:
        return _encode_response(not_http, "GET")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = headers.get("content-length", "0")
    if length.isdigit() and len(body) < int(length) and not ended:
        return None
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return _encode_response(response_to(Request(method, parts.path, query, headers, body)), method)


def _encode_response(response: StandInResponse, method: str) -> bytes:
    length = ("Content-Length", str(len(response.body)))
    headers = [("Content-Type", response.kind), *response.headers, length, ("Connection", "close")]
    lines = [f"HTTP/1.1 {response.status} Rehearsal", *(f"{name}: {value}" for name, value in headers)]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    return head if method == "HEAD" else head + response.body


def _as_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
