"""Every way in which a site or an address may be hostile to the one who reads it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import anyio
import httpcore
import httpx
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import PublicTransport
from alita_mcp.research.fetcher import MAX_RULES_BYTES, FetchLimits, open_fetcher
from alita_mcp.settings import Settings
from tests.research.local_site import Reply, local_site
from tests.research.test_fetcher import ARTICLE, fetcher_of

pytestmark = [pytest.mark.anyio, pytest.mark.extra("web")]
BOMB = gzip.compress(b"\0" * 5_000_000)
SMALL = FetchLimits(bytes=1_000_000, seconds=20)


def packed(coding: str, body: bytes) -> Reply:
    return Reply(body, headers={"content-encoding": coding})


def endless(handler: BaseHTTPRequestHandler) -> None:
    while True:
        handler.wfile.write(b"x" * 65_536)


ROUTES = {
    "/loop": Reply(status=302, headers={"location": "/loop"}),
    "/metadata": Reply(status=302, headers={"location": "http://169.254.169.254/latest/meta-data"}),
    "/loopback": Reply(status=302, headers={"location": "http://127.0.0.1:1/"}),
    "/named": Reply(status=302, headers={"location": "http://localhost:1/"}),
    "/file": Reply(status=302, headers={"location": "file:///etc/passwd"}),
    "/script": Reply(status=302, headers={"location": "javascript:alert(1)"}),
    "/password": Reply(status=302, headers={"location": "http://me:word@example.org/"}),
    "/broken-place": Reply(status=302, headers={"location": "http://[::1"}),
    "/picture": Reply(b"\x89PNG\r\n\x1a\n", kind="image/png"),
    "/lying-picture": Reply(b"\x89PNG\r\n\x1a\n\0\0", kind="text/html"),
    "/lying-program": Reply(b"\x7fELF\x02\x01\x01\0\0", kind="text/plain"),
    "/lying-pdf": Reply(b"<html><body>not one</body></html>", kind="application/pdf"),
    "/unknown": Reply(b"\x01\x02\x03", kind="application/octet-stream"),
    "/empty": Reply(b"<html></html>"),
    "/nothing": Reply(b""),
    "/huge": Reply(b"x" * 1_000_001),
    "/endless": Reply(send=endless),
    "/gzip-bomb": packed("gzip", BOMB),
    "/deflate": packed("deflate", zlib.compress(b"words")),
    "/brotli": packed("br", b"\x1b\x00"),
    "/twice": packed("gzip, gzip", gzip.compress(BOMB)),
    "/damaged": packed("gzip", b"\x1f\x8b\x08" + b"\xff" * 50),
    "/secret/page": ARTICLE,
    "/robots.txt": Reply(b"User-agent: *\nDisallow: /secret\n", kind="text/plain"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/loop", "redirects"),
        ("/metadata", "not a public address"),
        ("/loopback", "not a public address"),
        ("/named", "not a public address"),
        ("/file", "plain http"),
        ("/script", "did not answer: InvalidURL"),
        ("/password", "plain http"),
        ("/broken-place", "did not answer: RemoteProtocolError"),
        ("/picture", "image/png"),
        ("/lying-picture", "holds no text"),
        ("/lying-program", "holds no text"),
        ("/lying-pdf", "declared as 'application/pdf'"),
        ("/unknown", "holds no text"),
        ("/empty", "no readable text"),
        ("/nothing", "no readable text"),
        ("/huge", "more than 1,000,000"),
        ("/endless", "more than 1,000,000"),
        ("/gzip-bomb", "more than 1,000,000"),
        ("/deflate", "not requested"),
        ("/brotli", "'br', which was not requested"),
        ("/twice", "not requested"),
        ("/damaged", "damaged gzip"),
        ("/secret/page", "robots.txt"),
        ("/gone", "answered 404"),
    ],
)
async def test_what_a_hostile_site_tries_is_refused_with_a_reason(
    path: str, why: str, tmp_path: Path
) -> None:
    with local_site(ROUTES) as site:
        async with fetcher_of(site, tmp_path, limits=SMALL) as fetcher:
            with pytest.raises(UsageError, match=why):
                await fetcher.fetch(site.url(path))


async def test_a_compressed_page_is_read(tmp_path: Path) -> None:
    with local_site({"/owls": packed("gzip", gzip.compress(ARTICLE.body))}) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            assert "without a sound" in (await fetcher.fetch(site.url("/owls"))).text


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://localhost:1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]:1/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/",
        "http://168.63.129.16/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://10.1.2.3/",
    ],
)
async def test_addresses_that_are_not_the_public_web_are_refused(url: str, tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with open_fetcher(Settings(home=tmp_path)) as fetcher:
            with pytest.raises(UsageError, match=r"not a public address|does not resolve"):
                await fetcher.fetch(url)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "http://me:word@example.org/",
        "nonsense",
        "http:///x",
        "http://" + "a" * 5_000,
        "http://exa mple.org\n/",
    ],
)
async def test_what_is_no_plain_address_is_refused(url: str, tmp_path: Path) -> None:
    async with open_fetcher(Settings(home=tmp_path)) as fetcher:
        with pytest.raises(UsageError, match="plain http"):
            await fetcher.fetch(url)


async def test_another_port_of_an_allowed_host_stays_closed(tmp_path: Path) -> None:
    with local_site({"/owls": ARTICLE}) as inner:
        moved = Reply(status=302, headers={"location": inner.url("/owls")})
        with local_site({"/moved": moved}) as site:
            async with fetcher_of(site, tmp_path) as fetcher:
                with pytest.raises(UsageError, match="not a public address"):
                    await fetcher.fetch(site.url("/moved"))
        assert inner.asked == []


async def test_a_name_that_changes_its_mind_after_the_check_reaches_nothing(tmp_path: Path) -> None:
    """DNS rebinding: the connection goes to the address that was checked, and each connection is checked."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    reached: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        return next(answers)

    class Recorded(httpcore.AsyncNetworkBackend):
        async def connect_tcp(
            self, host: str, *arguments: object, **_: object
        ) -> httpcore.AsyncNetworkStream:
            reached.append(host)
            raise httpcore.ConnectError

    transport = PublicTransport(resolve=rebinding, network=Recorded())
    async with httpx.AsyncClient(transport=transport) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://rebinding.example/")
        with pytest.raises(UsageError, match="not a public address"):
            await client.get("http://rebinding.example/")
    assert reached == ["93.184.216.34"]


