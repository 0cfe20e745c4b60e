"""Tasks asked in a browser: their runs live, a real litellm and a scripted model behind them; and without a model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import watched_page
from tests.browser.ui_server import UiServer, person
from tests.models.openai_server import Calls, Reply, Request, openai_server
from tests.web.test_ask import DRAW, HOSTILE

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

MAY_FINISH = threading.Event()
"""Set by the test that has seen the run under way."""


def said(request: Request) -> Reply:
    """What the model says: its task and the number of its turn decide."""
    if not request.tools:
        return {"claims": [], "verdicts": [], "facts": [], "lessons": []}
    task = next(str(message["content"]) for message in request.messages if message["role"] == "user")
    turn = sum(message["role"] == "assistant" for message in request.messages)
    if "Draw" in task:
        if turn == 0:
            return Calls(("run_code", {"code": DRAW, "arguments": {}, "reason": "one picture"}))
        if turn == 1:
            return Calls(("read_file", {"name": "notes.txt"}))
        MAY_FINISH.wait(120)
        claims = [{"claim": "It says red", "reference": "o2", "quote": "red"}]
        return Calls(("finish", {"answer": "red", "solved": True, "claims": claims}))
    if "city" in task:
        answer = f"Oslo [here](javascript:alert(1)) {HOSTILE}\n\n```\n<b>code</b>\n```"
        return Calls(("finish", {"answer": answer, "solved": True, "claims": []}))
    return None


@pytest.fixture(scope="module")
def ui_settings() -> Iterator[dict[str, str]]:
    with pytest.MonkeyPatch.context() as patch, openai_server(said) as (url, _):
        patch.setenv("OPENAI_API_KEY", "k")
        yield {"model": "openai/scripted", "model_base_url": url, "memory": "false"}


async def ask(page: Page, task: str, **file: object) -> None:
    await page.fill("#task", task)
    if file:
        await page.set_input_files("#files", file)  # type: ignore[arg-type]
    await page.click("main button.primary")
    await page.wait_for_url("**/ui/ask/*")


async def test_a_task_is_watched_live_and_its_run_is_the_same_after_a_reload(page: Page) -> None:
    await ask(page, "Draw what the notes say.", name="C:\\notes.txt", mimeType="text/plain", buffer=b"red")
    picture = page.locator("figure img[alt='figure-1.png']")
    await picture.wait_for()
    await page.locator(".badge.busy").first.wait_for()
    await page.click("#step-1 summary")
    await page.locator("#step-2").wait_for()
    assert await page.locator("section[aria-label=Answer]").count() == 0
    MAY_FINISH.set()
    await page.locator("section[aria-label=Answer]").wait_for()
    assert await page.locator("#run .badge").first.inner_text() == "solved"
    assert await page.locator("#step-1").get_attribute("open") is not None
    for _ in range(2):
        assert (await page.locator("section[aria-label=Answer] .wrap").inner_text()) == "red"
        assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        assert "base64" in await page.locator("#step-1 .code").text_content()
        assert "tokens" in await page.inner_text("#run")
        async with page.expect_download() as begun:
            await page.click("text=table.csv")
        assert (await (await begun.value).path()).read_text() == "a,b"
        await page.reload()


async def test_nothing_that_is_said_becomes_markup(page: Page) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    await ask(page, "Which city is it?")
    answer = page.locator("section[aria-label=Answer]")
    await answer.wait_for()
    assert "<script>alert(1)</script><U+202E>" in await answer.inner_text()
    assert "[here](javascript:alert(1))" in await answer.inner_text()
    assert await answer.locator("a, script, b").count() == 0
    assert dialogs == []


async def test_a_run_is_stopped(page: Page) -> None:
    await ask(page, "Think for ever.")
    await page.click("text=Stop")
    await page.locator(".badge.warn").first.wait_for()
    assert "Stopped (cancelled)" in await page.inner_text("main")


async def test_an_upload_that_is_too_large_is_refused_with_a_page(page: Page, tmp_path: Path) -> None:
    with (tmp_path / "huge.bin").open("wb") as huge:
        huge.truncate(66 << 20)
    await page.fill("#task", "Think for ever.")
    await page.set_input_files("#files", tmp_path / "huge.bin")
    await page.click("main button.primary")
    await page.locator("text=exceed 65 MB").wait_for()


async def test_pages_fit_a_phone_in_the_dark(browser: Browser, ui: UiServer) -> None:
    narrow = {"viewport": {"width": 400, "height": 800}, "color_scheme": "dark", "has_touch": True}
    async with watched_page(browser, **narrow) as page:
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        for path in ("/ask", "/worth"):
            await page.goto(ui.url(path))
            assert await page.evaluate("document.documentElement.scrollWidth") <= 400, path
        await page.goto(ui.url("/ask"))
        await page.click("main li a")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.slow
async def test_without_a_model_a_tool_is_found_and_called(browser: Browser, stocked: Path) -> None:
    with person(stocked) as server:
        async with watched_page(browser) as page:
            await page.goto(server.link())
            await page.wait_for_url("**/ui/ask")
            assert "alita setup" in await page.inner_text("main")
            await page.fill("#task", "evaluate an arithmetic expression")
            await page.press("#task", "Tab")
            await page.keyboard.press("Enter")
            await page.click("a[href='/ui/library/calculate']")
            await page.fill("form.call #field1", "6 * 7")
            await page.click("form.call button")
            await page.locator("pre", has_text='"exact": "42"').wait_for()
