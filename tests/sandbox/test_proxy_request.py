"""Requests to the proxy: each is read in one way, and written anew so that its server reads the same."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.interface import EgressRefused
from alita_mcp.sandbox.network.proxy_request import MAX_HEAD, ProxyRequest
from tests.tables import each_case

HOST = "Host: api.test\r\n"
GET = f"GET http://api.test/ HTTP/1.1\r\n{HOST}"
POST = f"POST http://api.test/ HTTP/1.1\r\n{HOST}"
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n"


def forwarded(text: str, at_once: int = 100_000) -> tuple[ProxyRequest, bytes]:
    request, data = ProxyRequest(), text.encode("latin-1")
    pieces = [data[at : at + at_once] for at in range(0, len(data), at_once)]
    return request, b"".join(request.forward(piece) for piece in pieces)


def refusal(text: str) -> str:
    with pytest.raises(EgressRefused) as closed:
        forwarded(text)
    assert closed.value.status == 400
    return closed.value.reason


def test_a_plain_request_goes_on_under_the_name_of_its_url() -> None:
    request, sent = forwarded(
        "POST http://API.test:8080/a?b=c#d HTTP/1.1\r\nHost: api.test:8080\r\nX-Own: 1\r\nContent-Length: 3\r\n"
        "Proxy-Authorization: x\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nUpgrade: h2c\r\nTE: trailers\r\n"
        "\r\nabcGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"
    )
    assert (request.host, request.port, request.is_complete, request.is_tunnel) == (
        "api.test",
        8080,
        True,
        False,
    )
    assert sent == (
        b"POST /a?b=c HTTP/1.1\r\nhost: API.test:8080\r\nx-own: 1\r\ncontent-length: 3\r\n\r\nabc"
    )


@pytest.mark.parametrize("at_once", [1, 7, 100_000])
def test_a_tunnel_names_host_and_port_and_carries_everything_after_its_head(at_once: int) -> None:
    head = "CONNECT Api.Test.:443 HTTP/1.1\r\nHost: whatever\r\n\r\n"
    request, sent = forwarded(head + "\x16\x03\x01\r\n\r\n", at_once)
    assert (request.host, request.port, request.is_tunnel) == ("api.test", 443, True)
    assert sent == b"\x16\x03\x01\r\n\r\n"
    assert request.forward(b"more") == b"more"
    assert forwarded("CONNECT [::1]:443 HTTP/1.0\r\n\r\n")[0].host == "::1"


@pytest.mark.parametrize("at_once", [1, 5, 100_000])
def test_a_body_without_a_length_goes_on_in_chunks_of_our_own(at_once: int) -> None:
    body = '3;name="value"\r\nabc\r\n00002\r\nde\r\n0\r\nX-Trailer: 1\r\n\r\n'
    request, sent = forwarded(CHUNKED.replace("\r\n\r\n", "\r\nTrailer: X-Trailer\r\n\r\n") + body, at_once)
    server = h11.Connection(h11.SERVER)
    server.receive_data(sent)
    events = [server.next_event() for _ in range(sent.count(b"\r\n") // 2)]
    assert request.is_complete
    assert b"".join(bytes(event.data) for event in events if isinstance(event, h11.Data)) == b"abcde"
    assert b"name" not in sent
    assert b"railer" not in sent


@pytest.mark.parametrize("framing", ["Content-Length: 5", "Transfer-Encoding: chunked"])
def test_framing_cannot_be_dropped_as_a_hop(framing: str) -> None:
    _, sent = forwarded(f"{POST}{framing}\r\nConnection: {framing.partition(':')[0]}\r\n\r\n")
    assert framing.lower().encode() in sent


@each_case(
    "head, written",
    [
        (f"{GET}X: a\r\n b\r\n\r\n", b"x: a b\r\n"),
        (f"{GET}X: a\r\n\tb\r\n\r\n", b"x: a b\r\n"),
        (f"{POST}X: a\nContent-Length: 5\n\n", b"x: a\r\ncontent-length: 5\r\n"),
        (f"{POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\n", b"content-length: 5\r\n\r\n"),
        (f"{POST}Content-Length: 5, 5\r\n\r\n", b"content-length: 5\r\n\r\n"),
        (f"{POST}Transfer-Encoding: CHUNKED\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"),
    ],
)
def test_what_servers_read_in_several_ways_is_written_in_one(head: str, written: bytes) -> None:
    _, sent = forwarded(head)
    assert sent.endswith(written + b"\r\n" * (not written.endswith(b"\r\n\r\n")))
    assert sent.count(b"content-length") <= 1


@each_case(
    "head, reason",
    [
        ("GET / HTTP/1.1", "absolute"),
        ("GET ftp://api.test/ HTTP/1.1", "absolute"),
        ("GET https://api.test/ HTTP/1.1", "absolute"),
        ("GET http://api.test/\x01 HTTP/1.1", "no HTTP"),
        ("GET http://api.test/ HTTP/2.0", "no HTTP"),
        ("GET http://api.test/", "no HTTP"),
        ("GET  http://api.test/ HTTP/1.1", "no HTTP"),
        ("G(T http://api.test/ HTTP/1.1", "no HTTP"),
        ("GET http://\xe4.test/ HTTP/1.1", "no HTTP"),
        ("GET http://api.test@evil.test/ HTTP/1.1", "user names"),
        ("GET http://a:b@api.test/ HTTP/1.1", "user names"),
        ("CONNECT api.test@evil.test:443 HTTP/1.1", "user names"),
        ("CONNECT api.test HTTP/1.1", "port"),
        ("CONNECT api.test:0 HTTP/1.1", "port"),
        ("CONNECT api.test:99999 HTTP/1.1", "port"),
        ("CONNECT api.test:443:80 HTTP/1.1", "no host"),
        ("CONNECT [::1 :443 HTTP/1.1", "no HTTP"),
        ("CONNECT [::1:443 HTTP/1.1", "no host"),
        ("GET http:///path HTTP/1.1", "no host"),
        ("GET http://api.test%2eevil.test/ HTTP/1.1", "no host"),
        ("GET http://api.test\\.evil.test/ HTTP/1.1", "no host"),
        ("GET http://[fe80::1%25eth0]/ HTTP/1.1", "no host"),
    ],
)
def test_targets_that_somebody_may_read_otherwise_are_refused(head: str, reason: str) -> None:
    assert reason in refusal(f"{head}\r\n{HOST}\r\n")


@each_case(
    "head, reason",
    [
        ("GET http://api.test/ HTTP/1.1", "Host"),
        ("GET http://api.test/ HTTP/1.1\r\nHost: evil.test", "another host"),
        ("GET http://api.test/ HTTP/1.1\r\nHost: api.test:81", "another host"),
        ("GET http://api.test/ HTTP/1.1\r\nHost:", "no host"),
        (f"{GET}Host: api.test", "Host"),
        (f"{GET}host: evil.test", "Host"),
        (f"{GET}Host : api.test", "header line"),
        (f"{GET} Host: api.test", "no host"),
        (f"{GET}nonsense", "header line"),
        (f"{GET}X: a\rContent-Length: 5", "header line"),
        (f"{GET}X: a\0", "header line"),
        (f"{GET}: x", "header line"),
        (f"{POST}Content-Length: 5\r\nTransfer-Encoding: chunked", "both"),
        (f"{POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "Transfer-Encoding"),
        (f"{POST}Transfer-Encoding: gzip, chunked", "Transfer-Encoding"),
        (f"{POST}Transfer-Encoding: \x0bchunked", "header line"),
        (f"{POST}Content-Length: 5\r\nContent-Length: 6", "Content-Length"),
        (f"{POST}Content-Length: +5", "Content-Length"),
        (f"{POST}Content-Length: 0x5", "Content-Length"),
        (f"{POST}Content-Length: -5", "Content-Length"),
        (f"{POST}Content-Length: {'9' * 30}", "Content-Length"),
        (f"{POST}Content-Length:", "Content-Length"),
    ],
)
def test_headers_that_hide_a_second_request_are_refused(head: str, reason: str) -> None:
    assert reason in refusal(f"{head}\r\n\r\n")


@each_case("body", ["x\r\n", "-1\r\n", "3\r\nabcd\r\n", "f" * 30 + "\r\n", "1;" + "x" * MAX_HEAD])
def test_chunks_that_are_none_are_refused(body: str) -> None:
    assert "no HTTP request" in refusal(CHUNKED + body)


@given(
    st.binary(max_size=400) | st.text(max_size=200).map(lambda text: (GET + text).encode("utf-8", "replace"))
)
def test_whatever_comes_is_read_or_refused_and_never_sends_two_heads(head: bytes) -> None:
    request = ProxyRequest()
    try:
        sent = request.forward(head)
    except EgressRefused:
        return
    if not request.is_tunnel and sent:
        assert sent.partition(b"\r\n\r\n")[0].replace(b"\r\n", b"").count(b"\n") == 0
        server = h11.Connection(h11.SERVER)
        server.receive_data(sent)
        assert isinstance(server.next_event(), h11.Request)
        while not isinstance(event := server.next_event(), h11.EndOfMessage | type(h11.NEED_DATA)):
            assert isinstance(event, h11.Data)
        assert server.trailing_data[0] == b""
