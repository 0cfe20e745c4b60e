"""The server name of a TLS client's first bytes: what real clients send is read, all else is refused, nothing hangs."""

from __future__ import annotations

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.sandbox.network.proxy import MAX_HELLO, NotTls, server_name
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


def test_the_name_of_a_real_client_is_read_in_lower_case() -> None:
    assert server_name(HELLO) == "api.example.org"
    assert server_name(hello("API.Example.ORG.")) == "api.example.org"
    assert server_name(HELLO + b"more of the stream") == "api.example.org"


def test_a_client_that_names_nobody_is_told_apart_from_one_that_is_not_done() -> None:
    assert server_name(hello(None)) == ""


def test_every_beginning_of_a_hello_waits_for_more() -> None:
    assert {server_name(HELLO[:length]) for length in range(len(HELLO))} == {None}


@given(st.integers(1, 200))
def test_a_hello_may_come_in_records_of_any_size(size: int) -> None:
    body = HELLO[5:]
    cut = b"".join(record(body[start : start + size]) for start in range(0, len(body), size))
    assert server_name(cut) == "api.example.org"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a name that is not ASCII
@each_case(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"SSH-2.0-x\r\n",
        b"\x17\x03\x03\0\x05hello",
        b"\x80\x2e\x01\0\x02",
        b"\x16\x03\x01\xff\xff",
        record(b"\x02\0\0\x01x"),
        HELLO.replace(b"api.example.org", b"api.ex\xe4mple.org"),
        HELLO.replace(b"api.example.org", b"api.ex\0mple.org"),
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
