"""Gaps: searches in vain and programs that came back become tools at a button."""

from __future__ import annotations

import html
import re

import anyio
import httpx
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ignore_stage
from alita_mcp.runs.code_run import CodeRequest
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.in_process import IN_PROCESS
from tests.web.visiting import visiting

CLIENT = ClientIdentity("key", "cursor 1.0", "token:1")
PROGRAM = "prices = {prices}\nrate = {rate}\n[price * rate for price in prices]\n"
NEED = "decode a QR code \u202eand <b>more</b>"


@pytest.fixture
def chosen(settings: Settings) -> Settings:
    return settings.model_copy(update={"sandbox": IN_PROCESS})


async def run_three_times(app: App) -> None:
    for rate in (1, 2, 3):
        code = PROGRAM.format(prices=list(range(rate + 2)), rate=rate)
        await app.code.run_code(CodeRequest(code=code), CLIENT, ignore_stage)


async def press(browser: httpx.AsyncClient, **fields: str) -> httpx.Response:
    page = (await browser.get("/ui/gaps")).text
    form = re.search(r'<form method="post" action="/ui/gaps".*?</form>', page, re.DOTALL)
    assert form
    hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form[0])
    return await browser.post(
        "/ui/gaps", data={**{name: html.unescape(text) for name, text in hidden}, **fields}
    )


async def until(app: App, name: str) -> None:
    with anyio.fail_after(60):
        while app.library.tools.entry(name) is None:  # noqa: ASYNC110 - nothing tells of it
            await anyio.sleep(0.05)


@pytest.mark.slow
async def test_a_program_that_came_back_becomes_a_tool_without_a_model(settings: Settings) -> None:
    embedded = settings.model_copy(update={"sandbox": "wasm"})
    async with open_app(embedded, admit=admit) as app, visiting(app) as browser:
        assert "No program ran three times" in (await browser.get("/ui/gaps")).text
        await run_three_times(app)
        assert "with other values of prices, rate" in (await browser.get("/ui/gaps")).text
        for name, message in (("No-Such", "name"), ("run_code", "name"), ("x" * 300, "name")):
            refused = await press(browser, name=name, description="Prices.")
            assert (refused.status_code, message in refused.text) == (400, True)
        forged = await press(browser, program="none", name="price_all", description="Prices.")
        assert (forged.status_code, "is forgotten" in forged.text) == (400, True)
        begun = await press(browser, name="price_all", description="Prices with a rate.")
        assert (begun.status_code, begun.headers["location"]) == (303, "/ui/activity")
        await until(app, "price_all")
        called = await app.run_tool("price_all", {"prices": [2, 3], "rate": 5})
        assert called.result.value == [10, 15]
        origin = app.library.tools.origin("price_all", 1)
        assert (origin.made_by, origin.owner) == ("web page", "token:1")


async def test_without_a_model_a_gap_says_what_to_tell_an_agent(chosen: Settings) -> None:
    async with open_app(chosen, admit=admit) as app, visiting(app) as browser:
        await app.search_tools(NEED, identity=CLIENT)
        page = (await browser.get("/ui/gaps")).text
        assert "There is no model" in page
        assert "<b>more" not in page
        shown = await press(browser, description="Decode a QR code <b>")
        assert shown.status_code == 400
        assert "Tell a connected agent: “Make a tool: Decode a QR code &lt;b&gt;”" in shown.text
        assert (await press(browser, description=" ")).status_code == 400


async def test_with_a_model_a_gap_starts_a_synthesis(chosen: Settings) -> None:
    model = ScriptedModel([])
    async with open_app(chosen, admit=admit, model=model) as app, visiting(app) as browser:
        await app.search_tools("decode a QR code", identity=CLIENT)
        begun = await press(browser, description="Decode a QR code.")
        assert begun.headers["location"] == "/ui/activity"
        with anyio.fail_after(60):
            while not (rows := app.library.journal(1, "synthesis")):  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.05)
        assert rows[0].detail["client"] == "web page"
        assert "Decode a QR code." in str(model.asked)
