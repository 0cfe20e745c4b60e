"""The Worth page: what grown tools were used for, how that is counted, and nothing of starter tools."""

from __future__ import annotations

import re

from alita_mcp.app import open_app
from alita_mcp.library.clock import now
from alita_mcp.owners import ClientIdentity
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.in_process import IN_PROCESS
from tests.library.factory import accepted
from tests.web.visiting import visiting

CURSOR = ClientIdentity("key", "cursor 1.0")


def figures_of(page: str) -> dict[str, str]:
    return dict(re.findall(r"<h2>(.*?): (.*?)</h2>", page))


async def test_the_figures_are_those_of_grown_tools(settings: Settings) -> None:
    chosen = settings.model_copy(update={"sandbox": IN_PROCESS})
    async with open_app(chosen, admit=admit) as app, visiting(app) as browser:
        empty = (await browser.get("/ui/worth")).text
        assert figures_of(empty)["Searches that ended in a call"] == "0"
        stored = await app.library.publish(accepted(), expected_version=0)
        for _ in range(2):
            await app.search_tools("slugify a title", identity=CURSOR)
        await app.run_tool("slugify", {"text": "A b"}, identity=CURSOR)
        await app.run_tool("slugify", {"text": "A b"}, identity=CURSOR)
        await app.run_tool("calculate", {"expression": "1+1"}, identity=CURSOR)
        await app.search_tools("sum of a column of numbers", identity=CURSOR)
        page = (await browser.get("/ui/worth")).text
        size = len((await app.library.read(stored.name)).code.encode())
    assert figures_of(page) == {
        "Calls answered by grown tools": "2",
        "Calls that failed": "0",
        "Searches that ended in a call": "2 of 3 (67%)",
        "Tokens not written again": str(2 * size // 4),
    }
    bars = re.findall(r"<title>([^<]*): (\d+) calls answered by grown tools</title>", page)
    assert (len(bars), bars[-1]) == (90, (now()[:10], "2"))
