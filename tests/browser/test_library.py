"""The library in a browser: search as one types, a tool's page, calls from its form, and a stranger's tools."""

from __future__ import annotations

import zipfile
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from tests.browser.conftest import watched_page
from tests.browser.ui_server import UiServer
from tests.in_process import IN_PROCESS
from tests.library.factory import simple
from tests.web.hostile import hostile_tool, large_tool

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


@pytest.fixture(scope="module")
def ui_settings() -> dict[str, str]:
    return {"sandbox": IN_PROCESS}


@pytest.fixture(scope="module")
async def library(ui: UiServer, anyio_backend: str) -> AsyncIterator[Library]:
    """The person's library, open in this process too; tools in it passed their gates in the server's sandbox."""
    async with open_library(Settings(home=ui.home)) as opened:
        for version, answer in enumerate(("old answer", "new answer")):
            await opened.publish(simple("answers", answer=answer, sandbox="wasm"), expected_version=version)
        for made in (hostile_tool(), large_tool()):
            await opened.publish(made, expected_version=0)
        yield opened


@pytest.fixture(scope="module")
def place(ui: UiServer, library: Library) -> str:
    """The address of the library's page, once the server runs and has the tools."""
    ui.link()
    return ui.url("/library")


async def test_the_library_is_searched_as_one_types(page: Page, place: str) -> None:
    await page.goto(place)
    await page.get_by_role("searchbox").press_sequentially("answ")
    await page.wait_for_url("**/ui/library?q=answ")
    assert "history-cache" not in await page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    await page.get_by_role("link", name="answers").click()
    await page.wait_for_url("**/ui/library/answers")
    assert "return 'new answer'" in await page.locator(".code").first.inner_text()


async def test_a_tool_is_called_from_its_form(page: Page, place: str) -> None:
    await page.goto(f"{place}/calculate")
    await page.get_by_label("expression").fill("1/3 + 1/6")
    await page.get_by_role("button", name="Call").click()
    assert '"0.5"' in await page.locator("#result .panel").inner_text()
    await page.get_by_label("expression").fill("1/0")
    await page.get_by_role("button", name="Call").click()
    await page.locator("#result .bad").wait_for()


async def test_actions_change_the_tool_and_are_undone(page: Page, place: str) -> None:
    await page.goto(f"{place}/answers")
    await page.get_by_role("link", name="v1").click()
    await page.get_by_text("Roll back…").click()
    await page.get_by_role("button", name="Make v1 current").click()
    await page.get_by_text("return 'old answer'").first.wait_for()
    await page.get_by_role("button", name="Disable").click()
    await page.get_by_text("so it cannot be called").wait_for()
    await page.get_by_text("Delete…").click()
    await page.get_by_role("button", name="Delete answers").click()
    await page.get_by_role("button", name="Undo delete").click()
    await page.get_by_role("button", name="Call").wait_for()
    async with page.expect_download() as started:
        await page.get_by_role("button", name="Export").click()
    with zipfile.ZipFile(await (await started.value).path()) as archive:
        assert "answers-v1/tool.py" in archive.namelist()


@pytest.mark.parametrize("dark", [False, True])
async def test_a_strangers_tools_stay_text_and_fit_a_phone(
    browser: Browser, ui: UiServer, place: str, dark: bool
) -> None:
    phone = {"viewport": {"width": 400, "height": 800}, "color_scheme": "dark" if dark else "light"}
    async with watched_page(browser, **phone) as page:
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        paths = [
            "", "?q=nasty", "/nasty", "/large", "/answers?version=2&from=1",
            "/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/csv_query",
        ]  # fmt: skip
        for path in paths:
            await page.goto(f"{place}{path}")
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert width <= 400, path
        assert dialogs == []
        await page.goto(f"{place}/nasty")
        assert "<U+202E><script>alert" in await page.locator(".prose").inner_text()
        assert await page.locator("img").count() == 0


async def test_everything_works_without_scripts(browser: Browser, ui: UiServer, place: str) -> None:
    async with watched_page(browser, java_script_enabled=False) as page:
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        await page.goto(place)
        await page.get_by_role("searchbox").fill("compute an arithmetic expression")
        await page.get_by_role("button", name="Search").click()
        await page.get_by_role("link", name="calculate").click()
        await page.get_by_label("expression").fill("2**10")
        await page.get_by_role("button", name="Call").click()
        assert '"1024"' in await page.locator(".panel").inner_text()
