"""ALITA_WEB_ALLOW, and where connections go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import (
    PublicTransport,
    parse_url,
    parse_web_allow,
    redirect_target,
    web_url,
)

pytestmark = pytest.mark.anyio


def test_pairs_are_read_in_one_spelling() -> None:
    said = "Intranet.Example.org:443, [::1]:8080,127.0.0.1:80 ,, b\u00fccher.example:81"
    assert parse_web_allow(said) == {
        "intranet.example.org:443", "[::1]:8080", "127.0.0.1:80", "xn--bcher-kva.example:81",
    }  # fmt: skip
    assert parse_web_allow("") == frozenset()


@pytest.mark.parametrize(
    "junk",
    [
        "localhost",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        ":80",
        "::1:80",
        "a b:80",
        "[::1]",
        "-",
        "a:b",
        "http://a:80",
        "a:80/path",
        "me@a:80",
        "a:80?x",
    ],
)
def test_junk_is_refused_by_the_name_of_the_setting(junk: str) -> None:
    with pytest.raises(UsageError, match="ALITA_WEB_ALLOW"):
        parse_web_allow(f"good.example:80,{junk}")


class Network(httpcore.AsyncNetworkBackend):
    """Notes where it is asked to connect; `down` are addresses that do not answer."""

    def __init__(self, down: Sequence[str] = ()) -> None:
        self.reached: list[tuple[str, int]] = []
        self._down = down

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.reached.append((host, port))
        if host in self._down:
            raise httpcore.ConnectError
        return httpcore.AsyncMockStream([b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"])


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async def two(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", "93.184.216.35"]

    network = Network(down=["93.184.216.34"])
    async with httpx.AsyncClient(transport=PublicTransport(resolve=two, network=network)) as client:
        assert (await client.get("http://two.example:81/")).text == "ok"
    assert network.reached == [("93.184.216.34", 81), ("93.184.216.35", 81)]


async def test_an_allowed_pair_is_reached_by_its_name_and_never_resolved_here() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        raise AssertionError(host)

    network = Network()
    transport = PublicTransport(allowed=["[::1]:8080", "Intranet:80"], resolve=never, network=network)
    async with httpx.AsyncClient(transport=transport) as client:
        await client.get("http://[::1]:8080/")
        await client.get("http://intranet/")
    assert network.reached == [("::1", 8080), ("intranet", 80)]


async def test_a_name_without_addresses_is_refused() -> None:
    async def nowhere(host: str, port: int) -> Sequence[str]:
        return []

    async with httpx.AsyncClient(transport=PublicTransport(resolve=nowhere)) as client:
        with pytest.raises(UsageError, match="no address"):
            await client.get("http://nowhere.example/")


def test_a_redirect_from_https_to_http_is_asked_over_https() -> None:
    page = parse_url("https://example.org/a/b?c=1#d")
    assert str(page) == "https://example.org/a/b?c=1"
    assert str(redirect_target(page, "http://www.example.org/x#y")) == "https://www.example.org/x"
    assert str(redirect_target(page, "../z")) == "https://example.org/z"
    assert (
        str(redirect_target(parse_url("http://example.org/"), "https://example.org/s"))
        == "https://example.org/s"
    )
    with pytest.raises(UsageError, match="plain http"):
        redirect_target(page, "http://[::1")


@given(st.text() | st.from_regex(r"https?://[\w.\[\]:@%-]{0,30}/?", fullmatch=True))
def test_any_text_is_a_web_url_or_none(text: str) -> None:
    assert web_url(text) in ("", text)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/a?b=1", True),
        ("http://intranet.local/", False),
        ("http://127.0.0.1:80/", True),
        ("http://127.0.0.1:81/", False),
        ("http://0x7f.1/", False),
        ("https://me:word@example.org/", False),
        ("https://example.org/a b", False),
        ("https://example.org/\u202e", False),
        ("https:\\\\example.org", False),
        ("javascript:alert(1)", False),
        (None, False),
    ],
)
def test_hits_lead_to_public_hosts_only(url: object, shown: bool) -> None:
    assert bool(web_url(url, frozenset({"127.0.0.1:80"}))) is shown
