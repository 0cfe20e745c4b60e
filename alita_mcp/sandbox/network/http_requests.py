"""HTTP requests of one call in the embedded sandbox, which has neither sockets nor TLS: the host sends them.

Each request is a connection of its own, opened by the same egress policy as those of the other sandboxes. Redirects
are followed inside, so each hop is checked as a request.
"""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NamedTuple

import anyio
import h11
import httpcore
from anyio import to_thread
from anyio.abc import ByteStream, TaskGroup
from anyio.streams.tls import TLSStream
from pydantic import Field

from alita_mcp.sandbox.interface import EgressPolicy, EgressRefused
from alita_mcp.values import Value

IDLE_SECONDS = 60.0
"""The longest that one step of a request may take; the call's own limit holds besides."""
MAX_RESPONSES = 64
"""So many responses of one call may be open at once."""
MAX_UPLOAD = 32 << 20
MAX_HEADERS = 200
MAX_HEADER_BYTES = 64 << 10
SHORT_BODY = 256 << 10
"""A body that is announced to be no longer comes with the head of its response."""
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_WRITTEN_HERE = frozenset(
    {
        b"host", b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"trailer",
        b"upgrade", b"expect", b"content-length", b"transfer-encoding",
    }
)  # fmt: skip
"""Headers for this connection alone: what the program inside says in them is not sent."""


