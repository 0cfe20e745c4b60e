"""The server name of a TLS client's first bytes: what real clients send is read, all else is refused, nothing hangs."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.network.client_hello import MAX_HELLO, NotTls, server_name
from tests.tables import each_case


def hello(name: str | None) -> bytes:
    """What the ssl module sends first."""
    context = ssl.create_default_context()
    if name is None:
        context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


HELLO = hello("api.example.org")


def record(body: bytes) -> bytes:
    return b"\x16\x03\x01" + len(body).to_bytes(2) + body


def message(
    extensions: bytes, *, before: bytes = b"\x03\x03" + bytes(32) + b"\0\0\x02\x13\x01\x01\0"
) -> bytes:
    body = before + len(extensions).to_bytes(2) + extensions
    return b"\x01" + len(body).to_bytes(3) + body


def named(name: bytes, kind: int = 0) -> bytes:
    entry = bytes([kind]) + len(name).to_bytes(2) + name
    listed = len(entry).to_bytes(2) + entry
    return b"\0\0" + len(listed).to_bytes(2) + listed


def test_the_name_of_a_real_client_is_read_in_lower_case() -> None:
    assert server_name(HELLO) == "api.example.org"
    assert server_name(hello("API.Example.ORG.")) == "api.example.org"
    assert server_name(HELLO + b"more of the stream") == "api.example.org"


def test_a_client_that_names_nobody_is_told_apart_from_one_that_is_not_done() -> None:
    assert server_name(hello(None)) == ""
    assert server_name(record(message(b""))) == ""
    assert server_name(record(b"\x01\0\0\x29" + b"\x03\x03" + bytes(32) + b"\0\0\x02\x13\x01\x01\0")) == ""


def test_every_beginning_of_a_hello_waits_for_more() -> None:
    assert {server_name(HELLO[:length]) for length in range(len(HELLO))} == {None}


@given(st.integers(1, 200))
def test_a_hello_may_come_in_records_of_any_size(size: int) -> None:
    body = HELLO[5:]
    cut = b"".join(record(body[start : start + size]) for start in range(0, len(body), size))
    assert server_name(cut) == "api.example.org"


@each_case(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\x17\x03\x03\0\x05hello",
        b"\x16\x02\0\0\x05hello",
        b"\x80\x2e\x01\0\x02",
        b"\x16\x03\x01\0\0",
        b"\x16\x03\x01\xff\xff",
        record(b"\x02\0\0\x01x"),
        record(message(named(b"a.test") + named(b"a.test"))),
        record(message(named(b"a.test") + named(b"b.test"))),
        record(message(named(b"a.test", kind=1))),
        record(message(named(b"\xc3\xa4.test"))),
        record(message(b"\0\0\0\x0c\0\x0a\0\0\x02ab\0\0\x02cd")),
        record(message(b"\0\0\0\x09\0\x05\0\0\x02ab\0\0")),
        record(message(b"\0\0\xff\xff")),
        record(message(b"", before=b"\x03\x03")),
        record(b"\x01\x00\xff\xff" + bytes(200)) + record(bytes(16_000)) * 2,
    ],
)
def test_what_no_client_sends_is_refused(data: bytes) -> None:
    with pytest.raises(NotTls):
        server_name(data)


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda rest: HELLO[:60] + rest))
def test_whatever_comes_gives_a_name_a_wait_or_a_refusal(data: bytes) -> None:
    try:
        name = server_name(data)
    except NotTls:
        return
    assert name is None or name.isascii()
    assert name is not None or len(data) <= MAX_HELLO
