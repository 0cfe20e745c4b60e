"""What holds for every page: its weight, the keyboard, phones, light and dark."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import watched_page
from tests.browser.ui_server import PAGES, UiServer
from tests.tables import each_case

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

MAX_FIRST_PAGE_BYTES = 60_000
EVERY = (*PAGES, "library/calculate", "nothing-here")
CONTRAST = """() => {
  const channel = each => (each /= 255) <= .04045 ? each / 12.92 : ((each + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const found = numbers(getComputedStyle(node).backgroundColor);
      if (found.length < 4 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].some(each => each.nodeType === 3 && each.data.trim());
    if (!text || !node.checkVisibility() || node.disabled || node.closest("script, style")) continue;
    const pair = [light(numbers(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a);
    const ratio = (pair[0] + .05) / (pair[1] + .05);
    if (ratio < 4.5) weak.push(`${node.outerHTML.slice(0, 80)} ${ratio.toFixed(1)}`);
  }
  return weak;
}"""
"""Texts whose contrast is below that of WCAG 2.2, level AA."""


@pytest.fixture(scope="module")
async def cookies(browser: Browser, ui: UiServer) -> AsyncIterator[list[Any]]:
    async with watched_page(browser) as page:
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        yield await page.context.cookies()


async def test_the_first_page_is_light(browser: Browser, ui: UiServer) -> None:
    received: list[float] = []
    async with watched_page(browser) as page:
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        session.on("Network.loadingFinished", lambda sent: received.append(sent["encodedDataLength"]))
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        await page.wait_for_load_state("networkidle")
    assert len(received) >= 5
    assert sum(received) < MAX_FIRST_PAGE_BYTES


@each_case("scheme, dark", [("light", False), ("dark", True)])
async def test_every_page_fits_a_phone_and_can_be_read_in_light_and_dark(
    browser: Browser, ui: UiServer, cookies: list[Any], scheme: Any, dark: bool
) -> None:
    phone: Any = {"width": 400, "height": 800}
    async with watched_page(browser, viewport=phone, color_scheme=scheme) as page:
        for path in ("enter", *EVERY):
            await page.goto(ui.url(f"/{path}"))
            assert await page.evaluate("document.documentElement.scrollWidth") <= 400, path
            assert await page.evaluate(CONTRAST) == [], path
            red = await page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.slice(4))")
            assert (red < 128) == dark
            if path == "enter":
                await page.context.add_cookies(cookies)


async def test_the_keyboard_reaches_content_and_every_page(page: Page) -> None:
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
    assert await page.evaluate("document.activeElement.getBoundingClientRect().left") > 0
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.id") == "main"
    await page.reload()
    for _ in range(5):  # the link to the content, the first page, Ask, Activity, Library
        await page.keyboard.press("Tab")
    assert await page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/ui/library")
    assert await page.locator("nav [aria-current=page]").inner_text() == "Library"


async def test_every_page_says_what_it_is_and_labels_what_it_asks(page: Page, ui: UiServer) -> None:
    titles = set()
    for path in EVERY:
        answer = await page.goto(ui.url(f"/{path}"))
        assert answer is not None
        assert answer.ok == (path != "nothing-here"), path
        titles.add(await page.title())
        assert await page.locator("h1").count() == 1, path
        fields = page.locator("input:not([type=hidden]), select, textarea")
        for number in range(await fields.count()):
            assert await fields.nth(number).evaluate("each => each.labels.length || each.ariaLabel"), path
    assert len(titles) == len(EVERY)


async def test_a_session_that_has_ended_is_noticed_by_the_page_that_is_open(page: Page) -> None:
    await page.context.clear_cookies()
    await page.get_by_role("heading", name="Sign in").wait_for()


async def test_more_live_pages_than_a_browser_has_connections_for_pause_the_oldest(
    page: Page, ui: UiServer
) -> None:
    tabs = [await page.context.new_page() for _ in range(7)]
    for tab in tabs:
        await tab.goto(ui.url("/activity"))
        await tab.wait_for_load_state()
    await tabs[0].get_by_text("Too many pages are open at once").wait_for()
    await page.goto(ui.url("/library"))
    assert '"open": 4' in ui.alita("status", "--json")
    assert await tabs[-1].get_by_text("Too many pages are open at once").count() == 0
