"""Documents of the web through the fetcher, from a server of ours that behaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from alita_mcp.research.fetcher import FetchLimits, WebFetcher, open_fetcher
from alita_mcp.settings import Settings
from tests.research.local_site import Asked, Reply, Site, local_site

pytestmark = [pytest.mark.anyio, pytest.mark.extra("web")]
WORDS = "Owls hunt at night and fly without a sound. They see well in the dark. "
ARTICLE = Reply(
    f"""<html><head><title>Owls</title></head><body><nav><a href="/">Start</a></nav><article><h1>Owls</h1>
    <p>{WORDS * 3}</p><p>{WORDS * 2} See <a href="list">the list</a>.</p></article></body></html>""".encode()
)


@asynccontextmanager
async def fetcher_of(site: Site, home: Path, limits: FetchLimits | None = None) -> AsyncIterator[WebFetcher]:
    settings = Settings(home=home, web_allow=site.place)
    with anyio.fail_after(60):
        async with open_fetcher(settings, limits=limits) as fetcher:
            yield fetcher


async def test_an_article_comes_with_its_links_numbered_and_absolute(tmp_path: Path) -> None:
    with local_site({"/birds/owls": ARTICLE}) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            document = await fetcher.fetch(site.url("/birds/owls#top"))
    assert (document.title, document.content_type) == ("Owls", "text/html")
    assert document.url == site.url("/birds/owls")
    assert document.retrieved_at.endswith("+00:00")
    (link,) = (link for link in document.links if link.text == "the list")
    assert link.url == site.url("/birds/list")
    assert f"the list [{link.number}]" in document.text


async def test_a_redirect_is_followed_and_the_document_says_where_it_was_found(tmp_path: Path) -> None:
    moved = Reply(status=301, headers={"location": "/owls"})
    with local_site({"/old": moved, "/owls": ARTICLE}) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            assert (await fetcher.fetch(site.url("/old"))).url == site.url("/owls")


@pytest.mark.slow
async def test_a_site_of_forty_pages_is_paged_through_by_its_links(tmp_path: Path) -> None:
    def listing(asked: Asked) -> Reply:
        number = int(asked.path.partition("=")[2] or 1)
        rows = "".join(f"<tr><td>item {number}-{row}</td><td>{number * row}</td></tr>" for row in range(3))
        turns = f'<a href="?page={number + 1}">Next</a>' if number < 40 else ""
        turns += f'<a href="?page={number - 1}">Previous</a>' if number > 1 else ""
        return Reply(
            f"<html><body><h1>Items</h1><table><tr><th>name</th><th>count</th></tr>{rows}</table>"
            f'<div class="pagination">{turns}</div></body></html>'.encode()
        )

    routes = {"/items": listing, **{f"/items?page={number}": listing for number in range(1, 41)}}
    items = []
    with local_site(routes) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            url = site.url("/items")
            while url:
                document = await fetcher.fetch(url)
                items += [line for line in document.text.splitlines() if line.startswith("| item")]
                url = next((link.url for link in document.links if link.text == "Next"), "")
        assert len(site.paths()) == 40
        assert len(site.asked) == 41  # robots.txt once
    assert len(items) == 120
    assert items[-1] == "| item 40-2 | 80 |"


async def test_no_cookies_are_kept_and_no_more_is_said_than_who_asks(tmp_path: Path) -> None:
    page = ARTICLE._replace(headers={"set-cookie": "who=me; Path=/"})
    with local_site({"/a": page, "/b": page}) as site:
        async with fetcher_of(site, tmp_path) as fetcher:
            for path in ("/a", "/b"):
                await fetcher.fetch(site.url(path))
    assert not [asked for asked in site.asked if {"cookie", "authorization", "referer"} & set(asked.headers)]
    assert site.asked[0].headers["user-agent"].startswith("alita-mcp-server/")


async def test_a_host_is_asked_no_more_than_twice_at_a_time(tmp_path: Path) -> None:
    under_way: list[int] = []
    here = 0

    def counted(handler: object) -> None:
        nonlocal here
        here += 1
        under_way.append(here)
        handler.wfile.write(b"words")  # type: ignore[attr-defined]
        here -= 1

    pages = {f"/{number}": Reply(kind="text/plain", send=counted) for number in range(8)}
    with local_site(pages) as site:
        async with fetcher_of(site, tmp_path) as fetcher, anyio.create_task_group() as tasks:
            for path in pages:
                tasks.start_soon(fetcher.fetch, site.url(path))
    assert len(under_way) == 8
    assert max(under_way) <= 2