class RequestFailed(Exception):
    """Error that a tool gets for a failed request; `name` is the class of the error inside."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class HttpQuestion(Value):
    """Question from inside about one HTTP request."""

    do: Literal["upload", "send", "receive", "drop"]
    """Add to the body of the next request; send it; get the next piece of a response; close a response."""
    response: int = 0
    secure: bool = False
    host: str = ""
    port: int = Field(0, ge=0, le=65535)
    method: str = Field("GET", max_length=100)
    target: str = ""
    headers: tuple[tuple[str, str], ...] = Field((), max_length=MAX_HEADERS)
    data: str = ""
    """Base64."""
    seconds: Annotated[float, Field(ge=0)] | None = None
    """How long the program inside waits for each step; None: `IDLE_SECONDS`."""


class _Response(NamedTuple):
    """Response whose body is still to come."""

    connection: httpcore.AsyncHTTP11Connection
    pieces: AsyncIterator[bytes]


class HttpRequests:
    """Requests of one call, and its open responses by number."""

    def __init__(self, policy: EgressPolicy, tasks: TaskGroup) -> None:
        self._policy = policy
        self._tasks = tasks
        self._uploaded = bytearray()
        self._responses: dict[int, _Response] = {}
        self._count = 0
        self._context: ssl.SSLContext | None = None

    async def answer(self, question: HttpQuestion) -> Any:
        """Answers a question with a JSON value.

        Raises:
            RequestFailed: the request could not be sent, or its response broke.
        """
        if question.do == "upload":
            self._upload(question)
        elif question.do == "send":
            return await self._send(question)
        elif question.do == "receive":
            return await self._receive(question)
        elif response := self._responses.pop(question.response, None):
            await response.connection.aclose()
        return None

    def _upload(self, question: HttpQuestion) -> None:
        self._uploaded += base64.b64decode(question.data)
        if len(self._uploaded) > MAX_UPLOAD:
            self._uploaded.clear()
            raise RequestFailed("ValueError", f"the body of a request is longer than {MAX_UPLOAD} bytes")

    async def _send(self, question: HttpQuestion) -> dict[str, Any]:
        self._upload(question)
        body = bytes(self._uploaded)
        self._uploaded.clear()
        request = _request(question, body)
        if len(self._responses) >= MAX_RESPONSES:
            raise RequestFailed(
                "OSError", f"more than {MAX_RESPONSES} responses are open: read or close them"
            )
        # A request fails in one of two phases, which a program inside tells apart as with `http.client` itself:
        # 1. no connection: an error of `request`, which urllib wraps into URLError;
        # 2. no response, or a broken one: handed in as a value, and raised where the response is asked for.
        try:
            with _within(question):
                stream = await self._connect(question)
        except EgressRefused as refusal:
            return _refusal_response(question, refusal)
        connection = httpcore.AsyncHTTP11Connection(request.url.origin, _Stream(stream))
        try:
            with _within(question):
                return await self._exchange(connection, request)
        except EgressRefused as refusal:
            await connection.aclose()
            return _refusal_response(question, refusal)
        except RequestFailed as failed:
            await connection.aclose()
            return {"failed": [failed.name, str(failed)]}
        except BaseException:
            await connection.aclose()
            raise

    async def _connect(self, question: HttpQuestion) -> ByteStream:
        """A connection that the policy opened, with TLS where that is asked for."""
        host = question.host.lower().removesuffix(".")
        stream = await self._policy.open(host, question.port)
        if not question.secure:
            return stream
        try:
            if self._context is None:
                self._context = await to_thread.run_sync(_new_context)
            return await TLSStream.wrap(
                stream, hostname=host, ssl_context=self._context, standard_compatible=False
            )
        except BaseException:
            await stream.aclose()
            raise

    async def _exchange(
        self, connection: httpcore.AsyncHTTP11Connection, request: httpcore.Request
    ) -> dict[str, Any]:
        """Sends a request; the head of its response, and a short body."""
        found = await connection.handle_async_request(request)
        pieces = _pieces(found)
        # A body of a known, small length comes with the head: one question for most requests.
        lengths = [int(value) for name, value in found.headers if name.lower() == b"content-length"]
        is_short = request.method == b"HEAD" or (lengths and lengths[0] <= SHORT_BODY)
        body = b"".join([piece async for piece in pieces]) if is_short else b""
        number = 0
        if is_short:
            await connection.aclose()
        else:
            if not self._count:  # what is open at the end of the call is closed then, once one is open
                self._tasks.start_soon(self._close_at_end)
            number = self._count = self._count + 1
            self._responses[number] = _Response(connection, pieces)
        return {
            "version": found.extensions["http_version"].decode("latin-1"), "status": found.status,
            "reason": found.extensions["reason_phrase"].decode("latin-1"),
            "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in found.headers],
            "data": base64.b64encode(body).decode(), "response": number,
        }  # fmt: skip

    async def _receive(self, question: HttpQuestion) -> str:
        """The next piece of a body; empty at its end."""
        response = self._responses.get(question.response)
        if response is None:
            return ""
        piece = b""
        try:
            with _within(question):
                piece = await anext(response.pieces, b"")
        except EgressRefused as refusal:
            raise RequestFailed("PermissionError", refusal.reason) from refusal
        finally:
            if not piece:
                self._responses.pop(question.response, None)
                await response.connection.aclose()
        return base64.b64encode(piece).decode()

    async def _close_at_end(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for response in self._responses.values():
                    await response.connection.aclose()


class _Stream(httpcore.AsyncNetworkStream):
    """Connection of an egress policy as httpcore takes it; time limits are set around each step."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """The next bytes; empty at the end."""
        try:
            return await self._stream.receive(max_bytes)
        except anyio.EndOfStream:
            return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Sends bytes."""
        try:
            if buffer:
                await self._stream.send(buffer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as broken:
            raise httpcore.WriteError("the connection broke") from broken  # its response is still read

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._stream.aclose()


def _request(question: HttpQuestion, body: bytes) -> httpcore.Request:
    """The request that is sent, checked before anything is connected.

    Raises:
        RequestFailed: it names no host, another one in its header, or could hide another request.
    """
    host, target = question.host, question.target
    if not _HOST.fullmatch(host) or not question.port:
        raise RequestFailed("OSError", f"invalid host {f'{host}:{question.port}'[:300]!r}")
    if not target.startswith("/") or question.method == "CONNECT":
        raise RequestFailed("ValueError", f"invalid request {f'{question.method} {target}'[:300]!r}")
    authority = f"[{host}]" if ":" in host else host
    if question.port != (443 if question.secure else 80):
        authority += f":{question.port}"
    headers = [(b"Host", authority.encode()), (b"Connection", b"close")]
    for name, value in ((name.encode("latin-1", "replace"), value) for name, value in question.headers):
        if name.lower() not in _WRITTEN_HERE:
            headers.append((name, value.encode("latin-1", "replace")))
        elif name.lower() == b"host" and value.lower() not in {authority.lower(), f"{host}:{question.port}"}:
            raise RequestFailed("ValueError", "the Host header names another host than the URL")
    if sum(len(name) + len(value) for name, value in headers) + len(target) > MAX_HEADER_BYTES:
        raise RequestFailed("ValueError", f"the headers are longer than {MAX_HEADER_BYTES} bytes")
    if body or question.method in {"POST", "PUT", "PATCH"}:
        headers.append((b"Content-Length", b"%d" % len(body)))
    method, path = question.method.encode("latin-1", "replace"), target.encode("latin-1", "replace")
    try:
        h11.Request(method=method, target=path, headers=headers)
    except h11.LocalProtocolError as invalid:
        raise RequestFailed("ValueError", f"invalid request: {invalid}") from invalid
    scheme = "https" if question.secure else "http"
    url = httpcore.URL(scheme=scheme, host=host, port=question.port, target=path)
    return httpcore.Request(method, url, headers=headers, content=body)


async def _pieces(response: httpcore.Response) -> AsyncIterator[bytes]:
    """The body of a response; one shorter than announced just ends, for the program inside counts too."""
    try:
        async for piece in response.aiter_stream():
            yield piece
    except httpcore.RemoteProtocolError as cut:
        if "expected" not in str(cut):
            raise


def _refusal_response(question: HttpQuestion, refusal: EgressRefused) -> dict[str, Any]:
    """A refusal as a program behind the proxy of the other sandboxes meets it: a response, or no TLS.

    Raises:
        RequestFailed: the request was one over TLS.
    """
    if question.secure:
        names = {403: "PermissionError", 408: "TimeoutError", 504: "TimeoutError"}
        raise RequestFailed(names.get(refusal.status, "ConnectionError"), refusal.reason)
    reason = re.sub(r"[^\x20-\x7e]", "?", refusal.reason)[:300]
    body = f"{reason}\n".encode()
    headers = [["Content-Type", "text/plain"], ["Content-Length", str(len(body))], ["Connection", "close"]]
    return {
        "version": "HTTP/1.1", "status": refusal.status, "reason": reason, "headers": headers,
        "data": base64.b64encode(body).decode(), "response": 0,
    }  # fmt: skip


@contextmanager
def _within(question: HttpQuestion) -> Iterator[None]:
    """One step of a request, in time; its errors become those that Python's own `http.client` raises."""
    seconds = IDLE_SECONDS if question.seconds is None else min(question.seconds, IDLE_SECONDS)
    try:
        with anyio.fail_after(seconds):
            yield
    except TimeoutError as late:
        raise RequestFailed("TimeoutError", "timed out") from late
    except ssl.SSLCertVerificationError as unverified:
        raise RequestFailed(
            "OSError",
            f"certificate verify failed: {unverified.verify_message} (this machine verifies certificates, and a tool"
            " can neither switch that off nor add an authority)",
        ) from unverified
    except ssl.SSLError as broken:
        raise RequestFailed("OSError", f"TLS failed: {broken.reason or broken}") from broken
    except httpcore.RemoteProtocolError as strange:
        name, message = "BadStatusLine", str(strange)
        if "without sending a response" in message:
            name, message = "RemoteDisconnected", "Remote end closed connection without response"
        elif "without sending complete message body" in message or "incomplete chunked read" in message:
            name = "IncompleteRead"
        raise RequestFailed(name, message) from strange
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as broken:
        raise RequestFailed("ConnectionResetError", "the connection broke") from broken


def _new_context() -> ssl.SSLContext:
    """Verifies as this machine's own requests do; SSL_CERT_FILE and SSL_CERT_DIR count."""
    import httpx

    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
