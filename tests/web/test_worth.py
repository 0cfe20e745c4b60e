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
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page)
    return {name: re.sub(r"<.*?>", "", shown).strip() for name, shown in found}


async def test_the_figures_are_those_of_grown_tools(settings: Settings) -> None:
    chosen = settings.model_copy(update={"sandbox": IN_PROCESS})
    async with open_app(chosen, admit=admit) as app, visiting(app) as browser:
        empty = (await browser.get("/ui/worth")).text
        assert figures_of(empty)["searches that ended in a call"] == "none yet"
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
        "calls answered by grown tools": "2",
        "calls that failed": "0",
        "searches that ended in a call": "67% of 3",
        "tokens not written again": str(2 * size // 4),
    }
    bars = re.findall(r"<title>([^<]*): (\d+) calls answered</title>", page)
    assert (len(bars), bars[-1]) == (90, (now()[:10], "2"))
