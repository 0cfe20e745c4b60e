"""A real Chromium, and a real server with its pages, for each module of tests.

    async def test_...(page: Page, ui: UiServer) -> None:
        await page.goto(ui.url("/library"))

`page` is signed in; the test fails in the end where it asked another machine for anything, broke the content security
policy, or raised an error. A module with settings of its own overrides `ui_settings`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.browser.ui_server import UiServer, person
from tests.conftest import require_mark, skip_or_fail

if TYPE_CHECKING:
    from playwright.async_api import Browser, ConsoleMessage, Page

PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One event loop for a module: the browser belongs to it."""
    return "asyncio"


@pytest.fixture(scope="session")
def chromium(pytestconfig: pytest.Config) -> str:
    """The browser's program."""
    require_mark("browser", pytestconfig)
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not find_spec("playwright"):
        skip_or_fail("browser", "playwright is not installed")
    if program is None:
        skip_or_fail("browser", "chromium is not installed")
    return str(program)


@pytest.fixture(scope="module")
async def browser(chromium: str, anyio_backend: str) -> AsyncIterator[Browser]:
    """A browser that reaches nothing but this machine."""
    from playwright.async_api import async_playwright

    flags = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=flags, chromium_sandbox=os.getuid() != 0
        )
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
def ui_settings() -> dict[str, str]:
    """`ALITA_` settings of the server, without their prefix."""
    return {}


@pytest.fixture(scope="module")
def ui(stocked: Path, ui_settings: dict[str, str]) -> Iterator[UiServer]:
    """A person with the starter tools, whose server starts with the first link."""
    with person(stocked, **ui_settings) as server:
        yield server


@asynccontextmanager
async def watched_page(browser: Browser, **options: Any) -> AsyncIterator[Page]:
    """A page of a fresh browser profile; its requests, errors and policy violations are checked in the end."""
    context = await browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    strange: list[str] = []

    def note_message(message: ConsoleMessage) -> None:
        # htmx says so where a server that a test ends does not answer, as the browser does
        unanswered = ("Failed to load resource", "htmx:afterRequest", "htmx:sendError")
        if message.type == "error" and not message.text.startswith(unanswered):
            strange.append(message.text)

    context.on("console", note_message)
    context.on("weberror", lambda problem: strange.append(str(problem.error)))
    context.on(
        "request",
        lambda sent: strange.append(sent.url) if urlsplit(sent.url).hostname != "127.0.0.1" else None,
    )
    try:
        yield await context.new_page()
    finally:
        await context.close()
    assert strange == []


@pytest.fixture
async def page(browser: Browser, ui: UiServer) -> AsyncIterator[Page]:
    """A page of a browser that is signed in, at the first page."""
    async with watched_page(browser) as page:
        await page.goto(ui.link())
        await page.wait_for_url("**/ui/ask")
        yield page
