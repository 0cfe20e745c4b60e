"""Heads of requests to the proxy: what two programs could read in two ways is read by nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.interface import EgressRefused
from alita_mcp.sandbox.network.request_head import read_target

GET = "GET http://api.test/ HTTP/1.1\r\n"
POST = "POST http://api.test/ HTTP/1.1\r\n"


def refusal(head: str) -> tuple[int, str]:
    with pytest.raises(EgressRefused) as closed:
        read_target(head.encode("latin-1"))
    return closed.value.status, closed.value.reason


def test_a_plain_request_goes_on_under_the_name_of_its_url_and_closes() -> None:
    target = read_target(
        b"POST http://API.test:8080/a?b=c#d HTTP/1.1\r\nHost: api.test:8080\r\nX-Own: 1\r\nContent-Length: 3\r\n"
        b"Proxy-Authorization: x\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nUpgrade: h2c\r\nTE: trailers"
    )
    assert (target.host, target.port, target.body_bytes) == ("api.test", 8080, 3)
    assert target.opening == (
        b"POST /a?b=c HTTP/1.1\r\nHost: API.test:8080\r\nConnection: close\r\nx-own: 1\r\ncontent-length: 3\r\n\r\n"
    )
    assert target.upload_bytes == len(target.opening) + 3


@pytest.mark.parametrize(
    ("where", "path"),
    [("http://a.test", b"/"), ("http://a.test?x=1", b"/?x=1"), ("HTTP://a.test/x#y", b"/x")],
)
def test_a_url_without_a_path_asks_for_the_root(where: str, path: bytes) -> None:
    target = read_target(f"GET {where} HTTP/1.0".encode())
    assert (target.host, target.port) == ("a.test", 80)
    assert target.opening.startswith(b"GET %s HTTP/1.1\r\n" % path)


def test_a_tunnel_names_host_and_port_and_sends_nothing_first() -> None:
    target = read_target(b"CONNECT Api.Test.:443 HTTP/1.1\r\nHost: whatever")
    assert target == ("api.test", 443, b"", None)
    assert target.upload_bytes is None
    assert read_target(b"CONNECT [::1]:443 HTTP/1.1").host == "::1"


def test_a_content_length_cannot_be_dropped_as_a_hop() -> None:
    head = f"{POST}Content-Length: 5\r\nConnection: Content-Length"
    assert b"content-length: 5" in read_target(head.encode()).opening


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("GET / HTTP/1.1", "absolute"),
        ("GET ftp://api.test/ HTTP/1.1", "absolute"),
        ("GET https://api.test/ HTTP/1.1", "absolute"),
        ("GET http://api.test/\x01 HTTP/1.1", "absolute"),
        ("GET http://api.test/ HTTP/2.0", "no HTTP"),
        ("GET http://api.test/", "no HTTP"),
        ("GET  http://api.test/ HTTP/1.1", "no HTTP"),
        ("G(T http://api.test/ HTTP/1.1", "no HTTP"),
        ("GET http://\xe4.test/ HTTP/1.1", "ASCII"),
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
    status, text = refusal(head)
    assert status == 400
    assert reason in text


@pytest.mark.parametrize(
    ("head", "status", "reason"),
    [
        (f"{GET}Host: evil.test", 400, "another host"),
        (f"{GET}Host: api.test:81", 400, "another host"),
        (f"{GET}Host:", 400, "no host"),
        (f"{GET}Host: api.test\r\nHost: api.test", 400, "more than one host"),
        (f"{GET}Host: api.test\r\nhost: evil.test", 400, "more than one host"),
        (f"{GET}X: a\r\n b", 400, "header line"),
        (f"{GET}X: a\r\n\tb", 400, "header line"),
        (f"{GET}Host : api.test", 400, "header line"),
        (f"{GET} Host: api.test", 400, "header line"),
        (f"{GET}nonsense", 400, "header line"),
        (f"{GET}X: a\nContent-Length: 5", 400, "header line"),
        (f"{GET}X: a\rContent-Length: 5", 400, "header line"),
        (f"{GET}X: a\0", 400, "header line"),
        (f"{GET}: x", 400, "header line"),
        (f"{POST}Content-Length: 5\r\nTransfer-Encoding: chunked", 400, "both"),
        (f"{POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: x", 400, "more than one transfer"),
        (f"{POST}Transfer-Encoding: chunked", 411, "Content-Length"),
        (f"{POST}Transfer-Encoding: \x0bchunked", 400, "header line"),
        (f"{POST}Content-Length: 5\r\nContent-Length: 5", 400, "more than one content"),
        (f"{POST}Content-Length: 5, 5", 400, "no number"),
        (f"{POST}Content-Length: +5", 400, "no number"),
        (f"{POST}Content-Length: 0x5", 400, "no number"),
        (f"{POST}Content-Length: -5", 400, "no number"),
        (f"{POST}Content-Length: {'9' * 30}", 400, "no number"),
        (f"{POST}Content-Length:", 400, "no number"),
    ],
)
def test_headers_that_hide_a_second_request_are_refused(head: str, status: int, reason: str) -> None:
    assert refusal(head)[0] == status
    assert reason in refusal(head)[1]


@given(
    st.binary(max_size=400) | st.text(max_size=200).map(lambda text: (GET + text).encode("utf-8", "replace"))
)
def test_whatever_comes_is_read_or_refused_and_never_sends_two_heads(head: bytes) -> None:
    try:
        target = read_target(head)
    except EgressRefused:
        return
    assert target.opening.count(b"\r\n\r\n") == (target.body_bytes is not None)
    assert b"\n" not in target.opening.replace(b"\r\n", b"")
