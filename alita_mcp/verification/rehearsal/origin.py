"""Stand-in HTTP server for every granted host during verification, with fixed or echoed responses.

No socket is opened and nothing leaves the process. docs/rehearsal.md lists the responses.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import anyio
import h11
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
        self._connection = h11.Connection(h11.SERVER)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._response = b""
        self._answered = anyio.Event()

    async def send(self, item: bytes) -> None:
        """Takes more bytes of the request; what follows it is dropped."""
        if item:
            self._take(item)

    async def send_eof(self) -> None:
        """Marks the end of the request, complete or not."""
        self._take(b"")

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """The next bytes of the response, once the request is there.

        Raises:
            EndOfStream: all of it was given.
        """
        await self._answered.wait()
        if not self._response:
            raise anyio.EndOfStream
        piece, self._response = self._response[:max_bytes], self._response[max_bytes:]
        return piece

    async def aclose(self) -> None:
        """Closes the connection."""
        await self.send_eof()

    def _take(self, data: bytes) -> None:
        if not self._answered.is_set() and (response := self._answer(data)) is not None:
            self._response = response
            self._answered.set()

    def _answer(self, data: bytes) -> bytes | None:
        # The request is (1) not whole yet, (2) too large, (3) answered, or (4) not HTTP.
        with suppress(h11.RemoteProtocolError, ValueError):
            self._connection.receive_data(data)
            while (event := self._connection.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Request):
                    self._head = event
                elif isinstance(event, h11.Data):
                    self._body += event.data
                    if len(self._body) <= MAX_REQUEST:
                        continue
                    return _encode_response(StandInResponse(b"too large\n", status=413), "GET")
                elif self._head is not None and isinstance(event, h11.EndOfMessage):
                    return _response_bytes(self._head, bytes(self._body))
                else:
                    raise ValueError
            return None
        return _encode_response(StandInResponse(b"no HTTP request\n", status=400), "GET")


def _response_bytes(head: h11.Request, body: bytes) -> bytes:
    parts, method = urlsplit(head.target.decode()), head.method.decode()
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
    return _encode_response(response_to(Request(method, parts.path, query, headers, body)), method)


def _encode_response(response: StandInResponse, method: str) -> bytes:
    length = ("Content-Length", str(len(response.body)))
    headers = [("Content-Type", response.kind), *response.headers, length, ("Connection", "close")]
    lines = [f"HTTP/1.1 {response.status} Rehearsal", *(f"{name}: {value}" for name, value in headers)]
    head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    return head if method == "HEAD" else head + response.body


def _as_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
