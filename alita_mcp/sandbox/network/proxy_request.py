"""Request to the proxy, parsed by h11 as a server and written anew by h11 as a client (RFC 9112); its response too.

Nothing goes on as it came, so no server reads a request in another way than this proxy did, and a connection to a
server is used again only where its response has ended for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import h11

from alita_mcp.sandbox.interface import EgressRefused

MAX_HEAD = 16 << 10
"""Bytes of a head, or of one line of a chunked body, that may wait for their end."""
MAX_RESPONSE_HEAD = 128 << 10
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?")
_HOP_BY_HOP = frozenset(
    {
        b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive", b"host", b"te", b"trailer",
        b"upgrade",
    }
)  # fmt: skip
_FRAMING = frozenset({b"content-length", b"transfer-encoding"})
_PLAIN = "http://"


class ProxyRequest:
    """One request of a program: CONNECT, or an absolute `http://` URL with its body.

    With `origin`, the authority of a server, it is a request to that server instead: its target is a path.
    """

    def __init__(self, origin: str = "", usual_port: int = 80) -> None:
        self.host = ""
        """Lower case, without a dot at its end; empty until the head is read."""
        self.port = 0
        self.is_tunnel = False
        """Everything after the head goes both ways."""
        self.is_complete = False
        """All of it was forwarded; never of a tunnel."""
        self.is_repeatable = False
        """A server may get it twice: GET or HEAD without a body."""
        self.is_answered = False
        """All of the response was forwarded; never of a tunnel."""
        self._origin = origin
        self._usual_port = usual_port
        self._inside = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._held = b""
        """Head of a response that waits for the first bytes of its body, to go on together with them."""
        self._outside = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_RESPONSE_HEAD)

    @property
    def leaves_reusable(self) -> bool:
        """Whether the server takes another request on the connection, and has sent nothing after its response."""
        both_done = self._outside.our_state is self._outside.their_state is h11.DONE
        return both_done and self._outside.trailing_data == (b"", False)

    def forward(self, data: bytes) -> bytes:
        """Takes the next bytes from inside; gives those that go to the server. What follows a request is dropped.

        Raises:
            EgressRefused: 400; the reason says which rule it breaks.
        """
        if self.is_tunnel:
            return data
        try:
            self._inside.receive_data(data)
            return b"".join(self._events())
        except h11.ProtocolError as broken:
            raise EgressRefused(400, f"no HTTP request: {broken}") from broken

    def forward_response(self, data: bytes) -> bytes:
        """Takes the next bytes from the server, none at its end; gives those that go to the program.

        Raises:
            EgressRefused: 502; this is no response.
        """
        if self.is_tunnel:
            return data
        try:
            self._outside.receive_data(data)
            return b"".join(self._response_events())
        except h11.ProtocolError as broken:
            # a program sees by itself that it is cut, unless the end of the connection is all that it waits for
            if not data and self._inside.their_http_version != b"1.0":
                return self._held
            raise EgressRefused(502, f"no HTTP response: {broken}") from broken

    def _response_events(self) -> Iterator[bytes]:
        while not self.is_answered:
            event = self._outside.next_event()
            if isinstance(event, h11.Response):
                # of the connection inside, which carries one request
                kept = [
                    (name, value)
                    for name, value in event.headers.raw_items()
                    if name.lower() not in _HOP_BY_HOP
                ]
                headers = [*kept, (b"Connection", b"close")]
                event = h11.Response(status_code=event.status_code, reason=event.reason, headers=headers)
                self._held = self._inside.send(event) or b""
                if b"content-length" in dict(event.headers):
                    continue
                event = h11.Data(b"")  # an event stream may take its time
            if isinstance(event, h11.EndOfMessage):
                self.is_answered = True
                event = h11.EndOfMessage()  # trailers fit no response with a length
            elif not isinstance(event, h11.InformationalResponse | h11.Data):
                return
            yield self._held
            yield self._inside.send(event) or b""
            self._held = b""

    def _events(self) -> Iterator[bytes]:
        while not self.is_complete:
            event = self._inside.next_event()
            if isinstance(event, h11.Request):
                yield self._rewrite_head(event)
                if self.is_tunnel:
                    yield self._inside.trailing_data[0]
                    return
            elif isinstance(event, h11.Data):
                yield self._outside.send(event) or b""
            elif isinstance(event, h11.EndOfMessage):
                self.is_complete = True
                yield self._outside.send(h11.EndOfMessage()) or b""
            else:
                return

    def _rewrite_head(self, head: h11.Request) -> bytes:
        """The head for the server; empty for CONNECT."""
        if head.http_version not in {b"1.0", b"1.1"}:
            raise EgressRefused(400, "no HTTP request")
        where = head.target.decode("ascii")
        if self._origin:
            if head.method == b"CONNECT" or not where.startswith("/"):
                raise EgressRefused(400, "the target of a request is a path")
            authority, path = self._origin, where
        elif head.method == b"CONNECT":
            self.host, self.port = _host_and_port(where, None)
            self.is_tunnel = True
            return b""
        elif where.lower().startswith(_PLAIN):
            authority = re.split("[/?#]", where[len(_PLAIN) :], maxsplit=1)[0]
            path = where[len(_PLAIN) + len(authority) :]
        else:
            raise EgressRefused(400, "only CONNECT and absolute http:// URLs are supported")
        path = path.partition("#")[0]
        self.host, self.port = _host_and_port(authority, self._usual_port)
        headers = list(head.headers)
        for host in (value.decode("latin-1") for name, value in headers if name == b"host"):
            if _host_and_port(host, self._usual_port) != (self.host, self.port):
                raise EgressRefused(400, "the Host header names another host than the URL")
        framing = {name for name, _ in headers} & _FRAMING
        if framing == _FRAMING:
            raise EgressRefused(400, "both Content-Length and Transfer-Encoding")
        # headers meant for this hop are not sent on, what `Connection` names included; framing is, because a body
        # without it would be a second request
        named = b",".join(value for name, value in headers if name == b"connection").lower().split(b",")
        dropped = _HOP_BY_HOP | {name.strip() for name in named} - _FRAMING
        kept = [(name, value) for name, value in headers if name not in dropped]
        # with an origin the response goes on as it is, up to the end of the connection
        closing = [(b"connection", b"close")] if self._origin else []
        headers = [(b"host", authority.encode()), *closing, *kept]
        path = path if path.startswith("/") else f"/{path}"
        self.is_repeatable = head.method in {b"GET", b"HEAD"} and not framing
        return self._outside.send(h11.Request(method=head.method, target=path, headers=headers)) or b""


def _host_and_port(authority: str, default_port: int | None) -> tuple[str, int]:
    if "@" in authority:
        raise EgressRefused(400, "user names in URLs are not supported")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise EgressRefused(400, "no host, or no port")
    port = int(match["port"] or default_port or 0)
    if not 0 < port < 65536:
        raise EgressRefused(400, "no port")
    return match["host"].strip("[]").removesuffix(".").lower(), port
