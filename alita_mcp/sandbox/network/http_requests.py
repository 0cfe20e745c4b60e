"""HTTP requests of one call in the embedded sandbox, which has neither sockets nor TLS: the host sends them.

A program inside writes a request and reads its response, as on a socket. The request is parsed and written anew as by
the proxy, and gets a connection of its own, opened by the same egress policy. Redirects are followed inside, so each
hop is checked as a request.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import anyio
from anyio import to_thread
from anyio.abc import ByteStream, TaskGroup
from anyio.streams.tls import TLSStream
from pydantic import Field

from alita_mcp.sandbox.interface import EgressPolicy, EgressRefused
from alita_mcp.sandbox.network.proxy import IDLE_SECONDS, refusal_response
from alita_mcp.sandbox.network.proxy_request import ProxyRequest
from alita_mcp.values import Value

MAX_CONNECTIONS = 64
"""So many connections of one call may be open at once."""
MAX_UPLOAD = 32 << 20
_PIECE = 256 << 10
_ERRORS = {400: "ValueError", 403: "PermissionError", 408: "TimeoutError", 504: "TimeoutError"}
"""Errors inside for the statuses of refusals."""


class RequestFailed(Exception):
    """Error that a tool gets for a failed request; `name` is the class of the error inside."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class HttpQuestion(Value):
    """Question from inside about one HTTP request."""

    do: Literal["upload", "send", "receive", "drop"]
    """Add to the next request; send it; get the next bytes of a response; close its connection."""
    connection: int = 0
    secure: bool = False
    host: str = ""
    port: int = Field(0, ge=0, le=65535)
    data: str = ""
    """Part of a request, in base64."""
    seconds: Annotated[float, Field(ge=0)] | None = None
    """How long the program inside waits for each step; None: `IDLE_SECONDS`."""


class HttpRequests:
    """Requests of one call, and its open connections by number."""

    def __init__(self, policy: EgressPolicy, tasks: TaskGroup) -> None:
        self._policy = policy
        self._uploaded = bytearray()
        self._connections: dict[int, ByteStream] = {}
        self._count = 0
        self._context: ssl.SSLContext | None = None
        tasks.start_soon(self._close_at_end)

    async def answer(self, question: HttpQuestion) -> Any:
        """Answers a question with a JSON value.

        Raises:
            RequestFailed: the request could not be sent, or its response broke.
        """
        with _within(question):
            if question.do == "receive":
                return await self._receive(question)
            if question.do == "drop":
                if stream := self._connections.pop(question.connection, None):
                    await stream.aclose()
                return None
            self._uploaded += base64.b64decode(question.data)
            if len(self._uploaded) > MAX_UPLOAD:
                self._uploaded.clear()
                raise EgressRefused(400, f"a request is longer than {MAX_UPLOAD} bytes")
            return await self._send(question) if question.do == "send" else None

    async def _send(self, question: HttpQuestion) -> dict[str, Any]:
        """Sends the request that was uploaded; the number of its connection, or a response that refuses it."""
        written = bytes(self._uploaded)
        self._uploaded.clear()
        host = f"[{question.host}]" if ":" in question.host else question.host
        usual_port = 443 if question.secure else 80
        authority = host if question.port == usual_port else f"{host}:{question.port}"
        request = ProxyRequest(authority, usual_port)
        data = request.forward(written)
        if not request.is_complete:
            raise EgressRefused(400, "the request is incomplete")
        if len(self._connections) >= MAX_CONNECTIONS:
            raise RequestFailed(
                "OSError", f"more than {MAX_CONNECTIONS} responses are open: read or close them"
            )
        try:
            stream = await self._policy.open(request.host, request.port)
        except EgressRefused as refusal:
            if question.secure:
                raise
            # as a program behind the proxy of the other sandboxes meets it
            return {"connection": 0, "data": base64.b64encode(refusal_response(refusal)).decode()}
        try:
            if question.secure:
                self._context = self._context or await to_thread.run_sync(_new_context)
                stream = await TLSStream.wrap(
                    stream, hostname=request.host, ssl_context=self._context, standard_compatible=False
                )
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the response is still read
                await stream.send(data)
        except BaseException:
            await stream.aclose()
            raise
        self._count += 1
        self._connections[self._count] = stream
        return {"connection": self._count, "data": ""}

    async def _receive(self, question: HttpQuestion) -> str:
        """The next bytes of a response; empty at its end."""
        piece = b""
        if stream := self._connections.get(question.connection):
            try:
                with suppress(anyio.EndOfStream):
                    piece = await stream.receive(_PIECE)
            finally:
                if not piece:
                    self._connections.pop(question.connection, None)
                    await stream.aclose()
        return base64.b64encode(piece).decode()

    async def _close_at_end(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for stream in self._connections.values():
                    await stream.aclose()


@contextmanager
def _within(question: HttpQuestion) -> Iterator[None]:
    """One step of a request, in time; its errors become those that Python's own `http.client` raises."""
    seconds = IDLE_SECONDS if question.seconds is None else min(question.seconds, IDLE_SECONDS)
    try:
        with anyio.fail_after(seconds):
            yield
    except EgressRefused as refusal:
        raise RequestFailed(_ERRORS.get(refusal.status, "ConnectionError"), refusal.reason) from refusal
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
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as broken:
        raise RequestFailed("ConnectionResetError", "the connection broke") from broken


def _new_context() -> ssl.SSLContext:
    """Verifies as this machine's own requests do; SSL_CERT_FILE and SSL_CERT_DIR count."""
    import httpx

    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
