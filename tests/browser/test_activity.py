"""The Activity page in a browser: other clients' work live, hostile texts as text, and more than anybody can read."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import StdioServerParameters

from alita_mcp.app import App, open_app
from alita_mcp.app.activity import Activity
from alita_mcp.library.clock import now
from alita_mcp.owners import ClientIdentity
from alita_mcp.server.transports.access import Access
from alita_mcp.server.transports.guard import LOCAL_NAMES
from alita_mcp.server.transports.web_server import listen, serve_requests
from alita_mcp.settings import Settings
from alita_mcp.web.pages.activity import LINES
from alita_mcp.web.routes import ui_application
from alita_mcp.web.security import Sessions
from alita_mcp.web.site import Site
from tests.app.test_activity import DOUBLE, WRONG
from tests.browser.conftest import watched_page
from tests.browser.ui_server import UiServer
from tests.in_process import InProcessSandbox
from tests.server.connections import Connection, client_of
from tests.server.processes import ENTRY
from tests.web.visiting import alone

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from playwright.async_api import Browser, Locator, Page

HOSTILE = "<img src=x onerror=alert(1)>\u202e</li>"
NOTE_GATES = """
window.seen = [];
new MutationObserver(() => {
  for (const gates of document.querySelectorAll("#works .gates")) {
    const text = gates.innerText.replace(/\\s+/g, " ").trim();
    if (text && !window.seen.includes(text)) window.seen.push(text);
  }
}).observe(document.querySelector("[sse-swap=works]"), {childList: true, subtree: true});
"""


@asynccontextmanager
async def client(ui: UiServer, name: str) -> AsyncIterator[Connection]:
    """A real client, whose server is another one than that of the page: it has a setting of its own."""
    env = ui.environment() | {"ALITA_LOG_LEVEL": "error"}
    target = StdioServerParameters(command=ENTRY[0], args=list(ENTRY[1:]), env=env)
    async with client_of(
        target, "modern", client_info=types.Implementation(name=name, version="7")
    ) as opened:
        yield opened


async def open_activity(page: Page, query: str = "") -> None:
    """Opens the page; returns when it is live."""
    async with page.expect_response("**/ui/activity/events?*"):
        await page.goto(urljoin(page.url, f"/ui/activity{query}"))


def line(page: Page, *words: str) -> Locator:
    found = page.locator("#works > li")
    for each in words:
        found = found.filter(has_text=each)
    return found


def named(tool: dict[str, Any], name: str) -> dict[str, Any]:
    return {**tool, "name": name, "code": tool["code"].replace(tool["name"], name)}


async def test_another_client_s_syntheses_are_watched_gate_by_gate(page: Page, ui: UiServer) -> None:
    await open_activity(page)
    await page.evaluate(NOTE_GATES)
    async with client(ui, "some-editor") as editor:
        await editor.make(DOUBLE)
        made = line(page, "double_it", "created", "some-editor 7")
        await made.wait_for()
        seen: list[str] = await page.evaluate("window.seen")
        for gate in ("static", "examples", "determinism", "properties", "mutation"):
            assert f"{gate} passed" in seen[-1]
        # they came one after another, not with the end
        assert any("examples passed" in text and "mutation" not in text for text in seen)
        assert "mutation passed" not in seen[0]

        await editor.make(named(WRONG, "double_that"))
        rejected = line(page, "double_that", "rejected", "examples failed")
        await rejected.wait_for()
        await rejected.locator("summary").click()
        assert await rejected.locator("dt", has_text="expected").is_visible()
        text = await rejected.inner_text()
        for words in ("static passed", '{"n": 5}', "11", "10"):
            assert words in text
        assert await made.count() == 1
        # what a reader has opened stays open while the page changes
        await editor.client.call_tool("search_capabilities", {"query": "fold a paper crane"})
        await line(page, "fold a paper crane", "nothing found").wait_for()
        assert await rejected.locator("dt", has_text="expected").is_visible()

        # filters hold for the stream too
        await open_activity(page, "?outcome=bad&client=some-editor+7")
        assert await line(page, "double_that").count() == 1
        await editor.make(named(WRONG, "double_other"))
        await line(page, "double_other", "rejected").wait_for()
        assert await line(page, "created").count() == 0


async def test_what_strangers_write_stays_text(page: Page, ui: UiServer) -> None:
    await open_activity(page)
    async with client(ui, HOSTILE) as stranger:
        await stranger.client.call_tool("search_capabilities", {"query": HOSTILE + "y" * 10_000 + " fly"})
        await stranger.client.call_tool("search_capabilities", {"query": f"{HOSTILE} fly to the moon"})
        await stranger.client.call_tool("run_tool", {"name": HOSTILE, "arguments": {}})
        await stranger.make({"name": HOSTILE, "description": HOSTILE * 200, "code": f"# {HOSTILE}"})
        searched = line(page, "search", "nothing found", "fly to the moon")
        await searched.wait_for()
        called = line(page, "call", "refused")
        await called.wait_for()
    for shown in (searched, called):
        text = await shown.inner_text()
        assert "<img src=x onerror=alert(1)>" in text
        assert "\u202e" not in text
    assert await page.locator("#works img").count() == 0
    await page.set_viewport_size({"width": 400, "height": 800})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 400


async def test_the_command_line_appears_though_it_has_no_socket(page: Page, ui: UiServer) -> None:
    await open_activity(page)
    await anyio.to_thread.run_sync(ui.alita, "search", "polish the silver")
    await line(page, "polish the silver", "the command line").wait_for()
    assert await line(page, "polish the silver").count() == 1


async def test_a_thousand_events_a_second_leave_a_page_that_lives_and_says_what_is_missing(
    browser: Browser, settings: Settings
) -> None:
    last = "w0"

    async def flood(listener: Callable[[Activity], None]) -> None:
        """What another server would tell: a hundred events at a time."""
        nonlocal last
        for number in range(3_000):
            last = f"w{number}"
            event: dict[str, Any] = {
                "id": last,
                "kind": "call",
                "tool": last,
                "client": "busy",
                "time": now(),
            }
            listener(Activity(**event))
            listener(Activity(outcome="ok", **event))
            if number % 50 == 49:
                await anyio.sleep(0.1)
        await anyio.sleep_forever()

    async with open_app(settings, admit=lambda _manifest: (), sandbox=InProcessSandbox()) as app:

        async def the_app() -> Any:
            return app

        sessions = Sessions(b"key")
        site = Site(app=the_app, sessions=sessions, follow_others=flood)
        with listen("127.0.0.1", 0) as listener:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            async with (
                serve_requests(ui_application(site), listener, Access(None), LOCAL_NAMES, grace_s=0.1),
                watched_page(browser) as page,
            ):
                await page.goto(f"{address}/ui/enter?code={sessions.make_code()}")
                await page.wait_for_url("**/ui/ask")
                await open_activity(page)
                await page.get_by_text("events not shown").wait_for()
                await page.locator("#client").focus()  # it answers meanwhile
                await page.locator("#ended-w2999").wait_for()
                assert last == "w2999"
                assert await page.locator("#works > li").count() <= LINES
                text = await page.get_by_text("events not shown").inner_text()
                assert int(text.split()[0].replace(",", "")) > 1_000


async def test_a_page_whose_server_was_gone_goes_on_by_itself(browser: Browser, settings: Settings) -> None:
    async with open_app(settings, admit=lambda _manifest: (), sandbox=InProcessSandbox()) as app:

        async def the_app() -> App:
            return app

        sessions = Sessions(b"key")
        pages = ui_application(Site(app=the_app, sessions=sessions, follow_others=alone))
        context = await browser.new_context()
        page = await context.new_page()
        port = 0
        for query in ("before it went", "after it came back"):
            with listen("127.0.0.1", port) as listener:
                port = listener.getsockname()[1]
                async with serve_requests(pages, listener, Access(None), LOCAL_NAMES, grace_s=0.1):
                    if query.startswith("before"):
                        await page.goto(f"http://127.0.0.1:{port}/ui/enter?code={sessions.make_code()}")
                        await page.wait_for_url("**/ui/ask")
                        await open_activity(page)
                    await app.search_tools(query, identity=ClientIdentity(client="some-editor 7"))
                    await line(page, query).wait_for()
                    assert await line(page, "before it went").count() == 1
        await context.close()
