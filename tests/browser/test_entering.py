"""How a browser gets in, and what keeps others out."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from tests.browser.conftest import watched_page
from tests.browser.ui_server import UiServer, person

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

FLOOD = 300
"""More connections than the pages take at once."""


async def enter(page: Page, link: str) -> None:
    await page.goto(link)
    await page.wait_for_url("**/ui/ask")


async def test_a_link_lets_one_browser_in_and_no_second(browser: Browser, ui: UiServer) -> None:
    link = ui.link()
    async with watched_page(browser) as first, watched_page(browser) as second:
        await enter(first, link)
        (cookie,) = await first.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/ui")
        refused = await second.goto(link)
        assert refused is not None
        assert refused.status == 403
        assert "neither the token nor a code" in await second.inner_text("main")
        assert await second.context.cookies() == []
        await enter(first, link)  # by its history


async def test_the_token_lets_in_but_decides_nothing_and_a_guess_does_not(
    browser: Browser, ui: UiServer
) -> None:
    url = urlsplit(ui.link())._replace(path="/", query="").geturl()
    token = (ui.home / "http_token").read_text().strip()
    async with watched_page(browser) as page, watched_page(browser) as stranger:
        await page.goto(url)
        await page.get_by_label("Code or token").fill(token)
        await page.keyboard.press("Enter")
        await page.get_by_role("navigation").wait_for()
        await page.goto(f"{url}ui/library/calculate")
        await page.get_by_role("button", name="Pin").click()
        assert "does not allow this" in await page.inner_text("main")
        await page.goto(f"{url}ui/library/calculate")
        assert await page.get_by_role("button", name="Pin").count() == 1

        await stranger.goto(url)
        await stranger.get_by_label("Code or token").fill("a guess")
        await stranger.get_by_role("button", name="Sign in").click()
        await stranger.wait_for_url("**/ui/enter")
        assert "neither the token nor a code" in await stranger.inner_text("main")
        await enter(stranger, ui.link())


async def test_a_session_outlives_the_server_and_no_server_takes_that_of_another_home(
    browser: Browser, ui: UiServer, stocked: Path
) -> None:
    with person(stocked) as other:
        async with watched_page(browser) as page:
            await enter(page, ui.link())
            await enter(page, other.link())
            for server in (ui, other):
                answer = await page.goto(server.url("/library"))
                assert answer is not None
                assert answer.status == 200
            port = str(urlsplit(ui.url()).port)
            assert len(await page.context.cookies()) == 2
            ui.alita("stop")
            ui.alita("ui", "--port", port)
            answer = await page.goto(f"http://127.0.0.1:{port}/ui/library")
            assert answer is not None
            assert answer.status == 200
            ui.alita("stop")
            (ui.home / "pages_key").unlink()
            ui.alita("ui", "--port", port)
            answer = await page.goto(f"http://127.0.0.1:{port}/ui/library")
            assert answer is not None
            assert answer.status == 401


async def test_what_slipped_through_the_escaping_would_run_nothing(browser: Browser, ui: UiServer) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await enter(page, ui.link())
    async with page.expect_console_message(lambda said: "Content Security Policy" in said.text):
        await page.evaluate("document.body.innerHTML += '<img src=x onerror=\"window.ran = 1\">'")
    assert await page.evaluate("window.ran") is None
    await context.close()


async def test_floods_slow_forms_and_strange_hosts_take_nothing_from_a_person(
    browser: Browser, ui: UiServer
) -> None:
    link = ui.link()
    address = urlsplit(link)
    async with watched_page(browser) as page, httpx.AsyncClient() as stranger:
        base = f"http://{address.netloc}"
        rebound = await stranger.get(f"{base}/ui/ask", headers={"host": "evil.example"})
        foreign = await stranger.post(f"{base}/ui/enter", headers={"origin": "https://evil.example"})
        assert (rebound.status_code, foreign.status_code) == (421, 403)
        with ExitStack() as stack:
            for path in ("/ui/enter", "/ui/ask"):
                half = (
                    f"POST {path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 1000\r\n"
                    "Content-Type: application/x-www-form-urlencoded\r\n\r\nco"
                )
                for _ in range(FLOOD):
                    slow = stack.enter_context(socket.create_connection(("127.0.0.1", address.port or 0)))
                    slow.sendall(half.encode())
            await enter(page, link)
            await page.goto(f"{base}/ui/library")
            assert "calculate" in await page.inner_text("main")
        for _ in range(100):
            assert (await stranger.get(f"{base}/ui/decide")).status_code == 401
        assert '"open": 1' in ui.alita("status", "--json")
    logs = [path.read_text() for path in ui.folder.rglob("alita-mcp-shared/*.log")]
    assert logs
    assert [log for log in logs if "Traceback" in log] == []
