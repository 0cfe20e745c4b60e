"""Approvals, reviews, gaps and health in a browser, while real MCP clients of the same person work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.storage import Storage
from alita_mcp.values import Grants
from tests.browser.conftest import watched_page
from tests.browser.ui_server import UiServer
from tests.server.in_memory import called, connected, succeeded
from tests.server.processes import ENTRY

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

CODE = '''import alita_tool


def doubled_value(expression: str) -> str:
    """The doubled value of an expression, exactly.

    Args:
        expression: Numbers and + - * / alone.

    Raises:
        ValueError: it is no such expression.
    """
    return alita_tool.call_tool("calculate", expression=f"2 * ({expression})")["exact"]
'''
DOUBLED = {
    "name": "doubled_value",
    "description": "The doubled value of an expression. <script>document.title = 'owned'</script>",
    "code": CODE,
    "tests": [
        {"arguments": {"expression": "1 + 2"}, "expected": "6"},
        {"arguments": {"expression": "5"}, "expected": "10"},
        {"arguments": {"expression": "-7"}, "expected": "-14"},
        {"arguments": {"expression": ""}, "raises": "ValueError"},
    ],
    "needs": {"tools": ["calculate"]},
}


@asynccontextmanager
async def client_of(ui: UiServer) -> AsyncIterator[Client]:
    """An MCP client of the person, in a process of its own."""
    program, *words = ENTRY
    server = StdioServerParameters(command=program, args=words, env=ui.environment())
    async with connected(stdio_client(server), "modern") as client:
        yield client


async def test_a_person_approves_what_one_client_made_and_another_one_calls_it(
    page: Page, ui: UiServer
) -> None:
    await page.goto(ui.url("/decide"))
    assert "Nothing waits for approval." in await page.inner_text("main")
    async with client_of(ui) as maker:
        made = await succeeded(maker, "synthesize_tool", **DOUBLED)
        assert made["status"] == "needs_approval", made
    # The navigation says how much waits: it, and its review.
    await page.locator("nav #number", has_text="2").wait_for()
    await page.reload()
    item = page.locator("article", has_text="doubled_value")
    shown = await item.inner_text()
    for piece in (
        "tool calculate (new)",
        "<script>document.title",
        "+    return alita_tool.call_tool",
        "sha256:",
    ):
        assert piece in shown, piece
    assert "owned" not in await page.title()
    async with client_of(ui) as caller:
        refused = await called(caller, "run_tool", name="doubled_value", arguments={"expression": "4"})
        assert refused.is_error
        CodeApprovals(Storage(ui.home)).ask(
            AskedCode(code="print('<b>\u2066')", grants=Grants(model=True), client="x")
        )
        await page.reload()
        code = page.locator("article", has_text="of run_code")
        assert "1 | print('<b><U+2066>')" in await code.inner_text()
        await code.get_by_role("button", name="Refuse").click()
        await page.locator("main [role=status]").wait_for()
        await item.get_by_role("button", name="Approve").click()
        await page.get_by_text("may use: tool calculate").wait_for()
        answer = await succeeded(caller, "run_tool", name="doubled_value", arguments={"expression": "4"})
        assert answer["result"] == "8"


async def test_two_people_approve_at_once_and_one_of_them_is_told(
    browser: Browser, page: Page, ui: UiServer
) -> None:
    CodeApprovals(Storage(ui.home)).ask(AskedCode(code="2", grants=Grants(model=True)))
    async with watched_page(browser) as other:
        await other.goto(ui.link())
        await other.wait_for_url("**/ui/ask")
        for person in (page, other):
            await person.goto(ui.url("/decide"))
        await page.get_by_role("button", name="Approve").click()
        await page.get_by_text("may run.").wait_for()
        await other.get_by_role("button", name="Approve").click()
        await other.locator("main .problem").wait_for()
        assert "was approved already" in await other.inner_text("main")
    assert not CodeApprovals(Storage(ui.home)).list_waiting()


async def test_reviews_are_ticked_and_marked_by_the_keyboard(page: Page, ui: UiServer) -> None:
    await page.goto(ui.url("/decide"))
    await page.locator("li", has_text="doubled_value").locator("input").focus()
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Mark as reviewed").focus()
    await page.keyboard.press("Enter")
    await page.get_by_text("1 tool was marked as reviewed.").wait_for()
    await page.get_by_text("Every tool was reviewed").wait_for()


async def test_a_program_that_came_back_is_made_a_tool_with_a_click(page: Page, ui: UiServer) -> None:
    async with client_of(ui) as client:
        for rate in (2, 3, 4):
            code = f"prices = {list(range(rate))}\nrate = {rate}\n[price * rate for price in prices]"
            await succeeded(client, "run_code", code=code)
        await page.goto(ui.url("/gaps"))
        await page.get_by_label("Name of the tool").fill("price_all")
        await page.get_by_label("What it does").fill("Multiplies prices by a rate.")
        await page.get_by_role("button", name="Make it").click()
        await page.wait_for_url("**/ui/activity")
        made = await page.goto(ui.url("/library/price_all"))
        while made is None or made.status != 200:
            made = await page.reload()
        answer = await succeeded(client, "run_tool", name="price_all", arguments={"prices": [1], "rate": 9})
        assert answer["result"] == [9]


async def test_health_checks_by_itself(page: Page, ui: UiServer) -> None:
    await page.goto(ui.url("/health"))
    await page.locator("#findings", has_text="Tools run in: wasm").wait_for()
    assert "alita.toml" in await page.inner_text("main")


@pytest.mark.parametrize("path", ["/decide", "/gaps", "/health"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_phone_scrolls_no_page_sideways(
    browser: Browser, ui: UiServer, path: str, scheme: str, tmp_path: Path
) -> None:
    size: Any = {"width": 400, "height": 800}
    async with watched_page(browser, viewport=size, color_scheme=scheme) as page:
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        await page.goto(ui.url(path))
        if path == "/health":
            await page.locator("#findings", has_text="Tools run in: wasm").wait_for()
        await page.screenshot(path=tmp_path / "phone.png", full_page=True)
        assert await page.evaluate("document.documentElement.scrollWidth") <= size["width"]