async def test_a_name_with_one_private_address_among_public_ones_is_refused(tmp_path: Path) -> None:
    async def mixed(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", "10.0.0.1"]

    async with open_fetcher(Settings(home=tmp_path), resolve=mixed) as fetcher:
        with pytest.raises(UsageError, match=r"10\.0\.0\.1, which is not a public address"):
            await fetcher.fetch("http://mixed.example/")


@pytest.mark.slow
async def test_a_server_that_drips_is_left_after_its_time(tmp_path: Path) -> None:
    limits = FetchLimits(seconds=0.5)
    with local_site({}) as site:

        def drip(handler: BaseHTTPRequestHandler) -> None:
            while not site.released.wait(0.1):
                handler.wfile.write(b"x")
                handler.wfile.flush()

        site.routes["/slow"] = Reply(send=drip)
        site.routes["/silent"] = Reply(send=lambda _handler: site.released.wait(30) and None)
        async with fetcher_of(site, tmp_path, limits=limits) as fetcher:
            for path in ("/slow", "/silent"):
                with pytest.raises(UsageError, match=r"longer than 0\.5 s"):
                    await fetcher.fetch(site.url(path))


async def test_robots_that_cannot_be_read_close_the_site_and_none_open_it(tmp_path: Path) -> None:
    with local_site({"/owls": ARTICLE, "/robots.txt": Reply(status=503)}) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            with pytest.raises(UsageError, match="cannot be read, so nothing"):
                await fetcher.fetch(site.url("/owls"))
            site.routes["/robots.txt"] = Reply(status=404)
            assert (await fetcher.fetch(site.url("/owls"))).title == "Owls"


async def test_robots_count_up_to_their_first_megabyte_and_behind_redirects(tmp_path: Path) -> None:
    rules = b"User-agent: alita-mcp-server\nDisallow: /secret\n"
    long = rules + b"# filler\n" * (MAX_RULES_BYTES // 8)
    routes = {
        "/owls": ARTICLE,
        "/secret": ARTICLE,
        "/robots.txt": Reply(status=301, headers={"location": "/rules"}),
        "/rules": Reply(long, kind="text/plain"),
    }
    with local_site(routes) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            assert (await fetcher.fetch(site.url("/owls"))).title == "Owls"
            with pytest.raises(UsageError, match=r"forbids.*/secret'"):
                await fetcher.fetch(site.url("/secret?key=hidden"))
