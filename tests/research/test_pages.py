"""Pages of the public web, and every way in which a page or an address may be hostile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.pages import MAX_BYTES, open_page_reader

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.anyio]
ARTICLE = (
    b"<html><head><title>Owls</title></head><body><nav>menu menu</nav><article><h1>Owls</h1>"
    + b"<p>Owls hunt at night and fly without a sound. They see well in the dark.</p>" * 4
    + b"</article></body></html>"
)
ROUTES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "/article": (200, {"content-type": "text/html; charset=utf-8"}, ARTICLE),
    "/plain": (200, {"content-type": "text/plain"}, b"plain words"),
    "/moved": (302, {"location": "/article"}, b""),
    "/loop": (302, {"location": "/loop"}, b""),
    "/inside": (302, {"location": "http://169.254.169.254/latest/meta-data"}, b""),
    "/file": (302, {"location": "file:///etc/passwd"}, b""),
    "/picture": (200, {"content-type": "image/png"}, b"\x89PNG"),
    "/huge": (200, {"content-type": "text/html"}, b"x" * (MAX_BYTES + 1)),
    "/empty": (200, {"content-type": "text/html"}, b"<html></html>"),
    "/private": (200, {"content-type": "text/html"}, ARTICLE),
    "/gone": (404, {"content-type": "text/html"}, b"no"),
    "/robots.txt": (200, {"content-type": "text/plain"}, b"User-agent: *\nDisallow: /private\n"),
}


@contextmanager
def site() -> Iterator[str]:
    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = ROUTES.get(self.path, (404, {}, b""))
            self.send_response(status)
            for key, value in {**headers, "content-length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.mark.parametrize("path", ["/article", "/moved"])
async def test_an_article_is_read_without_its_menu(path: str) -> None:
    with anyio.fail_after(60), site() as place:
        async with open_page_reader(also=[place]) as reader:
            page = await reader.read(f"http://{place}{path}")
    assert page.title == "Owls"
    assert "without a sound" in page.text
    assert "menu" not in page.text
    assert page.url.endswith("/article")


async def test_plain_text_comes_as_it_is() -> None:
    with anyio.fail_after(60), site() as place:
        async with open_page_reader(also=[place]) as reader:
            assert (await reader.read(f"http://{place}/plain")).text == "plain words"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/loop", "redirects"),
        ("/inside", "not a public address"),
        ("/file", "plain http"),
        ("/picture", "image/png"),
        ("/huge", "larger than"),
        ("/empty", "no readable text"),
        ("/private", "robots.txt"),
        ("/gone", "404"),
    ],
)
async def test_what_a_hostile_site_tries_is_refused_with_a_reason(path: str, why: str) -> None:
    with anyio.fail_after(60), site() as place:
        async with open_page_reader(also=[place]) as reader:
            with pytest.raises(UsageError, match=why):
                await reader.read(f"http://{place}{path}")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1/", "not a public address"),
        ("http://localhost:1/", "not a public address"),
        ("http://[::1]:1/", "not a public address"),
        ("http://[::ffff:10.0.0.1]/", "not a public address"),
        ("http://169.254.169.254/", "not a public address"),
        ("http://168.63.129.16/", "not a public address"),
        ("http://192.88.99.1/", "not a public address"),
        ("http://[64:ff9b::a9fe:a9fe]/", "not a public address"),
        ("http://[::7f00:1]/", "not a public address"),
        ("http://[2620:4f:8000::1]/", "not a public address"),
        ("ftp://example.org/", "plain http"),
        ("http://user:word@example.org/", "plain http"),
        ("http://no-such-host.invalid/", "not"),
        ("nonsense", "plain http"),
    ],
)
async def test_addresses_that_are_not_the_public_web_are_refused(url: str, why: str) -> None:
    with anyio.fail_after(60):
        async with open_page_reader() as reader:
            with pytest.raises(UsageError, match=why):
                await reader.read(url)
