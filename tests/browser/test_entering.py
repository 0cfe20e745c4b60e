"""How a browser gets in, and what keeps others out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.conftest import watched_page
from tests.browser.ui_server import UiServer

if TYPE_CHECKING:
    from playwright.async_api import Browser


async def test_a_link_lets_one_browser_in_and_no_second(browser: Browser, ui: UiServer) -> None:
    link = ui.link()
    async with watched_page(browser) as first, watched_page(browser) as second:
        await first.goto(link)
        await first.wait_for_url("**/ui/ask")
        (cookie,) = await first.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/ui")
        refused = await second.goto(link)
        assert refused is not None
        assert refused.status == 403
        assert "was used" in await second.inner_text("main") or "neither" in await second.inner_text("main")
        assert await second.context.cookies() == []
